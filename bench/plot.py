"""Plots as SVG: bars on a scale of powers of ten, and lines where both axes are such scales."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from bench.figures import Spread
from bench.table import number

__all__ = ("Bar", "bars", "lines")

WIDTH: Final = 930
LABELS: Final = 360
VALUES: Final = 90
ROW: Final = 22
TOP: Final = 54
PLOT: Final = WIDTH - LABELS - VALUES
INK, FAINT, OURS, FLOOR, OTHERS = "#222", "#ddd", "#0b7285", "#adb5bd", "#e8590c"
COLOURS: Final = ("#0b7285", "#868e96", "#adb5bd", "#e8590c", "#ae3ec9", "#2f9e44", "#f08c00")


@dataclass(frozen=True)
class Bar:
    """One bar: whose it is decides its colour."""

    name: str
    found: Spread

    @property
    def colour(self) -> str:
        """Ours, a floor's, or somebody else's."""
        if "anywire" in self.name:
            return OURS
        return FLOOR if any(word in self.name for word in ("bare", "no bridge", "python -c")) else OTHERS


class Scale:
    """From a value to a place between two powers of ten."""

    def __init__(self, least: float, most: float, begin: float, end: float) -> None:
        self._low = math.floor(math.log10(least))
        self._high = max(math.ceil(math.log10(most)), self._low + 1)
        self._begin, self._end = begin, end

    def __call__(self, value: float) -> float:
        """Return where a value stands."""
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return round(self._begin + share * (self._end - self._begin), 1)

    def powers(self) -> list[float]:
        """Return the powers of ten that are marked."""
        return [10.0**each for each in range(self._low, self._high + 1)]


def bars(title: str, unit: str, several: Sequence[Bar], *, more_is_better: bool) -> str:
    """Draw bars, the best first, each with its range."""
    known = sorted(several, key=lambda bar: bar.found.median, reverse=more_is_better)
    known = [bar for bar in known if bar.found.least > 0]
    if not known:
        return svg(TOP, [])
    scale = Scale(
        min(bar.found.least for bar in known) * 0.8,
        max(bar.found.most for bar in known),
        LABELS,
        LABELS + PLOT,
    )
    height = TOP + ROW * len(known) + 14
    drawn = [heading(title, f"{unit or 'cores'}, {'more' if more_is_better else 'less'} is better")]
    drawn += [mark(scale(power), TOP - 6, height - 10, number_of(power)) for power in scale.powers()]
    for place, bar in enumerate(known):
        drawn += _bar(bar, TOP + ROW * place, scale)
    return svg(height, drawn)


def _bar(bar: Bar, top: float, scale: Scale) -> list[str]:
    end, middle = scale(bar.found.median), top + ROW / 2
    least, most = scale(bar.found.least), scale(bar.found.most)
    return [
        text(LABELS - 8, middle + 4, bar.name, anchor="end", bold="anywire" in bar.name),
        rectangle(LABELS, top + 3, end - LABELS, ROW - 6, bar.colour),
        f'<path d="M{least} {middle}H{most}M{least} {middle - 3}v6M{most} {middle - 3}v6" stroke="{INK}"/>',
        text(max(end, most) + 6, middle + 4, number(bar.found.median)),
    ]


def lines(title: str, unit: str, xs: Sequence[float], several: Mapping[str, Sequence[float | None]]) -> str:
    """Draw a line for each name through its values at these places."""
    height, right = 380, WIDTH - 210
    values = [value for each in several.values() for value in each if value]
    if not values:
        return svg(TOP, [])
    across, up = Scale(min(xs), max(xs), 70, right), Scale(min(values), max(values), height - 30, TOP)
    drawn = [heading(title, f"{unit}, less is better")]
    drawn += [
        mark(across(power), TOP, height - 30, number_of(power), below=True) for power in across.powers()
    ]
    for power in up.powers():
        drawn.append(f'<path d="M70 {up(power)}H{right}" stroke="{FAINT}"/>')
        drawn.append(text(62, up(power) + 4, number_of(power), anchor="end"))
    for place, (name, each) in enumerate(several.items()):
        colour = COLOURS[place % len(COLOURS)]
        points = [f"{across(x)},{up(value)}" for x, value in zip(xs, each, strict=True) if value]
        width = 3 if "anywire" in name else 1.5
        drawn.append(f'<path d="M{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        drawn.append(rectangle(right + 20, TOP + 20 * place, 12, 12, colour))
        drawn.append(text(right + 38, TOP + 20 * place + 10, name, bold="anywire" in name))
    return svg(height, drawn)


def heading(title: str, below: str) -> str:
    """Write the title of a plot, and its unit."""
    return text(12, 20, title, size=15, bold=True) + text(12, 37, below)


def mark(x: float, top: float, bottom: float, label: str, *, below: bool = False) -> str:
    """Draw a line from top to bottom with its value."""
    return f'<path d="M{x} {top}V{bottom}" stroke="{FAINT}"/>' + text(
        x, bottom + 14 if below else top - 3, label, anchor="middle"
    )


def number_of(power: float) -> str:
    """Write a power of ten."""
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if power >= unit:
            return f"{power / unit:g}{name}"
    return f"{power:g}"


def text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, bold: bool = False) -> str:
    """Write words."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}"{weight}>{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    """Fill a rectangle."""
    return f'<rect x="{x}" y="{y}" width="{round(width, 1)}" height="{height}" fill="{colour}"/>'


def svg(height: float, drawn: Sequence[str]) -> str:
    """Put what was drawn on a white sheet."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'font-family="sans-serif" fill="{INK}">'
    )
    return "\n".join((head, rectangle(0, 0, WIDTH, height, "#fff"), *drawn, "</svg>", ""))
