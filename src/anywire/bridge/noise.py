"""What a server behind a bridge sends that is no message: the first is reported, the others are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from anywire.bridge.report import Event
from anywire.transport.contract import Transport
from anywire.wire.message import Fault

__all__ = ("Noise", "writes_stdout")

_SHOWN_BYTES: Final = 120
_HINT: Final = "belongs on stderr"


def writes_stdout(target: Transport) -> bool:
    """Say whether what comes from there was written on the stdout of a child."""
    return bool(getattr(target, "writes_stdout", False))


class Noise:
    """Tells whoever runs the bridge; the client would not know what to make of it.

    What it tells are events, `noise` and `noise_total`: programs need not look into the sentences.
    """

    def __init__(self, target: Transport, name: str, report: Callable[[str], None]) -> None:
        # Only a child has a stderr where its noise belongs.
        self._is_child = writes_stdout(target)
        self._source = f"{name} {'wrote' if self._is_child else 'sent'}"
        self._where = " on stdout" if self._is_child else ""
        self._advice = f" (it {_HINT})" if self._is_child else ""
        self._report = report
        self._count = 0

    def hear(self, fault: Fault) -> None:
        """Take something that is no message."""
        self._count += 1
        if self._count > 1:
            return
        start = fault.data[:_SHOWN_BYTES].decode("utf-8", "backslashreplace")
        sentence = (
            f"{self._source} something{self._where} that is no message{self._advice}: "
            f"{start!r}: {fault.reason}"
        )
        fields: dict[str, object] = {"first_bytes": start, "reason": fault.reason}
        if fault.number:
            fields["line"] = fault.number
        if self._is_child:
            fields["stream"], fields["hint"] = "stdout", f"this {_HINT}"
        self._report(Event(sentence, "noise", fields))

    def end(self) -> None:
        """The server has ended: tell how many there were, if more than the one that was told."""
        if self._count > 1:
            sentence = f"{self._source} {self._count} things{self._where} that are no messages"
            self._report(Event(sentence, "noise_total", {"count": self._count}))
        self._count = 0
