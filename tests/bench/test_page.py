"""What was found is written down, read again and drawn."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from bench.page import plots, section
from bench.plot import Scale
from bench.results import CaseResult, GroupResult, Results

ROUNDS = [90.0, 100.0, 130.0]


def found() -> Results:
    """A run with two groups."""
    sizes: dict[str, list[float | None]] = {
        f"result_{size}_us": [10.0] for size in ("100b", "10kb", "1mb", "10mb")
    }
    return Results(
        {"date": "2026-01-02 03:04", "processor": "a processor", "cores": 2, "system": "Linux"},
        "3.11.7",
        {"anywire": {"msgspec": "0.20"}},
        groups={
            "stdio-server": GroupResult(
                "Servers on stdio",
                {
                    "anywire, task": CaseResult({"rate": [*ROUNDS], "serial_us": [*ROUNDS]}, 3),
                    "a < b": CaseResult({"rate": [None, 2.0, 3.0]}, 3, ["lost"]),
                },
            ),
            "sizes": GroupResult("Sizes", {"anywire, task": CaseResult(sizes, 1)}),
        },
    )


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """As it was."""
    path = tmp_path / "found.json"
    found().write(path)

    assert Results.read(path) == found()


def test_each_plot_is_a_picture_with_a_name_of_its_own() -> None:
    """In XML, whatever the cases are called."""
    drawn = dict(plots(found()))

    assert sorted(drawn) == [
        "sizes-http-3.11.svg",
        "sizes-stdio-3.11.svg", "stdio-server-rate-3.11.svg", "stdio-server-serial-us-3.11.svg",
    ]  # fmt: skip
    for picture in drawn.values():
        assert ET.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert "a &lt; b" in drawn["stdio-server-rate-3.11.svg"]


def test_a_section_shows_the_plots_that_are_drawn() -> None:
    """And says what was not reached and what failed."""
    written = section(found())

    assert all(f"(benchmarks/{name})" in written for name, _ in plots(found()))
    assert "* stdio-server: a < b: lost" in written
    assert "## CPython 3.11" in written


def test_a_scale_goes_from_one_power_of_ten_to_another() -> None:
    """Each takes the same room."""
    scale = Scale(2.0, 700.0, 0.0, 300.0)

    assert scale.powers() == [1.0, 10.0, 100.0, 1000.0]
    assert [scale(value) for value in (1.0, 10.0, 1000.0)] == [0.0, 100.0, 300.0]
