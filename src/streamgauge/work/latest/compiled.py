"""Queries over latest values as columns, with their members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from streamgauge.engine.pieces import Bench
from streamgauge.kernel.moves import Moves
from streamgauge.operators.emission import Asked, Floats
from streamgauge.operators.portfolio import Members
from streamgauge.plan.registry import Standing

# All queries list their members.
LISTED = -1


class Compiled(NamedTuple):
    """Queries and their members; some have all of so many series as members, or none has."""

    asked: Asked
    members: Members
    series: int

    def moved(self, moves: Moves, fresh: Compiled) -> Compiled:
        """The same after some have left and others come."""
        old, new = self.members, fresh.members
        pointer, member = moves.parts(old.pointer, old.member, np.diff(new.pointer), new.member)
        weighted = moves.column(old.weighted, new.weighted)
        weight = np.ones(1)
        if weighted.any():
            sizes = np.diff(new.pointer)
            _, weight = moves.parts(old.pointer, _weights(old), sizes, _weights(new))
        listed = moves.column(old.listed, new.listed)
        members = Members(pointer, member, weight, weighted, listed)
        # Members that are of fewer series than there are now are found again before they are used.
        series = fresh.series if self.series == LISTED else self.series
        return Compiled(moves.columns(self.asked, fresh.asked), members, series)


def compiled(bench: Bench, queries: Sequence[Standing]) -> Compiled:
    """Queries as columns; their series have names."""
    number = bench.series.names.index
    # By name: the numbers differ between shards, the order of summing must not.
    whole = any(s.query.series is None for s in queries)
    everyone = [number[name] for name in sorted(number)] if whole else []
    members = [
        everyone if s.query.series is None else [number[name] for name in s.query.series]
        for s in queries
    ]
    weights = [s.query.weights or (1.0,) * len(m) for s, m in zip(queries, members, strict=True)]
    weighted = np.array([s.query.weights is not None for s in queries], np.uint8)
    sizes = np.array([len(m) for m in members], np.int64)
    listed = np.array([s.query.series is not None for s in queries], np.bool_)
    found = Members(
        pointer=np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
        member=np.array([sid for m in members for sid in m], np.int32),
        weight=np.array([w for ws in weights for w in ws] if weighted.any() else [1.0]),
        weighted=weighted,
        listed=np.where(listed, sizes, 0).astype(np.float64),
    )
    return Compiled(bench.asked(queries), found, len(number) if whole else LISTED)


def _weights(members: Members) -> Floats:
    return members.weight if members.weighted.any() else np.ones(len(members.member))
