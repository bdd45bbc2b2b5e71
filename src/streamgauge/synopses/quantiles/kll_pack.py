"""KLL sketches of many groups packed into few arrays, the same for the same sketches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.quantiles.kll_levels import (
    COMPACTIONS,
    END,
    HEIGHT,
    ROOM,
    SMALLEST,
    Compactors,
    fresh,
)

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


def packed(state: Compactors) -> dict[str, Array]:
    """Arrays of all groups; where pieces lay in the arena is not part of it."""
    used = state.heads[:, END] - 1 - state.spots[:, 0]
    items = np.empty(int(used.sum()))
    _gather(state.items, state.heads[:, END].copy(), used, items)
    height = int(state.heads[:, HEIGHT].max(initial=1))
    above = state.above[:, :height].copy()
    above[:, 0] = used
    for level in range(1, height):
        above[state.heads[:, HEIGHT] <= level, level] = 0
    heads = np.ascontiguousarray(state.heads[:, HEIGHT:])
    return {"items": items, "above": above, "heads": heads, "reals": state.reals}


def unpacked(k: int, seed: int, arrays: dict[str, Array]) -> Compactors:
    """State of the groups that were packed."""
    heads, above = arrays["heads"], arrays["above"]
    state = fresh(k, len(heads), seed)
    used = above[:, 0].astype(np.int64)
    heights = heads[:, 0]
    rooms = np.where(heights > 1, state.totals[heights], np.maximum(SMALLEST, used))
    rooms[used == 0] = 0
    ends = np.cumsum(rooms)
    items = np.empty(int(ends[-1]) if len(ends) else 0)
    _scatter(arrays["items"], ends, used, items)
    there = used > 0
    state.heads[:, HEIGHT:] = heads
    state.heads[there, END], state.heads[there, ROOM] = ends[there], rooms[there]
    state.spots[there, 0] = (ends - used - 1)[there]
    state.spots[there, 1] = (ends - rooms)[there]
    state.above[:, : above.shape[1]] = above
    state.reals[:] = arrays["reals"]
    state.taken[0] = len(items)
    return state._replace(items=items)


def moved(arrays: dict[str, Array], places: Ints, n_groups: int) -> dict[str, Array]:
    """Packed groups in another order, with empty ones between."""
    order = np.argsort(places, kind="stable")
    used = arrays["above"][:, 0].astype(np.int64)
    stops = np.cumsum(used)
    items = np.empty(len(arrays["items"]))
    _reorder(arrays["items"], stops - used, used, order, items)
    above = np.zeros((n_groups, arrays["above"].shape[1]), np.int32)
    heads = np.zeros((n_groups, arrays["heads"].shape[1]), np.int64)
    heads[:, 0] = 1
    reals = np.tile(np.array([np.inf, -np.inf, 0.0]), (n_groups, 1))
    above[places], heads[places] = arrays["above"], arrays["heads"]
    reals[places] = arrays["reals"]
    return {"items": items, "above": above, "heads": heads, "reals": reals}


def chosen(arrays: dict[str, Array], groups: Ints) -> dict[str, Array]:
    """Some packed groups, in the order asked for."""
    used = arrays["above"][:, 0].astype(np.int64)
    lengths = used[groups]
    before = np.cumsum(lengths) - lengths
    starts = (np.cumsum(used) - used)[groups]
    places = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
    rest = {name: arrays[name][groups] for name in ("above", "heads", "reals")}
    return {"items": arrays["items"][places], **rest}


def beside(one: dict[str, Array], other: dict[str, Array]) -> dict[str, Array]:
    """Packed groups, then others."""
    height = max(one["above"].shape[1], other["above"].shape[1])
    levels = [
        np.pad(part["above"], ((0, 0), (0, height - part["above"].shape[1])))
        for part in (one, other)
    ]
    rest = {name: np.concatenate((one[name], other[name])) for name in ("items", "heads", "reals")}
    return {"above": np.concatenate(levels), **rest}


assert COMPACTIONS == HEIGHT + 1, "the packed heads are the last columns"


@compiled
def _gather(arena, ends, used, items):  # type: ignore[no-untyped-def]
    at = 0
    for group in range(len(ends)):
        for i in range(used[group]):
            items[at] = arena[ends[group] - used[group] + i]
            at += 1


@compiled
def _scatter(items, ends, used, arena):  # type: ignore[no-untyped-def]
    at = 0
    for group in range(len(ends)):
        for i in range(used[group]):
            arena[ends[group] - used[group] + i] = items[at]
            at += 1


@compiled
def _reorder(items, starts, used, order, out):  # type: ignore[no-untyped-def]
    at = 0
    for place in range(len(order)):
        group = order[place]
        for i in range(used[group]):
            out[at] = items[starts[group] + i]
            at += 1
