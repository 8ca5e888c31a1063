"""What a bridge and a server over HTTP show of themselves, and what they log; from end to end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.commands import ROOT, WITHIN, anywire, server
from tests.cli.serving import Listening, listening
from tests.cli.test_http import INITIALIZE, WORKSHOP
from tests.interop.processes import wait_until, watch

pytestmark = pytest.mark.chaos

FACE = "http://127.0.0.1:0/mcp"
TOKEN = "a-token-of-ours"
BOTH = "application/json, text/event-stream"


class Reply:
    """A response that was read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)


def asked(url: str, path: str, body: str | None = None, **headers: str) -> Reply:
    """GET what is shown at a path, or POST something there; names are written with underscores."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=WITHIN)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("GET" if body is None else "POST", path, body, sent)
        return Reply(connection.getresponse())
    finally:
        connection.close()


class Session:
    """A session of a client that writes HTTP by hand."""

    def __init__(self, url: str, **headers: str) -> None:
        self._url = url
        self._headers = {"Content_Type": "application/json", "Accept": BOTH, **headers}
        opened = asked(url, urlsplit(url).path, INITIALIZE, **self._headers)
        assert opened.status == 200, opened.body
        self._headers["Mcp_Session_Id"] = opened.headers["mcp-session-id"]

    def call(self, tool: str, id: int = 2) -> Reply:
        """Call a tool."""
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}}
        return asked(self._url, urlsplit(self._url).path, json.dumps(message), **self._headers)


def objects(told: str) -> list[Any]:
    """The lines of a log in JSON."""
    return [json.loads(line) for line in told.strip("\n").split("\n")]


def only_server(command: Listening, **headers: str) -> Any:
    """The status of the one server behind a bridge."""
    (one,) = asked(command.url, "/status", **headers).json["servers"]
    return one


def test_a_bridge_shows_what_became_of_its_server() -> None:
    """Its calls, its failures, its loss and its restart; and its log says the same to programs."""
    with watch(), listening("bridge", FACE, "--log-format", "json", "--", *server("toolbox")) as bridge:
        url = bridge_url(bridge)
        assert only_server(bridge)["state"] == "idle"
        session = Session(url)
        session.call("show", 2)
        session.call("fail", 3)
        before = only_server(bridge)
        crashed = session.call("crash", 4)
        assert wait_until(lambda: only_server(bridge)["starts"] == 2, within=WITHIN)
        after = only_server(bridge)
        metrics = asked(url, "/metrics").body.decode()
        code, told = bridge.end()

    assert (before["state"], before["children"], before["sessions"]) == ("running", 1, 1)
    assert (before["starts"], before["restarts"], before["last_error"]) == (1, 0, None)
    assert before["methods"]["tools/call"]["errors"] == {"tool": 1}
    assert "was lost" in crashed.json["error"]["message"] or "exited" in crashed.json["error"]["message"]
    assert after["restarts"] == 1
    assert after["methods"]["tools/call"]["errors"] == {"tool": 1, "lost": 1}
    assert "toolbox exited with code" in after["last_error"]["text"]
    for line in (
        'anywire_calls_total{method="tools/call",server="server"} 3.0',
        'anywire_call_errors_total{kind="lost",method="tools/call",server="server"} 1.0',
        'anywire_server_restarts_total{server="server"} 1.0',
        "anywire_sessions 1.0",
    ):
        assert f"\n{line}\n" in metrics
    log = objects(told)
    assert code == 143
    assert log[0]["event"] == "listening"
    assert {"level": "info", "event": "stderr", "message": "the toolbox is open"}.items() <= log[1].items()
    lost = next(each for each in log if each["level"] == "warning")
    assert "exited with code" in lost["message"]
    assert lost["session"] == 1


def bridge_url(command: Listening) -> str:
    """The address that a log in JSON names, waited for."""
    assert wait_until(lambda: "listening" in command.err, within=WITHIN)
    return objects(command.err)[0]["url"]


def test_a_status_has_no_secret_either() -> None:
    """Although it tells the last words of a server."""
    code = "import os, sys; sys.exit('key ' + os.environ['API_KEY'])"
    words = ("bridge", FACE, "--env", "API_KEY=k-123456789", "--", sys.executable, "-c", code)
    with listening(*words) as bridge:
        asked(bridge.url, "/mcp", INITIALIZE, Content_Type="application/json", Accept=BOTH)
        text = only_server(bridge)["last_error"]["text"]

    assert text.endswith("its last words: key ***")


@pytest.mark.parametrize(
    ("words", "env", "headers", "is_told"),
    [
        (("http://127.0.0.1:0/mcp",), {}, {}, True),
        (("http://0.0.0.0:0/mcp", "--allow-unauthenticated"), {}, {}, False),
        (("http://127.0.0.1:0/mcp", "--allow-host", "tools.example"), {}, {}, False),
        (
            ("http://0.0.0.0:0/mcp", "--token-env", "OUR_TOKEN"),
            {"OUR_TOKEN": TOKEN},
            {"Authorization": f"Bearer {TOKEN}"},
            True,
        ),
    ],
    ids=["this machine", "anybody", "behind a proxy", "who has the token"],
)
def test_strangers_are_not_told_what_was_run(
    words: tuple[str, ...], env: dict[str, str], headers: dict[str, str], *, is_told: bool
) -> None:
    """A server that cannot be started says so to who runs the bridge, and to others that it could not."""
    with watch(), listening("bridge", *words, "--", "/no/such/program", env={**os.environ, **env}) as bridge:
        url = bridge.url.replace("0.0.0.0", "127.0.0.1")
        refused = asked(url, "/status")
        asked(url, "/mcp", INITIALIZE, Content_Type="application/json", Accept=BOTH, **headers)
        (one,) = asked(url, "/status", **headers).json["servers"]
        assert asked(url, "/health").json["status"] == "serving"

    assert refused.status == (401 if env else 200)
    assert one["state"] == "failing"
    text = one["last_error"]["text"]
    assert ("/no/such/program" in text) is is_told
    if not is_told:
        assert text == "the server behind the bridge could not be started; see the bridge's log"


def test_health_says_that_the_end_has_come() -> None:
    """For as long as a server that does not want to leave keeps the bridge."""
    with watch(), listening("bridge", FACE, "--", *server("ignores_term")) as bridge:
        url = bridge.url
        Session(url)
        statuses = [asked(url, "/health").status]
        bridge.process.send_signal(signal.SIGTERM)
        while bridge.process.poll() is None:
            try:
                statuses.append(asked(url, "/health").status)
            except OSError:
                continue
        assert bridge.process.wait(timeout=WITHIN) == 143

    assert statuses[0] == 200
    assert 503 in statuses


def test_a_server_of_ours_shows_that_it_serves() -> None:
    """With its sessions; what its calls take is not measured there."""
    with listening("serve", WORKSHOP, "--http", "127.0.0.1:0") as command:
        url = command.url
        Session(url)
        health, status = asked(url, "/health"), asked(url, "/status").json
        metrics = asked(url, "/metrics").body
        nothing = asked(url, "/else")

    assert (health.status, health.headers["cache-control"]) == (200, "no-store")
    assert (status["process"]["sessions"], status["servers"]) == (1, [])
    assert b"\nanywire_sessions 1.0\n" in metrics
    assert (nothing.status, nothing.json["error"]["message"]) == (404, "nothing is served at this path")


def test_an_old_face_has_the_pages_beside_it() -> None:
    """It answers below any other path."""
    with listening("bridge", "sse+http://127.0.0.1:0/sse", "--", *server("toolbox")) as bridge:
        listed = anywire("list", "--era", "legacy", bridge.url)
        status = asked(bridge.url, "/status").json

    assert listed.code == 0
    assert status["servers"][0]["starts"] == 1


def test_a_path_of_the_users_choice_is_his() -> None:
    """MCP is served there, and no page."""
    with listening("serve", WORKSHOP, "--http", "127.0.0.1:0", "--path", "/status") as command:
        assert asked(command.url, "/status").status == 400
        Session(command.url)
        assert asked(command.url, "/health").status == 200


def test_the_log_in_text_is_what_it_always_was() -> None:
    """Sentences, and what the server says as it came; noise is told once."""
    talk = f"{INITIALIZE}\n"
    done = anywire("bridge", "stdio", "--", *server("noise"), stdin=talk)

    assert done.code == 0
    assert done.err.startswith("anywire: ")
    assert "that is no message (it belongs on stderr): 'Server ready'" in done.err


def test_a_bridge_on_stdio_logs_in_json() -> None:
    """The noise of its server with its line, and what ends it."""
    noisy = anywire("bridge", "stdio", "--log-format=json", "--", *server("noise"), stdin=f"{INITIALIZE}\n")
    failed = anywire("bridge", "stdio", "--log-format", "json", "--", "/no/such/program", stdin=INITIALIZE)

    (noise,) = objects(noisy.err)
    assert (noise["event"], noise["line"], noise["first_bytes"]) == ("noise", 1, "Server ready")
    assert noise["hint"] == "this belongs on stderr"
    assert failed.code == 4
    assert objects(failed.err)[-1]["code"] == "unreachable"


def test_less_is_told_where_less_is_wanted() -> None:
    """Not that it listens, nor what the server writes on stderr."""
    words = ("--log-format", "json", "--log-level", "error")
    done = anywire("bridge", "stdio", *words, "--", *server("toolbox"), stdin=f"{INITIALIZE}\n")

    assert (done.code, done.err) == (0, "")


def test_a_secret_that_a_server_writes_on_stderr_is_not_logged() -> None:
    """One that it was given with a name that says what it is; neither when it comes, nor as its last words."""
    code = "import os, sys; print('key', os.environ['API_KEY'], file=sys.stderr)"
    words = ("--env", "API_KEY=k-123456789")
    for form in ("text", "json"):
        command = ("bridge", "stdio", *words, "--log-format", form, "--", sys.executable, "-c", code)
        done = anywire(*command, stdin=INITIALIZE)
        assert done.code == 1
        assert "k-123456789" not in done.err
        assert done.err.count("key ***") == 2


def test_a_stderr_that_nobody_reads_does_not_stop_a_bridge() -> None:
    """However much a server writes on its own."""
    code = (
        "import sys\n"
        "for _ in range(5_000): print('x' * 100, file=sys.stderr)\n"
        'sys.stdout.write(sys.stdin.readline().replace(\'"method"\', \'"result":{},"m"\')); sys.stdout.flush()\n'
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-m", "anywire", "bridge", "stdio", "--", sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"x/y"}\n')
        process.stdin.flush()
        reply = json.loads(process.stdout.readline())
        process.stdin.close()
        code = process.wait(timeout=WITHIN)
        told = process.stderr.read()

    assert (reply["id"], reply["result"], code) == (1, {}, 0)
    assert told.startswith(b"x" * 100 + b"\n")
