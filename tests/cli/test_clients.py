"""`list`, `call` and `ping` from end to end: what goes to stdout, what to stderr, how they end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, anywire, server
from tests.cli.servers.toolbox import STRUCTURED, TOOLS

EXAMPLE = f"{ROOT / 'examples' / 'server.py'}:server"
TOOLBOX = ["--", *server("toolbox")]


def test_list_shows_columns() -> None:
    """Name, parameters (optional ones in brackets), the first line of the description."""
    done = anywire("list", *TOOLBOX)

    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "tool     parameters                                  description",
        "show     text [count] [share] [loud] [tags] [extra]  Show the arguments.",
        "fail                                                 Fail.",
        "picture                                              Give a picture.",
        "weather                                              Give structured content.",
        "steps                                                Report progress and log.",
        "wait                                                 Never end.",
        "crash                                                End the server.",
    ]


def test_list_as_json_is_one_object_of_all_as_it_came() -> None:
    """A program gets everything, whatever a person sees."""
    done = anywire("list", "--json", *TOOLBOX)

    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n") == 1
    assert json.loads(done.out) == {"tools": TOOLS, "resources": [], "resourceTemplates": [], "prompts": []}


def test_list_of_nothing_says_so_on_stderr(tmp_path: Path) -> None:
    """An empty answer is an answer."""
    (tmp_path / "empty.py").write_text(
        "from anywire import Server\nserver = Server('empty')\n", encoding="utf-8"
    )

    done = anywire("list", f"{tmp_path / 'empty.py'}:server")
    as_json = anywire("list", f"{tmp_path / 'empty.py'}:server", "--json")

    assert (done.code, done.out, done.err) == (
        0,
        "",
        "anywire: the server has no tools, resources or prompts\n",
    )
    empty = '{"tools":[],"resources":[],"resourceTemplates":[],"prompts":[]}\n'
    assert (as_json.code, as_json.out, as_json.err) == (0, empty, "")


def test_ping_tells_who_answered_and_how_quickly() -> None:
    """One line for people, one document for programs."""
    done = anywire("ping", "--timeout", "30s", *TOOLBOX)
    as_json = anywire("ping", "--json", *TOOLBOX)

    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(r"Toolbox 1\.0, revision 2025-11-25: ready in [\d,]+ ms, ping [\d.,]+ ms\n", done.out)
    document = json.loads(as_json.out)
    assert document["server"] == {"name": "Toolbox", "version": "1.0"}
    assert document["revision"] == "2025-11-25"
    assert document["start_ms"] > 0
    assert document["ping_ms"] > 0


def test_a_server_of_python_code_is_called_in_memory() -> None:
    """No child is needed; the same words as with a command."""
    listed = anywire("list", EXAMPLE)
    called = anywire("call", "divide", "dividend=1", "divisor=4", EXAMPLE)
    pinged = anywire("ping", EXAMPLE)

    assert listed.out.splitlines()[1].split(maxsplit=2) == ["shout", "text", "Return the text in capitals."]
    assert (called.code, called.out, called.err) == (0, "0.25\n", "")
    assert pinged.out.startswith("example 1.0, revision ")


def test_what_a_server_in_memory_prints_is_no_part_of_the_answer(tmp_path: Path) -> None:
    """Neither when it is loaded, nor in a tool, nor from a program that the tool starts."""
    (tmp_path / "chatty.py").write_text(
        "import os\nfrom anywire import Server\nserver = Server('chatty')\nprint('loading')\n"
        "@server.tool\ndef shout() -> str:\n    print('in the tool')\n    os.system('echo in a program')\n"
        "    return 'done'\n",
        encoding="utf-8",
    )

    done = anywire("call", "--json", "shout", f"{tmp_path / 'chatty.py'}:server")

    assert done.code == 0
    assert json.loads(done.out)["content"] == [{"type": "text", "text": "done"}]
    assert sorted(done.err.splitlines()) == ["in a program", "in the tool", "loading"]


def test_call_sends_what_was_typed(tmp_path: Path) -> None:
    """Words by the schema, literals and a file, together; options stand anywhere."""
    document = tmp_path / "arguments.json"
    document.write_text('{"text": "from the file", "extra": {"n": 1.50}}', encoding="utf-8")

    done = anywire(
        "call",
        "show",
        "--input",
        document,
        "count=3",
        "text=5",
        "--timeout",
        "30s",
        'tags:=["a"]',
        "loud=true",
        *TOOLBOX,
    )

    assert (done.code, done.err) == (0, "")
    assert json.JSONDecoder().raw_decode(done.out)[0] == {
        "text": "5",
        "extra": {"n": 1.5},
        "count": 3,
        "tags": ["a"],
        "loud": True,
    }
    assert '"n": 1.50' in done.out


def test_call_takes_its_arguments_from_stdin() -> None:
    """`--input -` is stdin."""
    done = anywire("call", "show", "--input", "-", *TOOLBOX, stdin='{"text": "piped"}')

    assert done.code == 0
    assert '"text":"piped"' in done.out


def test_call_refuses_a_word_of_the_wrong_kind() -> None:
    """Wrong usage, found with the schema of the tool; nothing was called."""
    done = anywire("call", "show", "text=a", "count=many", *TOOLBOX)

    assert (done.code, done.out) == (2, "")
    assert done.err == "anywire: argument 'count': 'many' is no integer; write count=3\n"


def test_call_shows_blocks_and_structured_content() -> None:
    """What is no text stands in brackets; structured content is indented JSON."""
    picture = anywire("call", "picture", *TOOLBOX)
    weather = anywire("call", "weather", *TOOLBOX)

    assert picture.out == "a picture:\n[image image/png, 13 bytes]\n"
    assert weather.out == (
        '21.5 degrees\n{\n  "celsius": 21.50,\n  "big": 123456789012345678901234567890,\n'
        '  "wind": {\n    "from": "SW"\n  }\n}\n'
    )


def test_call_as_json_is_the_result_as_it_came() -> None:
    """Byte for byte, spelling of numbers and white space included."""
    done = anywire("call", "--json", "weather", *TOOLBOX)

    assert (done.code, done.err) == (0, "")
    text = '{"type": "text", "text": "21.5 degrees"}'
    assert done.out == f'{{"content": [{text}], "structuredContent": {STRUCTURED}}}\n'


def test_progress_and_log_messages_go_to_stderr() -> None:
    """In the order in which they came, apart from the answer."""
    done = anywire("call", "steps", *TOOLBOX)

    assert (done.code, done.out) == (0, "done\n")
    assert done.err == (
        "anywire: progress 1/2: first\nanywire: server warning (box): a screw is loose\nanywire: progress 2/2\n"
    )


def test_stderr_of_the_server_is_passed_on_with_verbose() -> None:
    """And not without."""
    assert "the toolbox is open\n" in anywire("ping", "-v", *TOOLBOX).err
    assert anywire("ping", *TOOLBOX).err == ""


def test_a_tool_that_fails_ends_with_5() -> None:
    """Its words are on stderr; with --json the result is on stdout all the same."""
    done = anywire("call", "fail", *TOOLBOX)
    as_json = anywire("call", "fail", "--json", *TOOLBOX)

    assert (done.code, done.out) == (5, "")
    assert done.err == "anywire: tool 'fail' failed: out of paper\n"
    assert as_json.code == 5
    assert json.loads(as_json.out)["isError"] is True
    assert json.loads(as_json.err)["error"]["message"] == "tool 'fail' failed: out of paper"


def test_an_error_of_the_server_ends_with_5_and_suggests_the_right_tool() -> None:
    """The server's code, message and data reach a program unchanged."""
    done = anywire("call", "shwo", "text=a", *TOOLBOX)
    as_json = anywire("call", "shwo", "--json", *TOOLBOX)

    assert done.code == as_json.code == 5
    assert done.err == (
        "anywire: no tool shwo (code -32602) (the server lists no tool 'shwo'; did you mean show?)\n"
    )
    error = json.loads(as_json.err)["error"]
    assert error["peer"] == {"code": -32602, "message": "no tool shwo", "data": {"tool": "shwo"}}
    assert (error["code"], error["exit"]) == ("peer_error", 5)
    assert "did you mean show?" in error["hint"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--", "anywire-no-such-program"], "no program 'anywire-no-such-program' was found"),
        (["--cwd", "/nowhere", "--", "true"], "there is no folder /nowhere"),
        (["--", *server("exits_early")], "its last words: API_KEY is not set"),
        (["--timeout", "1s", "--framing", "newline", "--", *server("silent")], "(newline framing tried)"),
        (["--timeout", "1s", "--", *server("echo")], "it echoed our own bytes"),
    ],
)
def test_a_server_that_cannot_be_reached_ends_with_4(words: list[str], expected: str) -> None:
    """The sentence says why, in JSON as well; who can be examined is examined with `doctor`."""
    done = anywire("ping", *words)
    as_json = anywire("list", "--json", *words)

    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("anywire: ")
    assert expected in done.err
    assert "Traceback" not in done.err
    assert (as_json.code, as_json.out) == (4, "")
    error = json.loads(as_json.err)["error"]
    assert (error["code"], error["exit"]) == ("unreachable", 4)
    assert ("try: anywire doctor -- " in error.get("hint", "")) == ("not started" not in error["message"])


def test_a_server_that_refuses_to_open_ends_with_5() -> None:
    """It was reached, and said no."""
    done = anywire("ping", "--", *server("initialize_refused"))

    assert done.code == 5
    assert done.err == "anywire: I do not know you (code -32602)\n"


def test_a_server_that_dies_in_a_call_ends_with_1() -> None:
    """The call may have been carried out: this is not "unreachable"."""
    done = anywire("call", "crash", *TOOLBOX)

    assert (done.code, done.out) == (1, "")
    assert "exited with code 1" in done.err
    assert "its last words: the toolbox is open\nthe toolbox fell down" in done.err


def test_a_call_without_an_answer_ends_when_its_time_is_over() -> None:
    """`--timeout` counts from the last report of progress."""
    done = anywire("call", "wait", "--timeout", "1s", *TOOLBOX)

    assert (done.code, done.out) == (1, "")
    assert "anywire: progress 1/2: waiting\n" in done.err
    assert "1 s" in done.err.splitlines()[-1]


def test_headers_are_spoken_when_asked_for_and_found_out_else() -> None:
    """The framing of editors is no obstacle."""
    given = anywire("ping", "--framing", "headers", "--", *server("header_framing"))
    found = anywire("ping", "--", *server("header_framing"))

    assert given.out.startswith("HeaderFraming 1.0")
    assert found.out.startswith("HeaderFraming 1.0")


def test_the_command_gets_the_environment_that_was_asked_for() -> None:
    """A small one, with what `--env` adds; all of ours with `--inherit-env`."""
    shown = ["--", "sh", "-c", "echo A=$ANYWIRE_A B=$ANYWIRE_B >&2; exit 1"]
    ours = {"ANYWIRE_A": "a", "ANYWIRE_B": "b"}

    assert "A= B=" in anywire("ping", *shown, env=ours).err
    assert "A=a B=x" in anywire("ping", "--env", "ANYWIRE_A", "--env=ANYWIRE_B=x", *shown, env=ours).err
    assert "A=a B=b" in anywire("ping", "--inherit-env", *shown, env=ours).err
