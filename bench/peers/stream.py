"""The rows for peers without a file source: tick by tick, with the change of each value."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bench.data import Card, parts, ticks_of


@dataclass(frozen=True, slots=True)
class TickRows:
    """Rows of one tick: places of the series, values, and how far each value moved."""

    sid: list[int]
    value: list[float]
    delta: list[float]


def by_tick(card: Card, rows: int) -> list[TickRows]:
    """The first rows, in memory, cut at the ticks."""
    found = list(parts(card, "slices"))
    tick = np.concatenate([ticks_of(part.ts, card.tick) for part in found])[:rows]
    sid = np.concatenate([part.sid for part in found])[:rows]
    value = np.concatenate([part.value for part in found])[:rows]
    delta = _moves(sid, value, len(card.series))
    edges = [0, *(np.flatnonzero(np.diff(tick)) + 1).tolist(), len(tick)]
    return [
        TickRows(sid[a:b].tolist(), value[a:b].tolist(), delta[a:b].tolist())
        for a, b in pairwise(edges)
    ]


def _moves(
    sid: np.ndarray[tuple[int], np.dtype[np.int32]],
    value: np.ndarray[tuple[int], np.dtype[np.float64]],
    n_series: int,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Change of each value since the last of its series; the first is the value itself."""
    order = np.argsort(sid, kind="stable")
    sorted_sid, sorted_value = sid[order], value[order]
    moves = np.diff(sorted_value, prepend=0.0)
    first = np.diff(sorted_sid, prepend=-1) != 0
    moves[first] = sorted_value[first]
    assert int(sorted_sid.max(initial=0)) < n_series, "a series that the card does not know"
    out = np.empty(len(value))
    out[order] = moves
    return out


def readers(card: Card, queries: int) -> list[list[int]]:
    """For each series the queries that read it."""
    found: list[list[int]] = [[] for _ in card.series]
    for number, row in enumerate(card.members()[:queries].tolist()):
        for place in row:
            found[place].append(number)
    return found
