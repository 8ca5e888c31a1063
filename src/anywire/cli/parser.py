"""The parser of a subcommand: options stand anywhere, and a wrong word suggests the right one."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import NoReturn, Protocol

from anywire.errors import ConfigError
from anywire.transport.redact import HIDDEN, show_words

__all__ = ("Commands", "Parser", "nearest")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, a `ConfigError`."""

    def __init__(self, **settings: object) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        # An abbreviation that is right today is ambiguous when the next option comes.
        super().__init__(allow_abbrev=False, **settings)  # pyright: ignore[reportArgumentType] whatever argparse takes
        #: The commands of its own that a subcommand has, by their names.
        self.commands: dict[str, Parser] = {}
        self._choosing: Commands | None = None

    @property
    def actions(self) -> list[argparse.Action]:
        """Every argument and option; commands of its own are none."""
        return [action for action in self._actions if action.nargs != argparse.PARSER]

    def add_command(self, name: str, *, help: str, usage: str, description: str, epilog: str) -> Parser:
        """Make the parser of a command of its own: `anywire SUBCOMMAND NAME …`."""
        if self._choosing is None:
            self._choosing = self.add_subparsers(dest="action", metavar="ACTION", parser_class=Parser)
        self.commands[name] = self._choosing.add_parser(
            name,
            prog=f"{self.prog} {name}",
            help=help,
            usage=usage,
            description=description,
            epilog=epilog,
        )
        return self.commands[name]

    def error(self, message: str) -> NoReturn:
        """Refuse the words that were typed."""
        raise ConfigError(f"{message} (see '{self.prog} --help')")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Read the words behind the subcommand.  Raises `ConfigError`.

        Of one with commands of its own, `action` says which.
        """
        if self.commands:
            return self._read_command(words)
        self._refuse_unknown_options(words)
        options, left = self.parse_known_intermixed_args(list(words))
        if left and (any(word.startswith("--header") for word in words) or any(map(_may_be_secret, left))):
            # What an unquoted header left over may be a secret: it is not shown.
            self.error("there is a word too much; a header is one word in quotes: --header 'Name: Value'")
        if left:
            plain = " ".join(show_words(left))
            self.error(f"{plain!r} is too much; a command to run stands after '--': {self.prog} -- COMMAND …")
        return options

    def _read_command(self, words: Sequence[str]) -> argparse.Namespace:
        name = words[0] if words else ""
        if name not in self.commands:
            if name in ("-h", "--help"):
                self.parse_args(words[:1])  # ends here
            known = "|".join(self.commands)
            if not name or name.startswith("-"):
                self.error(f"say what to do: {self.prog} {known} …")
            self.error(f"there is no {self.prog} {show_words([name])[0]}{nearest(name, self.commands)}")
        options = self.commands[name].read(words[1:])
        options.action = name
        return options

    def _refuse_unknown_options(self, words: Iterable[str]) -> None:
        known = self._option_string_actions
        for word in words:
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            if len(name) > 1 and name.startswith("-") and name not in known:
                self.error(f"there is no option {name}{nearest(name, known)}")


def _may_be_secret(word: str) -> bool:
    """Whether a word that nobody expected looks like a header, or like a part of one."""
    return ": " in word or word.endswith(":") or HIDDEN in show_words([word])[0].split(maxsplit=1)[-1:]


class Commands(Protocol):
    """Where a subcommand's module adds its parser."""

    def add_parser(
        self, name: str, *, help: str, usage: str, description: str, epilog: str, prog: str
    ) -> Parser:
        """Make the parser of a subcommand."""
        ...


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean …?" when something that is known looks like the word, else nothing."""
    from difflib import get_close_matches  # needed by those only who have mistyped

    found = get_close_matches(word, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""
