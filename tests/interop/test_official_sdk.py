"""The official Python SDKs, 1.x and 2.x, as clients of `anywire serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.interop.peers import SCRIPTS
from tests.interop.processes import anywire
from tests.interop.sdk import Mode, Report, drive

pytestmark = pytest.mark.interop

STEPS = (
    "handshake",
    "tools",
    "echo",
    "big_echo",
    "thread",
    "inline",
    "failing",
    "progress",
    "log",
    "unknown_method",
    "give_up",
    "many",
)
CLIENTS: tuple[tuple[str, Mode], ...] = (
    ("sdk_2_python", "legacy"),
    ("sdk_2_python", "auto"),
    ("sdk_1_python", "legacy"),
)


@pytest.fixture(scope="module", params=CLIENTS, ids=["sdk-2", "sdk-2-auto", "sdk-1"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One whole session of an SDK's client with the fixture server."""
    interpreter, mode = request.param
    python: Path = request.getfixturevalue(interpreter)
    command = anywire("serve", f"{SCRIPTS / 'fixture_server.py'}:server")
    return drive(python, mode, STEPS, command, tmp_path_factory.mktemp("sdk"))


def texts(result: dict[str, Any]) -> list[str]:
    """The text blocks of a tool's result."""
    return [block["text"] for block in result["content"] if block["type"] == "text"]


def test_the_handshake_names_the_server(session: Report) -> None:
    """The client learns a protocol version, who the server is, and that it has tools."""
    shaken = session["handshake"]

    assert shaken["protocolVersion"] >= "2025-06-18"
    assert (shaken["serverInfo"]["name"], shaken["serverInfo"]["version"]) == ("interop-fixture", "1")
    assert "tools" in shaken["capabilities"]


def test_every_tool_is_listed_with_the_schema_of_its_parameters(session: Report) -> None:
    """Schemas follow the annotations; the context is no parameter."""
    tools = {tool["name"]: tool for tool in session["tools"]}

    assert set(tools) == {
        *("echo", "shout", "add", "fail", "count", "tell", "slow", "cancellations", "modules"),
    }
    assert tools["echo"]["description"] == "Give the text back."
    schemas = {name: tool["inputSchema"] for name, tool in tools.items()}
    assert all(schema["type"] == "object" for schema in schemas.values())
    assert schemas["echo"]["properties"]["text"]["type"] == "string"
    assert schemas["echo"]["required"] == ["text"]
    assert schemas["add"]["required"] == ["a"]
    assert schemas["add"]["properties"]["b"]["type"] == "integer"
    assert list(schemas["count"]["properties"]) == ["steps"]
    assert not schemas["modules"].get("properties")


def test_a_call_gives_back_text_outside_of_ascii(session: Report) -> None:
    """Accents and emoji come back as they went."""
    assert texts(session["echo"]) == ["é🙂"]
    assert not session["echo"].get("isError")


def test_a_call_carries_five_megabytes_there_and_back(session: Report) -> None:
    """No limit of a pipe or a line is met."""
    assert session["big_echo"] == {"equal": True, "characters": 5 * 1024 * 1024}


def test_a_blocking_tool_answers(session: Report) -> None:
    """A plain function runs in a worker thread."""
    assert session["thread"] == "ABC É"


def test_an_inline_tool_answers_with_and_without_its_default(session: Report) -> None:
    """An integer result arrives as its text."""
    assert session["inline"] == ["5", "2"]


def test_a_raising_tool_gives_an_error_result(session: Report) -> None:
    """The call succeeds as a request, and its result says what went wrong."""
    assert session["failing"]["isError"] is True
    assert "no luck é🙂" in "".join(texts(session["failing"]))


def test_progress_reaches_the_callback_of_the_call(session: Report) -> None:
    """Each step arrives with its total and its message."""
    assert session["progress"] == {
        "text": "counted to 3",
        "seen": [[step, 3, f"step {step} é🙂"] for step in (1, 2, 3)],
    }


def test_a_log_message_reaches_the_client(session: Report) -> None:
    """Level and data arrive as they were sent."""
    logged = session["log"]["logged"]

    assert [(message["level"], message["data"]) for message in logged] == [("warning", {"text": "é🙂"})]


def test_an_unknown_method_is_refused_as_such(session: Report) -> None:
    """The error is -32601."""
    assert session["unknown_method"]["code"] == -32601


def test_a_call_that_was_given_up_is_cancelled_and_the_next_one_works(session: Report) -> None:
    """The client times out, the slow tool is told, and the connection goes on."""
    gave_up = session["give_up"]

    assert gave_up["next"] == "still here"
    assert gave_up["cancelled"] == "1"


def test_64_calls_at_once_are_all_answered_and_do_not_queue(session: Report) -> None:
    """Calls that wait a quarter of a second each overlap."""
    many = session["many"]

    assert many["answers"] == [f"{index} é🙂" for index in range(64)]
    assert many["seconds"] < 64 * 0.25 / 2


def test_the_server_ends_quickly_and_in_order_when_its_input_closes(session: Report) -> None:
    """The exit code is 0, and the client need not get impatient."""
    assert session.returncode == 0
    assert session.closing_took < 1.0
