"""What whoever runs the bridge hears of what is hidden: of each thing once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from anywire.bridge.policy.asking import Refused
from anywire.bridge.policy.pattern import Kind

__all__ = ("Notices",)

#: So many things are remembered; clients can ask for any number of names.
_MOST: Final = 1_000
_SHOWN: Final = 10
_SHOWN_CHARACTERS: Final = 100


class Notices:
    """Reports, for all clients of a server together."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._told: set[tuple[str, Kind, str]] = set()

    def left_out(self, kind: Kind, names: Iterable[str]) -> None:
        """Things were left out of a list."""
        new = [name for name in dict.fromkeys(names) if self._is_new("listed", kind, name)]
        if new:
            more = f" and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
            self._report(f"hidden from clients: {kind.value} {', '.join(map(_shown, new[:_SHOWN]))}{more}")

    def refused(self, refused: Refused) -> None:
        """A client asked for something that is hidden from it; what names nothing is its own business."""
        name = refused.name
        if name is not None and self._is_new("asked", refused.kind, name):
            self._report(
                f"a client asked for the {refused.kind.value} {_shown(name)}, which is hidden from it: "
                f"{refused.reason}"
            )

    def _is_new(self, event: str, kind: Kind, name: str) -> bool:
        known = (event, kind, name[:_SHOWN_CHARACTERS])
        if known in self._told or len(self._told) >= _MOST:
            return False
        self._told.add(known)
        return True


def _shown(name: str) -> str:
    return repr(name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…")
