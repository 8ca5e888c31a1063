"""What a server asks while it is called: its questions are put to the person at the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from anywire.cli.failure import write_stderr
from anywire.cli.form import Field, fields_of
from anywire.cli.output import visible
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitUrlParams

if TYPE_CHECKING:
    from anywire.cli.status import Status
    from anywire.client.eliciting import Elicited

__all__ = ("Asking",)

_LINE_BYTES = 4096
_YES = ("y", "yes")


class Asking:
    """Puts a server's questions to a person, one after the other: shown on stderr, answered by lines.

    Where either is no terminal, nobody is asked: the question is declined, which is said.
    """

    def __init__(self, status: Status, keyboard: int) -> None:
        self._status = status
        self._keyboard = keyboard
        self._is_terminal = os.isatty(keyboard) and sys.stderr is not None and sys.stderr.isatty()
        self._one_at_a_time = asyncio.Lock()
        self._typed = b""

    async def elicit(self, params: ElicitFormParams | ElicitUrlParams) -> Elicited:
        """Answer `elicitation/create`."""
        if not self._is_terminal:
            message = " ".join(params.message.split())
            self._status.say(f"the server asks, and is declined, since this is no terminal: {message}")
            return "decline"
        async with self._one_at_a_time:
            with self._status.held():
                self._status.say(f"the server asks: {params.message}  (Ctrl-D declines)")
                if isinstance(params, ElicitUrlParams):
                    return await self._visit(params.url)
                return await self._fill_in(fields_of(params.requested_schema))

    async def _visit(self, url: str) -> Elicited:
        answer = await self._ask(f"Visit {url} for it? y or n: ")
        return "accept" if answer is not None and answer.lower() in _YES else "decline"

    async def _fill_in(self, fields: list[Field]) -> Elicited:
        filled: dict[str, object] = {}
        for field in fields:
            while True:
                text = await self._ask(field.prompt)
                if text is None:
                    return "decline"
                if not text and field.may_be_empty:
                    break
                try:
                    filled[field.name] = field.read(text) if text else _refuse_nothing()
                    break
                except ValueError as error:
                    self._status.say(str(error))
        if fields:
            return filled
        answer = await self._ask("y or n: ")
        return filled if answer is not None and answer.lower() in _YES else "decline"

    async def _ask(self, prompt: str) -> str | None:
        """Show a prompt and return the line that is typed; None when there is none to come."""
        write_stderr(visible(" ".join(prompt.splitlines())).encode("utf-8", "backslashreplace"))
        line = None
        try:
            line = await self._line()
        finally:
            if line is None:  # what is said next does not stand behind the prompt
                write_stderr(b"\n")
        return None if line is None else line.decode("utf-8", "replace").strip()

    async def _line(self) -> bytes | None:
        while b"\n" not in self._typed:
            await self._readable()
            chunk = os.read(self._keyboard, _LINE_BYTES)
            if not chunk:
                return None
            self._typed += chunk
        line, _, self._typed = self._typed.partition(b"\n")
        return line

    async def _readable(self) -> None:
        """Wait until something was typed; unlike a thread that reads, this can be given up."""
        loop = asyncio.get_running_loop()
        typed = asyncio.Event()
        loop.add_reader(self._keyboard, typed.set)
        try:
            await typed.wait()
        finally:
            loop.remove_reader(self._keyboard)


def _refuse_nothing() -> object:
    raise ValueError("this is needed")
