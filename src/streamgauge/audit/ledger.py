"""Ledger: what the audits so far found, the evidence in it, and the alarms it raised.

The chance that a home whose promises are all kept ever sees an alarm is at most `false_alarm`: a
half of it goes to alarms of single queries, a quarter to rounds of queries together, a quarter to
families of sketches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from streamgauge.audit.compare import Found
from streamgauge.audit.evidence import (
    BEGINNINGS,
    LEAST,
    ForLife,
    Renewed,
    chance_of,
    log10_evidence,
    log10_mean,
    log10_of_beginnings,
    log10_of_families,
)
from streamgauge.audit.shadow import LIFE

BY_QUERY, BY_ROUNDS, BY_FAMILIES = 0.5, 0.25, 0.25


@dataclass(frozen=True, slots=True)
class Alarm:
    """That a promise is broken: of a query, or of all together when it is None.

    Examples
    --------
    >>> Alarm("rounds", None, 7, 0, "more is missed than is owed").query is None
    True
    """

    id: str
    query: str | None
    epoch: int
    at: int
    text: str


@dataclass(slots=True)
class Entry:
    """What is known of one version of a query.

    `number` is its place among all that were ever drawn, `contract` the share of
    misses that its contract allows, `here` what the round in work found. `id` names it, also
    where a query was dropped and another took its name, in the epoch `born`.
    """

    name: str
    version: int
    number: int
    luck: str
    family: str
    contract: float = 0.0
    comparisons: int = 0
    misses: int = 0
    sure_misses: int = 0
    worst: float = 0.0
    last: int = 0
    renewed: Renewed = field(default_factory=lambda: Renewed(0.0))
    life: ForLife = field(default_factory=lambda: ForLife(0.0))
    here: Renewed = field(default_factory=lambda: Renewed(0.0))
    id: str = ""
    born: int = 0

    def take(self, found: Found) -> None:
        """Take in what the comparisons of an epoch gave."""
        self.comparisons += found.comparisons
        self.misses += found.misses
        self.sure_misses += found.sure_misses
        self.worst = max(self.worst, found.worst)
        self.last = max(self.last, found.last)
        for unit in found.units:
            for kept in (self.renewed, self.life, self.here):
                kept.owed = max(kept.owed, unit.owed)
            self.renewed.take(unit.missed, unit.weight)
            self.here.take(unit.missed, unit.weight)
            self.life.take(unit.missed)

    @property
    def owed(self) -> float:
        """Share of misses that is allowed."""
        return self.renewed.owed

    @property
    def log10(self) -> float:
        """Logarithm of the evidence against the query by itself."""
        if self.sure_misses:
            return math.inf
        if self.luck == LIFE:
            found = self.life.evidence
            return math.log10(found) if found > 0.0 else (-math.inf if self.life.units else 0.0)
        return self.renewed.log10 if self.owed > 0.0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """JSON form; written after each epoch, of all that were ever drawn."""
        parts = {name: shallow(getattr(self, name)) for name in ("renewed", "life", "here")}
        return {**shallow(self), **parts}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Entry:
        """Read the JSON form."""
        kept = {name: Renewed(**data[name]) for name in ("renewed", "here")}
        return cls(**{**data, **kept, "life": ForLife(**data["life"])})


@dataclass(slots=True)
class Ledger:
    """All entries, the evidence of rounds together, and alarms in the order they came.

    Examples
    --------
    >>> from streamgauge.audit.compare import Unit
    >>> ledger = Ledger(false_alarm=1e-4)
    >>> heat = ledger.entry("heat", 1, "renewed", "plant")
    >>> for _ in range(40):
    ...     heat.take(Found(units=[Unit(0.9, 0.1)]))
    >>> [alarm.query for alarm in ledger.alarming(epoch=3, at=0)]
    ['heat']
    >>> ledger.alarming(epoch=4, at=0)
    []
    """

    false_alarm: float
    entries: dict[str, Entry] = field(default_factory=dict)
    rounds: int = 0
    since: list[list[float]] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)

    def entry(
        self,
        name: str,
        version: int,
        luck: str,
        family: str,
        contract: float = 0.0,
        born: int = 0,
    ) -> Entry:
        """The entry of a version of a query that is drawn, made when it is for the first time."""
        key = f"{name} {version}"
        if key in self.entries and self.entries[key].born != born:
            key = f"{name} {version} {born}"
        if key not in self.entries:
            number = len(self.entries) + 1
            made = Entry(name, version, number, luck, family, contract, id=key, born=born)
            self.entries[key] = made
        self.entries[key].renewed.begin()
        return self.entries[key]

    @property
    def rounds_log10(self) -> float:
        """Logarithm of the evidence of all rounds, gathered from several beginnings."""
        return log10_of_beginnings(self.since)

    @property
    def families_log10(self) -> float:
        """Logarithm of the evidence of all whose luck lasts for life."""
        families: dict[str, list[float]] = {}
        for entry in self.entries.values():
            if entry.luck == LIFE and entry.owed > 0.0:
                families.setdefault(entry.family, []).append(entry.life.evidence)
        return log10_of_families(families)

    def end_round(self) -> None:
        """Multiply what the queries of a round say in the mean to what those before said."""
        gains = [
            log10_evidence(entry.here.weight, entry.here.missed, entry.here.owed)
            for entry in self.entries.values()
            if entry.luck != LIFE and entry.here.weight > 0.0 and entry.here.owed > 0.0
        ]
        self.rounds += 1
        self.since.append([float(self.rounds), 0.0])
        del self.since[1:-BEGINNINGS]
        for sums in self.since:
            sums[1] = max(LEAST, sums[1] + log10_mean(gains))
        for entry in self.entries.values():
            entry.here = Renewed(0.0)

    def threshold(self, entry: Entry) -> float:
        """Logarithm of the evidence at which a query alarms."""
        return -math.log10(chance_of(entry.number, BY_QUERY * self.false_alarm))

    def alarming(
        self, *, epoch: int, at: int, entries: Iterable[Entry] | None = None
    ) -> list[Alarm]:
        """Raise the alarms that are due; each comes once. `entries` are those that have changed."""
        known = {alarm.id for alarm in self.alarms}
        due = [
            Alarm(entry.id, entry.name, epoch, at, _words(entry))
            for entry in (self.entries.values() if entries is None else entries)
            if entry.id not in known and entry.log10 >= self.threshold(entry)
        ]
        together = {
            "rounds": (self.rounds_log10, BY_ROUNDS, "queries together"),
            "families": (self.families_log10, BY_FAMILIES, "sketches together"),
        }
        for name, (log10, part, who) in together.items():
            if name not in known and log10 >= -math.log10(part * self.false_alarm):
                text = f"{who} miss more than they owe: evidence 1e{log10:.1f} to 1"
                due.append(Alarm(name, None, epoch, at, text))
        self.alarms += due
        return due

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "false_alarm": self.false_alarm,
            "entries": [entry.as_dict() for entry in self.entries.values()],
            "rounds": self.rounds,
            "since": self.since,
            "alarms": [asdict(alarm) for alarm in self.alarms],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Ledger:
        """Read the JSON form."""
        entries = [Entry.from_dict(item) for item in data["entries"]]
        return cls(
            data["false_alarm"],
            {entry.id: entry for entry in entries},
            data["rounds"],
            data["since"],
            [Alarm(**item) for item in data["alarms"]],
        )


def shallow(value: Any) -> dict[str, Any]:
    """The fields of a value of a few plain ones.

    >>> shallow(ForLife(0.05))
    {'owed': 0.05, 'units': 0, 'missed': 0.0}
    """
    return {name: getattr(value, name) for name in value.__slots__}


def _words(entry: Entry) -> str:
    if entry.sure_misses:
        return (
            f"{entry.sure_misses:,} of {entry.comparisons:,} bars that cannot fail missed the truth"
        )
    share = entry.renewed.missed / entry.renewed.weight
    return (
        f"{100 * share:.3g}% missed where {100 * entry.owed:.3g}% is allowed: "
        f"evidence 1e{entry.log10:.1f} to 1"
    )
