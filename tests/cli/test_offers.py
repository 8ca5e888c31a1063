"""`list`, `read`, `get` and `complete` from end to end: all that a server offers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, WITHIN, anywire, server
from tests.cli.servers.gallery import PROMPTS, RESOURCES, TEMPLATES

GALLERY = ["--", *server("gallery")]


def test_list_shows_a_table_for_each_kind() -> None:
    """What a resource is called by, its type, and the best there is to say of it."""
    done = anywire("list", *GALLERY)

    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "tool  parameters  description\n"
        "add               Add two numbers.\n"
        "\n"
        "resource         type        description\n"
        "notes://today    text/plain  Today.\n"
        "notes://picture              picture\n"
        "\n"
        "template         type  description\n"
        "notes://{day}/x        A day\n"
        "\n"
        "prompt  arguments         description\n"
        "review  language [style]  Ask for a review.\n"
    )


def test_list_as_json_has_each_kind_as_it_came() -> None:
    """A member for each, whether or not there are some."""
    done = anywire("list", "--json", *GALLERY)

    document = json.loads(done.out)
    assert (done.code, done.err, done.out.count("\n")) == (0, "", 1)
    assert list(document) == ["tools", "resources", "resourceTemplates", "prompts"]
    assert document["resources"] == RESOURCES
    assert document["resourceTemplates"] == TEMPLATES
    assert document["prompts"] == PROMPTS


def test_list_does_without_what_a_server_does_not_know() -> None:
    """Tools are asked for although they are not declared; a server without them has the rest."""
    server = (
        "from tests.cli.servers.gallery import Gallery\n"
        "class Reader(Gallery):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        del self.capabilities['tools']\n"
        "    def answer(self, method, params):\n"
        "        known = method not in ('tools/list', 'resources/templates/list')\n"
        "        unknown = {'error': {'code': -32601, 'message': 'Method not found'}}\n"
        "        return super().answer(method, params) if known else unknown\n"
        "Reader().run()\n"
    )
    done = anywire("list", "--", sys.executable, "-c", server)

    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines() if line] == [
        "resource",
        "notes://today",
        "notes://picture",
        "prompt",
        "review",
    ]


def test_list_ends_with_5_when_a_declared_list_fails() -> None:
    """The server's own error is told."""
    done = anywire("list", "--", *server("tools_list"))

    assert (done.code, done.out, done.err) == (5, "", "anywire: KeyError: 'tools' (code -32603)\n")


def test_read_prints_text_as_it_is() -> None:
    """For a pipe neither a byte more nor less."""
    done = anywire("read", "notes://today", *GALLERY)

    assert (done.code, done.out, done.err) == (0, "milk\x1b[31m, é🙂", "")


def test_read_writes_what_is_no_text_byte_for_byte(tmp_path: Path) -> None:
    """Into a file as into a pipe."""
    with (tmp_path / "picture").open("wb") as file:
        subprocess.run(
            [sys.executable, "-m", "anywire", "read", "notes://picture", *GALLERY],
            cwd=ROOT,
            stdout=file,
            timeout=WITHIN,
            check=True,
        )
    both = subprocess.run(
        [sys.executable, "-m", "anywire", "read", "notes://both", *GALLERY],
        cwd=ROOT,
        capture_output=True,
        timeout=WITHIN,
        check=True,
    )

    assert (tmp_path / "picture").read_bytes() == b"\x89PNG\r\n\x1a\n012"
    assert both.stdout == b"one\n\0\1\xff"


def test_read_as_json_is_the_result_as_it_came() -> None:
    """With the types of its parts."""
    done = anywire("read", "--json", "notes://picture", *GALLERY)

    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["contents"][0]["mimeType"] == "image/png"


def test_read_of_what_is_not_there_suggests_what_is() -> None:
    """The server's error, and a name like it."""
    done = anywire("read", "notes://tody", *GALLERY)
    as_json = anywire("read", "notes://tody", "--json", *GALLERY)

    assert (done.code, done.out) == (5, "")
    assert done.err == (
        "anywire: Resource not found (code -32002) "
        "(the server lists no resource 'notes://tody'; did you mean notes://today?)\n"
    )
    assert (as_json.code, as_json.out) == (5, "")
    assert json.loads(as_json.err)["error"]["peer"] == {"code": -32002, "message": "Resource not found"}


def test_read_of_what_cannot_be_read_ends_with_1() -> None:
    """It is no base64."""
    done = anywire("read", "notes://damaged", *GALLERY)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("anywire: what the server gave is not base64")


def test_get_prints_a_single_message_as_it_is_and_several_with_their_roles() -> None:
    """What is no text stands in brackets."""
    one = anywire("get", "review", "language=python", *GALLERY)
    two = anywire("get", "review", "language=a=b", "style=dry", *GALLERY)

    assert (one.code, one.out, one.err) == (0, "Review python\n", "")
    assert (two.code, two.err) == (0, "")
    assert two.out == "[user]\nReview a=b\n\n[assistant]\n[image image/png, 11 bytes]\n"


def test_get_as_json_is_the_result_as_it_came() -> None:
    """Messages with roles and content."""
    done = anywire("get", "review", "--json", "language=5", *GALLERY)

    assert done.code == 0
    assert json.loads(done.out)["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "Review 5"}}
    ]


def test_get_of_an_unknown_prompt_suggests_a_known_one() -> None:
    """As for tools."""
    done = anywire("get", "reviw", *GALLERY)

    assert (done.code, done.out) == (5, "")
    assert done.err == (
        "anywire: no such prompt (code -32602) (the server lists no prompt 'reviw'; did you mean review?)\n"
    )


def test_complete_prints_a_value_a_line() -> None:
    """The prompt, the arguments that are known, what begins as typed."""
    prompt = anywire("complete", "review", "language", "py", "style=dry", *GALLERY)
    template = anywire("complete", "notes://{day}/x", "day", "", *GALLERY)

    assert (prompt.code, prompt.out, prompt.err) == (0, "review\nstyle=dry\npython\n", "")
    assert (template.code, template.out, template.err) == (0, "notes://{day}/x\npython\nrust\n", "")


def test_complete_says_when_there_are_more_and_when_there_are_none() -> None:
    """On stderr, apart from the values."""
    many = anywire("complete", "review", "many", "r", *GALLERY)
    none = anywire("complete", "review", "nothing", "", *GALLERY)

    assert (many.code, many.out) == (0, "review\nrust\n")
    assert many.err == "anywire: 2 of 500 values are shown\n"
    assert (none.code, none.out, none.err) == (0, "", "anywire: there are no such values\n")


def test_complete_as_json_is_the_result_as_it_came() -> None:
    """With what is said of the whole."""
    done = anywire("complete", "review", "many", "r", "--json", *GALLERY)

    assert json.loads(done.out) == {
        "completion": {"values": ["review", "rust"], "total": 500, "hasMore": True}
    }


def test_a_server_without_completion_ends_with_5() -> None:
    """It says that it has no such method."""
    done = anywire("complete", "review", "language", "p", "--", *server("healthy"))

    assert (done.code, done.out) == (5, "")
    assert "(code -32601)" in done.err


WORDS = [
    ("read", ("notes://today",)),
    ("get", ("review", "language=python")),
    ("complete", ("review", "language", "p")),
    ("listen", ()),
]
each_command = pytest.mark.parametrize(("command", "words"), WORDS)


@each_command
def test_who_cannot_be_reached_ends_each_command_with_4(command: str, words: tuple[str, ...]) -> None:
    """And may be examined."""
    done = anywire(command, *words, "--", *server("exits_early"))
    as_json = anywire(command, *words, "--json", "--", *server("exits_early"))

    assert (done.code, done.out) == (4, "")
    assert "its last words: API_KEY is not set (try: anywire doctor -- " in done.err
    assert (as_json.code, json.loads(as_json.err)["error"]["code"]) == (4, "unreachable")


@pytest.mark.parametrize(("command", "words"), WORDS[:-1])
def test_a_server_of_python_code_is_reached_in_memory(
    command: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """The target comes last, whatever stands before it."""
    code = (
        "from typing import Literal\nfrom anywire import Server\nserver = Server('home')\n"
        "@server.resource('notes://today')\ndef today() -> str:\n    return 'milk'\n"
        "@server.prompt\ndef review(language: Literal['python', 'rust']) -> str:\n    return language\n"
    )
    (tmp_path / "home.py").write_text(code, encoding="utf-8")

    done = anywire(command, *words, f"{tmp_path / 'home.py'}:server")

    expected = {"read": "milk", "get": "python\n", "complete": "python\n"}
    assert (done.code, done.out, done.err) == (0, expected[command], "")
