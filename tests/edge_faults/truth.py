"""What was true, from what agents read, and what the answers said of it.

Agents write down every reading with the label they gave it before they do anything else with it.
The true value of an object at a tick is that of its newest reading up to the tick. An answer
stands from the tick it is of until the next one, so each is held against the truth at every tick
that it stood for.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streamgauge.contracts.answer import Answer

Key = tuple[str, ...]
# Sums of the bar's ends are rounded; a width is told from a budget only beyond this share.
SLACK = 1e-9


@dataclass
class Readings:
    """Labels and values of each object, in order of time."""

    labels: dict[Key, list[int]] = field(default_factory=dict)
    values: dict[Key, list[float]] = field(default_factory=dict)

    @classmethod
    def of(cls, *logs: Path) -> Readings:
        """Read logs of agents: a label, a value and a key in each line."""
        found = cls()
        for log in logs:
            # The last line of an agent that was killed may be torn.
            for line in log.read_text(encoding="utf-8").splitlines(keepends=True):
                if line.endswith("\n"):
                    label, value, *key = line.split()
                    found.add(int(label), tuple(key), float(value))
        return found

    def add(self, label: int, key: Key, value: float) -> None:
        """One reading more; those of an object come in order of time."""
        labels = self.labels.setdefault(key, [])
        assert not labels or labels[-1] <= label, f"labels of {key} go back: {labels[-1]}, {label}"
        labels.append(label)
        self.values.setdefault(key, []).append(value)

    def at(self, key: Key, tick: int) -> float:
        """The newest value up to a tick; NaN before the first."""
        place = bisect.bisect_right(self.labels.get(key, []), tick)
        return self.values[key][place - 1] if place else math.nan

    def upto(self) -> int:
        """The newest label of all."""
        return max((labels[-1] for labels in self.labels.values()), default=0)


@dataclass(frozen=True)
class Question:
    """A query as the checker needs it: aggregate, members with weights, what is owed.

    `altered` is what later versions of it are owed, from the second on.
    """

    name: str
    aggregate: str
    members: Mapping[Key, float]
    within: float
    altered: tuple[float, ...] = ()

    def owed(self, version: int) -> float:
        """How far off an answer of a version may be."""
        return (self.within, *self.altered)[version - 1]

    def truth(self, readings: Readings, tick: int) -> float:
        """Its exact value at a tick; NaN when a member was not read yet."""
        values = [weight * readings.at(key, tick) for key, weight in self.members.items()]
        if any(map(math.isnan, values)):
            return math.nan
        if self.aggregate == "sum":
            return math.fsum(values)
        if self.aggregate == "avg":
            return math.fsum(values) / len(values)
        return {"min": min, "max": max}[self.aggregate](values)


@dataclass
class Verdict:
    """What a comparison found."""

    wrong: list[str] = field(default_factory=list)
    wide: list[str] = field(default_factory=list)
    kept: int = 0
    marked: int = 0
    marked_ticks: dict[str, list[int]] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.kept} kept, {self.marked} marked, {len(self.wrong)} wrong"]
        return "\n".join([*lines, *self.wrong[:10], *self.wide[:10]])


def marked(answer: Answer) -> bool:
    """Whether an answer says of itself that it is not what was asked for."""
    return not answer.contract_met or answer.basis == "interrupted"


def compare(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    readings: Readings,
    ticks: Sequence[int],
) -> Verdict:
    """Hold the standing answers against the truth at each tick."""
    verdict = Verdict()
    for question in questions:
        mine = [answer for answer in answers if answer.query == question.name]
        for tick, answer in _standing(mine, ticks):
            truth = question.truth(readings, tick)
            if math.isnan(truth) or answer.coverage < 1.0 or answer.value is None:
                continue
            told = f"{question.name} at {tick}: {truth!r}, said {answer}"
            # A bar that is marked must be honest too: it is wider, not wrong.
            if not answer.low <= truth <= answer.high:
                verdict.wrong.append(told)
            if marked(answer):
                verdict.marked += 1
                verdict.marked_ticks.setdefault(question.name, []).append(tick)
            elif answer.high - answer.low > 2.0 * question.owed(answer.version) * (1.0 + SLACK):
                verdict.wide.append(told)
            else:
                verdict.kept += 1
    return verdict


def _standing(answers: Sequence[Answer], ticks: Sequence[int]) -> Iterator[tuple[int, Answer]]:
    """Each tick with the answer that stands then."""
    ordered = sorted(answers, key=lambda answer: (answer.as_of, answer.epoch, answer.revision))
    moments = [answer.as_of for answer in ordered]
    for tick in ticks:
        place = bisect.bisect_right(moments, tick)
        if place:
            yield tick, ordered[place - 1]
