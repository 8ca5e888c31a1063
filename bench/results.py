"""What a run found, as a document that can be written and read again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.figures import Figures, Rounds

__all__ = ("CaseResult", "GroupResult", "Results")


@dataclass
class CaseResult:
    """The figures of a case, a list for each metric with one of each round; why it failed, where it did."""

    figures: dict[str, list[float | None]] = field(default_factory=dict[str, list[float | None]])
    rounds: int = 0
    failures: list[str] = field(default_factory=list[str])

    def add(self, figures: Figures) -> None:
        """Add what a round found."""
        for metric, value in figures.items():
            self.figures.setdefault(metric, [None] * self.rounds).append(value)
        self._end_round()

    def fail(self, reason: str) -> None:
        """Add a round that failed."""
        self.failures.append(reason)
        self._end_round()

    def _end_round(self) -> None:
        self.rounds += 1
        for values in self.figures.values():
            values.extend([None] * (self.rounds - len(values)))


@dataclass
class GroupResult:
    """What a group found."""

    title: str
    cases: dict[str, CaseResult] = field(default_factory=dict[str, CaseResult])


@dataclass
class Results:
    """What a run found, and on what."""

    machine: dict[str, object]
    python: str
    versions: dict[str, dict[str, str]]
    quick: bool = False
    seconds: float = 0.0
    loads: list[float] = field(default_factory=list[float])
    """How busy the machine was after each group."""
    groups: dict[str, GroupResult] = field(default_factory=dict[str, GroupResult])

    def rounds(self, group: str, case: str, metric: str) -> Rounds:
        """Return the figures of a case, none where it was not measured."""
        if group not in self.groups or case not in self.groups[group].cases:
            return []
        return self.groups[group].cases[case].figures.get(metric, [])

    def failure(self, group: str, case: str) -> str | None:
        """Return why a case failed, None where it did not or was not measured."""
        if group not in self.groups or case not in self.groups[group].cases:
            return None
        failures = self.groups[group].cases[case].failures
        return failures[-1] if failures else None

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read what was written."""
        document = json.loads(path.read_text(encoding="utf-8"))
        groups = {
            name: GroupResult(
                group["title"], {case: CaseResult(**found) for case, found in group["cases"].items()}
            )
            for name, group in document.pop("groups").items()
        }
        return cls(**document, groups=groups)
