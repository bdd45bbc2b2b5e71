"""Workload: what is to be carried, as numbers alone: rows, series, standing queries by kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from streamgauge.kernel.errors import BindError

# What is answered, and how: each kind has costs of its own.
KINDS = {
    "latest": "exact, over the latest values of some series, at every tick",
    "deferred": "over latest values, within an error, when a timer says so",
    "watched": "over latest values, within an error, compared at every tick",
    "window": "exact aggregates of a sliding window by group",
    "summary": "a percentile of a sliding window by group, from a synopsis",
    "selection": "rows that pass a condition",
}
KEYED = ("latest", "deferred", "watched")
PANED = ("window", "summary")
# Sources whose rows the lander parses and writes, and those that it takes in place.
PARSED = ("kafka", "mqtt", "lines", "push")
IN_PLACE = ("files",)
SOURCES = (*IN_PLACE, *PARSED)
# Share of checks that are answers, where nothing is said: as in the workloads of `bench`.
ANSWERED = {"latest": 0.01, "deferred": 0.003, "watched": 0.003}
SELECTED = 0.01


@dataclass(frozen=True, slots=True)
class Asked:
    """Standing queries of one kind.

    Parameters
    ----------
    kind
        One of `KINDS`.
    queries
        How many. A family of cells, one for each key of a table, counts as its cells.
    members
        Series that each query over latest values reads.
    groups
        Groups of each query over a window.
    window, slide
        Length of the window and what it moves by, in seconds.
    pieces
        Different filters among queries over windows; those with the same share their panes.
    answers
        Answers a second of all of them together; None: what is usual for the kind.

    Examples
    --------
    >>> Asked("window", 1000, groups=10, window=300.0, slide=60.0).panes
    5
    >>> Asked("windows", 1)
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: unknown kind of query 'windows'
      detail: kinds are latest, deferred, watched, window, summary, selection
      hint: name one of them
    """

    kind: str
    queries: int
    members: int = 9
    groups: int = 1
    window: float = 300.0
    slide: float = 60.0
    pieces: int = 1
    answers: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BindError(
                f"unknown kind of query {self.kind!r}",
                f"kinds are {', '.join(KINDS)}",
                "name one of them",
            )
        for name in ("queries", "members", "groups", "window", "slide", "pieces"):
            _positive(name, getattr(self, name))
        if self.answers is not None and not 0.0 <= self.answers < math.inf:
            raise BindError(
                "answers a second must be 0 or more", f"got {self.answers}", "leave it out"
            )

    @property
    def panes(self) -> int:
        """Panes of a window."""
        return max(1, round(self.window / self.slide))

    def given(self, rows: float, tick: float) -> float:
        """Answers a second."""
        if self.answers is not None:
            return self.answers
        if self.kind in PANED:
            return self.queries * self.groups / self.slide
        if self.kind == "selection":
            return rows * self.queries * SELECTED
        return self.queries * ANSWERED[self.kind] / tick


@dataclass(frozen=True, slots=True)
class Workload:
    """Rows and what is asked of them.

    Parameters
    ----------
    rows
        Rows a second, of all streams.
    series
        Different keys: sensors, symbols, hosts.
    asked
        Standing queries by kind.
    tick
        Seconds between two checks of event time.
    source
        files (Parquet, used in place), or one whose rows the lander parses: kafka, mqtt, push,
        lines.
    files
        Files or other arrivals a second; 0: one for each epoch.

    Examples
    --------
    >>> load = Workload(1000.0, 100, (Asked("latest", 10),))
    >>> load.words, load.times(rows=2.0).rows, Workload.from_dict(load.as_dict()) == load
    (1, 2000.0, True)
    """

    rows: float
    series: int
    asked: tuple[Asked, ...]
    tick: float = 1.0
    source: str = "files"
    files: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rows", "series", "tick"):
            _positive(name, getattr(self, name))
        if self.source not in SOURCES:
            raise BindError(
                f"unknown source {self.source!r}",
                f"sources are {', '.join(SOURCES)}",
                "name the one that rows come from",
            )

    @property
    def keyed(self) -> bool:
        """Whether some query tells series apart."""
        return any(one.kind in KEYED for one in self.asked)

    @property
    def words(self) -> int:
        """Columns of names that are read: the key, and that of the groups."""
        return int(self.keyed) + int(any(one.kind in PANED for one in self.asked))

    @property
    def queries(self) -> int:
        """All standing queries."""
        return sum(one.queries for one in self.asked)

    @property
    def answers(self) -> float:
        """Answers a second."""
        return sum(one.given(self.rows, self.tick) for one in self.asked)

    def of(self, *kinds: str) -> tuple[Asked, ...]:
        """What is asked of some kinds."""
        return tuple(one for one in self.asked if one.kind in kinds)

    def times(self, *, rows: float = 1.0, queries: float = 1.0, series: float = 1.0) -> Workload:
        """The same with so many times the rows, queries or series."""
        asked = tuple(
            replace(
                one,
                queries=max(1, round(one.queries * queries)),
                answers=None if one.answers is None else one.answers * queries,
            )
            for one in self.asked
        )
        many = max(1, round(self.series * series))
        return replace(self, rows=self.rows * rows, series=many, asked=asked)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {**asdict(self), "asked": [asdict(one) for one in self.asked]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Workload:
        """Read the JSON form."""
        known = {one.name for one in fields(cls)}
        asked = tuple(Asked(**one) for one in data["asked"])
        return cls(**{**{k: v for k, v in data.items() if k in known}, "asked": asked})


def _positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise BindError(
            f"{name} of a workload must be more than 0", f"got {value}", "give a positive number"
        )
