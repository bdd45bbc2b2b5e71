"""Watching: what it would cost to watch the cells of deferred queries, on all shards together.

It follows from the registry, the tables and the rows of the stream, which every shard knows alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from streamgauge.drift.regime import WATCHED, WATCHED_MEMBER
from streamgauge.engine.members import Kin
from streamgauge.plan.assignment import Change
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Standing


@dataclass(slots=True)
class Watching:
    """Cells that would be watched, and their members.

    `cells` and `members` are of queries that name their series; `whole` queries are over all
    series, and `by` has how many queries group them by some columns.
    """

    cells: int = 0
    members: int = 0
    whole: int = 0
    by: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, query: Query, kin: Kin | None, times: int = 1) -> None:
        """Count a query, or take it out again; `kin` has the size of its table."""
        if query.group_by:
            self.by[query.group_by] = self.by.get(query.group_by, 0) + times
        elif kin is not None and query.members is not None:
            self.cells += times * kin.everywhere[0]
            self.members += times * kin.everywhere[1]
        elif query.series is None:
            self.whole += times
        else:
            self.cells += times
            self.members += times * len(query.series)

    def price(self, n_series: int, n_groups: Mapping[tuple[str, ...], int]) -> float:
        """What a tick costs, with so many series, and so many groups of them by some columns."""
        cells = self.cells + self.whole + sum(n * n_groups[by] for by, n in self.by.items())
        members = self.members + (self.whole + sum(self.by.values())) * n_series
        return WATCHED * cells + WATCHED_MEMBER * members


def watching(
    queries: Sequence[Standing], kin: Mapping[tuple[int, int], Kin]
) -> tuple[Watching, Watching]:
    """The cells that are watched whatever it costs, and those that are where it costs little."""
    always, open_to_choice = Watching(), Watching()
    for standing in queries:
        query = standing.query
        if query.regime != "timer":
            part = always if _always(query) else open_to_choice
            part.add(query, kin.get((standing.id, standing.version)))
    return always, open_to_choice


def changed(known: tuple[Watching, Watching], change: Change) -> tuple[Watching, Watching]:
    """The same after queries that name their series have come and left."""
    found = replace(known[0]), replace(known[1])
    for queries, times in ((change.added, 1), (change.dropped, -1)):
        for standing in queries:
            if standing.query.regime != "timer":
                found[not _always(standing.query)].add(standing.query, None, times)
    return found


def _always(query: Query) -> bool:
    sure = query.contract.tolerance == "exact" or query.contract.confidence >= 1.0
    return sure or query.regime == "watch" or query.over is not None
