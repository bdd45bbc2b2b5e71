"""Widening: the ends of stored answers and what each cause adds to them, as few columns as do.

The metadata name the causes of a block. Where there is one cause and its sides are the distances
of the ends from the value, only the ends are written. Else the sides of each cause are written, and
the ends only if they do not follow from the sides to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.contracts.bars import Sides, compose, sides_of
from streamgauge.contracts.schema import CHARGE
from streamgauge.kernel.jit import compiled

TAG = "widened by"
# Names of columns, in the order of the sides of a block.
CAUSES = ("own", "late", "silent")
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Stored = dict[str, pa.Array]


class Widened(NamedTuple):
    """Values and ends of answers as they are read, and the sides of each cause that is there."""

    value: pa.ChunkedArray
    low: pa.ChunkedArray
    high: pa.ChunkedArray
    causes: dict[str, tuple[Floats, Floats]]


def stored(value: Floats, low: Floats, high: Floats, sides: Floats) -> tuple[Stored, str]:
    """Columns to write, and the names of the causes that they are about."""
    there, follow = _survey(value, low, high, sides)
    told = np.flatnonzero(there).tolist()
    if not told:
        return {}, ""
    ends = {"low": pa.array(low, from_pandas=True), "high": pa.array(high, from_pandas=True)}
    names = ",".join(CAUSES[n] for n in told)
    if len(told) == 1 and follow:
        return ends, names
    columns = {CAUSES[n]: tuple(sides[:, 2 * n : 2 * n + 2].T.copy()) for n in told}
    found = compose(value, _sides(columns))
    if _same(found.low, low) and _same(found.high, high):
        ends = {}
    for name, pair in columns.items():
        ends[f"{name}_below"], ends[f"{name}_above"] = map(pa.array, pair)
    return ends, names


@compiled
def _survey(value, low, high, sides):  # type: ignore[no-untyped-def]
    """Which causes widen some answer, and whether one cause alone follows from the ends."""
    there, follow = np.zeros(3, np.bool_), True
    for i in range(len(value)):
        below = above = 0.0
        for n in range(3):
            if sides[i, 2 * n] != 0.0 or sides[i, 2 * n + 1] != 0.0:
                there[n] = True
                below, above = sides[i, 2 * n], sides[i, 2 * n + 1]
        if np.isnan(value[i]):
            follow = follow and below == 0.0 and above == 0.0
        else:
            follow = follow and below == value[i] - low[i] and above == high[i] - value[i]
    return there, follow


def read(table: pa.Table) -> Widened:
    """Values, ends and sides of stored answers."""
    value, names, causes = table["value"], table.column_names, {}
    told = [name for name in table.schema.metadata[TAG.encode()].decode().split(",") if name]
    if not told:
        return Widened(value, value, value, {})
    plain = value.to_numpy()
    for name in told:
        if f"{name}_below" in names:
            pair = table[f"{name}_below"].to_numpy(), table[f"{name}_above"].to_numpy()
        else:
            pair = sides_of(plain, table["low"].to_numpy(), table["high"].to_numpy())
        causes[name] = pair
    if "low" in names:
        return Widened(value, table["low"], table["high"], causes)
    found = compose(plain, _sides(causes))
    low, high = (pa.chunked_array([pa.array(e, from_pandas=True)]) for e in found[:2])
    return Widened(value, low, high, causes)


def _sides(causes: dict[str, tuple[Floats, Floats]]) -> list[Sides]:
    return [Sides(name, *pair) for name, pair in causes.items()]


def _same(one: Floats, other: Floats) -> bool:
    return bool(np.array_equal(one, other, equal_nan=True))


class Charged(NamedTuple):
    """One cause over all answers, with a code into the names of causes for each."""

    name: Ints | int
    below: Floats
    above: Floats
    delta: Floats


def charges(causes: list[Charged], names: pa.Array, n: int) -> pa.ListArray:
    """Causes of each of some answers as lists; what adds nothing and cannot fail is left out."""
    masks = [(c.below > 0.0) | (c.above > 0.0) | (c.delta > 0.0) for c in causes]
    offsets = np.zeros(n + 1, np.int32)
    before = np.zeros(n, np.int32)
    places = []
    for mask in masks:
        places.append(before.copy())
        before += mask
    np.cumsum(before, out=offsets[1:])
    code = np.zeros(offsets[-1], np.int32)
    below, above, delta = np.zeros((3, len(code)))
    for cause, mask, place in zip(causes, masks, places, strict=True):
        at = (offsets[:-1] + place)[mask]
        code[at] = cause.name if isinstance(cause.name, int) else cause.name[mask]
        below[at], above[at], delta[at] = cause.below[mask], cause.above[mask], cause.delta[mask]
    by = pa.DictionaryArray.from_arrays(code, names).cast(pa.string())
    parts = [by, *map(pa.array, (below + above, delta, below, above))]
    found = pa.StructArray.from_arrays(parts, fields=list(CHARGE))
    return pa.ListArray.from_arrays(pa.array(offsets), found)
