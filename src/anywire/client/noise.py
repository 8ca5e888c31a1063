"""What a server writes between its messages: told once, with its name, and counted."""

from __future__ import annotations

import logging

from anywire.wire.message import Fault

__all__ = ("Noise",)

_log = logging.getLogger("anywire.client")

_SHOWN_BYTES = 120


class Noise:
    """Counts what is no message; the first goes to the log `anywire.client`, the number at the end."""

    def __init__(self, name: str, advice: str = "") -> None:
        self._name = name
        self._advice = advice
        self._first: Fault | None = None
        #: How many there were.
        self.count = 0

    def hear(self, fault: Fault) -> None:
        """Take something that is no message."""
        self.count += 1
        if self._first is None:
            self._first = fault
            _log.warning("%s wrote something that is no message: %s", self._name, self._describe(fault))

    def end(self) -> None:
        """The wire has ended: tell how many there were, if more than the one that was told."""
        if self.count > 1 and self._first is not None:
            first = self._describe(self._first)
            _log.warning("%s wrote %d things that are no messages; first: %s", self._name, self.count, first)
        self.count = 0

    def _describe(self, fault: Fault) -> str:
        start = fault.data[:_SHOWN_BYTES].decode("utf-8", "backslashreplace")
        return f"{start!r} ({fault.reason}){self._advice}"
