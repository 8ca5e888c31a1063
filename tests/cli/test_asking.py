"""What a server asks during `anywire call`: at a terminal, and where there is none."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anywire.cli.form import Field, fields_of
from tests.cli.commands import ROOT, WITHIN, anywire, server
from tests.interop.processes import watch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")

GALLERY = ["--", *server("gallery")]


class Terminal:
    """A command at a terminal, with somebody who types; its stdout is a pipe."""

    def __init__(self, *words: str) -> None:
        self._ours, its = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "anywire", *words],
            stdin=its,
            stdout=subprocess.PIPE,
            stderr=its,
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(its)
        self.shown = ""
        self._waiting = b""

    def see(self, expected: str) -> None:
        """Read what is shown until this comes."""
        while expected.encode() not in self._waiting:
            assert select.select([self._ours], [], [], WITHIN)[0], self._waiting
            try:
                self._waiting += os.read(self._ours, 1024)
            except OSError:
                raise AssertionError(f"it ended without showing {expected!r}: {self._waiting!r}") from None
        before, found, self._waiting = self._waiting.partition(expected.encode())
        self.shown += (before + found).decode()

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self._ours, text.encode())

    def end(self) -> tuple[int, str]:
        """Wait for the end; return exit code and stdout."""
        out, _ = self.process.communicate(timeout=WITHIN)
        return self.process.returncode, out.decode()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=WITHIN)
        os.close(self._ours)


@contextmanager
def at_a_terminal(*words: str) -> Generator[Terminal]:
    """A command at a terminal, ended in any case."""
    terminal = Terminal(*words)
    try:
        with watch():
            yield terminal
    finally:
        terminal.close()


def answer_of(out: str) -> object:
    """What the server was answered."""
    return json.loads(out)


def test_a_form_is_filled_in_field_by_field() -> None:
    """What does not fit is asked again; an empty line is the default or nothing."""
    with at_a_terminal("call", "form", *GALLERY) as terminal:
        terminal.see("drink, one of tea, coffee: ")
        terminal.type("beer\n")
        terminal.see("choose of: tea, coffee\r\n")
        terminal.see("drink, one of tea, coffee: ")
        terminal.type("co\n")
        terminal.see("cups: ")
        terminal.type("\n")
        terminal.see("this is needed")
        terminal.see("cups: ")
        terminal.type("2\n")
        terminal.see("sugar, y or n [n]: ")
        terminal.type("\n")
        terminal.see("note []: ")
        terminal.type("\n")
        code, out = terminal.end()

    assert "anywire: the server asks: What would\r\nyou like?  (Ctrl-D declines)\r\n" in terminal.shown
    assert code == 0
    assert answer_of(out) == {
        "action": "accept",
        "content": {"drink": "coffee", "cups": 2, "sugar": False},
    }


def test_the_end_of_input_declines() -> None:
    """Ctrl-D, as it is said."""
    with at_a_terminal("call", "form", *GALLERY) as terminal:
        terminal.see("drink, one of tea, coffee: ")
        terminal.type("\x04")
        code, out = terminal.end()

    assert (code, answer_of(out)) == (0, {"action": "decline"})


@pytest.mark.parametrize(("typed", "action"), [("y", "accept"), ("", "decline"), ("no", "decline")])
def test_an_address_is_shown_and_agreed_to(typed: str, action: str) -> None:
    """Nothing is opened."""
    with at_a_terminal("call", "visit", *GALLERY) as terminal:
        terminal.see("Visit https://host.example/ for it? y or n: ")
        terminal.type(f"{typed}\n")
        code, out = terminal.end()

    assert (code, answer_of(out)) == (0, {"action": action})


def test_a_server_in_memory_asks_as_well(tmp_path: Path) -> None:
    """Although its own stdin is empty."""
    code = (
        "import sys\nfrom anywire import Context, Server\nserver = Server('home')\n"
        "@server.tool\nasync def ask(context: Context) -> str:\n"
        "    form = {'type': 'object', 'properties': {'name': {'type': 'string'}}, 'required': ['name']}\n"
        "    return str((await context.elicit('Who?', form)).content) + sys.stdin.read()\n"
    )
    (tmp_path / "home.py").write_text(code, encoding="utf-8")
    with at_a_terminal("call", "ask", f"{tmp_path / 'home.py'}:server") as terminal:
        terminal.see("name: ")
        terminal.type("Zoë\n")
        assert terminal.end() == (0, "{'name': 'Zoë'}\n")


@pytest.mark.chaos
def test_a_signal_ends_a_question() -> None:
    """Whoever is asked may leave."""
    with at_a_terminal("call", "form", *GALLERY) as terminal:
        terminal.see("drink")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == (130, "")


@pytest.mark.parametrize(("tool", "message"), [("form", "What would you like?"), ("visit", "Log in")])
def test_without_a_terminal_a_question_is_declined(tool: str, message: str) -> None:
    """And that is said."""
    done = anywire("call", tool, *GALLERY, stdin="tea\n2\n")

    assert (done.code, answer_of(done.out)) == (0, {"action": "decline"})
    assert done.err == f"anywire: the server asks, and is declined, since this is no terminal: {message}\n"


def test_roots_are_told_as_they_were_given(tmp_path: Path) -> None:
    """As addresses of files, in order."""
    (tmp_path / "a b").mkdir()

    done = anywire("call", "roots", "--root", tmp_path, f"--root={tmp_path / 'a b'}", *GALLERY)

    roots = [{"uri": tmp_path.as_uri()}, {"uri": (tmp_path / "a b").as_uri()}]
    assert (done.code, json.loads(done.out)) == (0, {"roots": roots})


def test_a_root_that_is_not_there_is_refused() -> None:
    """A slip of the hand gives nothing away."""
    done = anywire("call", "roots", "--root", "/nowhere", *GALLERY)

    assert (done.code, done.out, done.err) == (2, "", "anywire: --root: there is no /nowhere\n")


def test_without_a_root_the_server_learns_that_there_are_none() -> None:
    """What was not declared is refused."""
    server = (
        "import json, sys\nfrom tests.cli.servers.healthy import Healthy\n"
        "class Nosy(Healthy):\n"
        "    def initialize(self, params):\n"
        "        print(json.dumps(sorted(params['capabilities'])), file=sys.stderr, flush=True)\n"
        "        return super().initialize(params)\n"
        "Nosy().run()\n"
    )
    without = anywire("call", "add", "-v", "--", sys.executable, "-c", server)
    with_root = anywire("call", "add", "-v", "--root", ".", "--", sys.executable, "-c", server)

    assert '["elicitation"]\n' in without.err
    assert '["elicitation", "roots"]\n' in with_root.err


def field(schema: dict[str, object]) -> Field:
    """A field of a form that must be filled in."""
    return fields_of({"properties": {"x": schema}, "required": ["x"]})[0]


@pytest.mark.parametrize(
    ("schema", "prompt", "typed", "value"),
    [
        ({"type": "string"}, "x: ", "some text", "some text"),
        ({"type": "string", "title": "Name", "description": "of\na dog"}, "Name (of a dog): ", "Rex", "Rex"),
        ({"type": "string", "default": "Rex"}, "x [Rex]: ", "Max", "Max"),
        ({"type": "integer", "default": 3}, "x [3]: ", "12", 12),
        ({"type": "number"}, "x: ", "2.5", 2.5),
        ({"type": "number"}, "x: ", "12345678901234567890", 12345678901234567890),
        ({"type": "boolean"}, "x, y or n: ", "Yes", True),
        ({"type": "boolean", "default": True}, "x, y or n [y]: ", "n", False),
        ({"enum": ["a", "b"], "enumNames": ["Ann", "Bob"]}, "x, one of Ann, Bob: ", "bo", "b"),
        ({"type": "string", "enum": ["a", "ab"]}, "x, one of a, ab: ", "a", "a"),
        ({"oneOf": [{"const": "1", "title": "One"}, {"const": "2"}]}, "x, one of One, 2: ", "1", "1"),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, "x, some of a, b, c: ", "a, c", ["a", "c"]),
        (
            {"type": "array", "items": {"anyOf": [{"const": "r", "title": "Red"}]}},
            "x, some of Red: ",
            "red",
            ["r"],
        ),
    ],
)
def test_a_line_is_read_as_its_field_says(
    schema: dict[str, object], prompt: str, typed: str, value: object
) -> None:
    """Texts, numbers, yes or no, choices by name or by value, several of them."""
    assert (field(schema).prompt, field(schema).read(typed)) == (prompt, value)


@pytest.mark.parametrize(
    ("schema", "typed", "sentence"),
    [
        ({"type": "integer"}, "2.5", "type a whole number"),
        ({"type": "number"}, "inf", "type a number"),
        ({"type": "boolean"}, "perhaps", "type y or n"),
        ({"enum": ["aa", "ab"]}, "a", "choose of: aa, ab"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a, x", "choose of: a, b"),
        ({"type": "integer", "maximum": 9}, "10", "10 is greater than the maximum of 9"),
        ({"type": "string", "minLength": 3}, "ab", "shorter than 3 characters"),
    ],
)
def test_a_line_that_does_not_fit_is_refused(schema: dict[str, object], typed: str, sentence: str) -> None:
    """With what would."""
    with pytest.raises(ValueError, match=sentence):
        field(schema).read(typed)
