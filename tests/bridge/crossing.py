"""The table of what crosses between the eras, and a check for each of its rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from anywire.protocol.translate.crossing import CROSSINGS, Crossing, Direction

__all__ = ("Checks", "name_of")

#: Tries what the sentence of a row says.
Check: TypeAlias = Callable[[], Awaitable[None] | None]


class Checks:
    """The checks of one direction, by the feature that they are of."""

    def __init__(self, direction: Direction) -> None:
        #: The rows of the table.
        self.rows = [row for row in CROSSINGS if row.direction is direction]
        self.of: dict[str, Check] = {}

    def __call__(self, feature: str) -> Callable[[Check], Check]:
        """Mark the check of a feature."""

        def mark(check: Check) -> Check:
            assert feature not in self.of
            self.of[feature] = check
            return check

        return mark

    async def make(self, row: Crossing) -> None:
        """Make the check of a row."""
        made = self.of[row.feature]()
        if made is not None:
            await made

    @property
    def lonely(self) -> set[str]:
        """The features that have no check, or no row."""
        return {row.feature for row in self.rows} ^ self.of.keys()


def name_of(row: Crossing) -> str:
    """A row by its name."""
    return row.feature.replace(" ", "-")
