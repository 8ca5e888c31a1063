"""`anywire doctor`: the report for people and for programs, and the exit code."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.cli.commands import Finished, anywire, server
from tests.cli.servers.http import reached, unreached
from tests.cli.servers.http.healthy import HealthyHttp


def test_a_healthy_server_ends_with_0() -> None:
    """Who it is, and that nothing is wrong."""
    done = anywire("doctor", "--", *server("healthy"))
    lines = done.out.splitlines()

    assert (done.code, done.err) == (0, "")
    assert lines[1].startswith("Healthy 1.0, revision 2025-11-25, newline framing, first answer after ")
    assert lines[-1].startswith("nothing is wrong; ")


def test_a_finding_says_what_was_found_and_what_to_do() -> None:
    """Its weight, its id, evidence and advice, wrapped and indented."""
    done = anywire("doctor", "--", *server("tool_name"))

    assert done.code == 1
    assert "\n".join(done.out.splitlines()[2:-2]) == (
        "\n"
        "warning  tool-name: a tool's name is not allowed everywhere\n"
        "         found: 'add two numbers'\n"
        "         do:    use letters, digits, `_`, `-` and `.` only, at most 128 of them"
    )
    assert done.out.splitlines()[-1].startswith("1 warning; ")


def test_a_server_that_cannot_be_talked_with_ends_with_4() -> None:
    """Its last words stay lines."""
    done = anywire("doctor", "--", *server("exits_early"))

    assert done.code == 4
    assert "it cannot be talked with\n" in done.out
    assert "error    exits-early: it exits before it answers\n" in done.out
    assert "API_KEY is not set" in done.out
    assert "Traceback" not in done.out + done.err


def test_a_note_is_no_failure_and_verbose_tells_the_rest() -> None:
    """Notes are worth knowing and break nothing."""
    done = anywire("doctor", "-v", "--", *server("exit_code"))

    assert done.code == 0
    assert "note     exit-code: " in done.out
    assert "passed:   not-started, exits-early, " in done.out
    assert "not made: discover-missing, " in done.out


def test_what_is_ignored_does_not_count() -> None:
    """By its id, as often as needed."""
    words = ["--ignore", "tool-name", "--ignore=noise", "--", *server("tool_name")]
    done = anywire("doctor", *words)

    assert done.code == 0
    assert "warning" not in done.out


def test_json_is_one_document() -> None:
    """Everything that people are told, and the checks that passed."""
    done = anywire("doctor", "--json", "--", *server("unknown_method"))
    report = json.loads(done.out)

    assert (done.code, done.err) == (1, "")
    assert report["command"] == server("unknown_method")
    assert (report["healthy"], report["reached"], report["framing"]) == (False, True, "newline")
    assert report["server"] == {"name": "UnknownMethod", "version": "1.0"}
    assert report["first_answer_ms"] > 0
    (finding,) = report["findings"]
    assert set(finding) == {"id", "weight", "title", "found", "advice"}
    assert (finding["id"], finding["weight"]) == ("unknown-method", "warning")
    assert "ping" in report["passed"]
    assert "serialised" in report["not_made"]


def test_a_command_that_is_not_there_is_a_finding_too() -> None:
    """The same report, with what can be said."""
    done = anywire("doctor", "--json", "--", "anywire-no-such-program")

    assert done.code == 4
    assert [finding["id"] for finding in json.loads(done.out)["findings"]] == ["not-started"]


# Over HTTP.


async def examined(answers: HealthyHttp, *words: str) -> Finished:
    """The report on a server of this process."""
    async with answers.running() as url:
        return await asyncio.to_thread(anywire, "doctor", *words, f"{url}?key=s3cret")


class Keyed(reached.GetStatus):
    """Has a key in its address."""

    path = "/mcp?key=s3cret"


async def test_a_url_is_examined_as_well() -> None:
    """The same report, with what is wrong over HTTP; a key in the address is not shown."""
    done = await examined(Keyed())
    report = json.loads((await examined(Keyed(), "--json")).out)

    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines()[0].endswith("/mcp?…")
    assert done.out.splitlines()[1].startswith("Healthy 1.0, revision 2025-11-25, Streamable HTTP, first ")
    assert "\nwarning  get-status: " in done.out
    assert "found: a GET was answered with HTTP 404\n" in done.out
    assert "s3cret" not in done.out
    assert report["url"].endswith("/mcp?…")
    assert "command" not in report
    assert (report["healthy"], report["reached"], report["framing"]) == (False, True, None)
    assert [finding["id"] for finding in report["findings"]] == ["get-status"]
    assert "session-unknown" in report["passed"]


@pytest.mark.parametrize(
    ("answers", "code"), [(unreached.Authorization, 3), (unreached.WrongPath, 4), (unreached.Html, 4)]
)
async def test_a_url_that_cannot_be_talked_with_has_its_code(answers: type[HealthyHttp], code: int) -> None:
    """Authorization is not the same as nobody there."""

    class There(answers):
        path = f"{answers.path}?key=s3cret"

    done = await examined(There())

    assert done.code == code
    assert "it cannot be talked with\n" in done.out
    assert "s3cret" not in done.out


async def test_findings_over_http_can_be_ignored() -> None:
    """By their id, as any other."""
    done = await examined(Keyed(), "--ignore", "get-status")

    assert done.code == 0
