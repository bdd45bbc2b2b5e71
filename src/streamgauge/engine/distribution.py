"""Distribution: which shard works on which rows of a stream.

Tables of groups need only the rows of the groups that a shard owns: their rows are hashed by the
columns they group by. Everything else reads all rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.kernel.columns import Interner
from streamgauge.kernel.hashing import stable_hash
from streamgauge.plan.registry import Standing
from streamgauge.plan.sharing import StreamPlan
from streamgauge.plan.technique import Key

Shards = npt.NDArray[np.int32]
# The input of a stream that brings all its rows.
REPLICATED = ""
# Hashes of groups are remembered by worker processes, so many for each set of columns.
MOST_REMEMBERED = 1 << 20
_HASHES: dict[str, dict[tuple[object, ...], int]] = {}


def input_name(columns: Sequence[str]) -> str:
    """The name of the input that brings rows hashed by some columns."""
    return json.dumps(list(columns)) if columns else REPLICATED


def columns_of(name: str) -> tuple[str, ...]:
    """The columns that an input is hashed by."""
    return tuple(json.loads(name)) if name else ()


def inputs_of(plan: StreamPlan) -> dict[str, StreamPlan]:
    """The plan of a stream, cut into the inputs that bring its rows to their operators.

    The one that brings all rows is always there, without work if nothing needs it.
    """
    parts: dict[str, dict[Key, list[Standing]]] = {REPLICATED: {}}
    for key, queries in plan.operators.items():
        parts.setdefault(input_name(key.hashed_by), {})[key] = queries
    return {name: replace(plan, operators=found) for name, found in parts.items()}


def group_hash(values: Sequence[object]) -> int:
    """The hash that says who owns a group.

    >>> group_hash([0.0]) == group_hash([-0.0]), group_hash([1]) == group_hash([True])
    (True, False)
    """
    # Both zeros are one group.
    plain = [value + 0.0 if isinstance(value, float) else value for value in values]
    return stable_hash(json.dumps(plain, default=str))


def owners(columns: Sequence[pa.Array | pa.ChunkedArray], shards: int) -> Shards:
    """The shard that owns each row, given the columns that it is hashed by."""
    codes, words = zip(*map(_coded, columns), strict=True)
    flat = codes[0].astype(np.int64)
    for more, names in zip(codes[1:], words[1:], strict=True):
        flat = flat * len(names) + more
    distinct, places = _distinct(flat, [len(names) for names in words])
    # True and 1 are equal keys of a dictionary and different groups.
    known = _remembered(" ".join(str(column.type) for column in columns))
    groups = _groups(distinct, words)
    hashes = [known.get(group, -1) for group in groups]
    for place, hashed in enumerate(hashes):
        if hashed < 0:
            hashes[place] = known[groups[place]] = group_hash(groups[place])
    owned: Shards = (np.array(hashes, np.uint64) % np.uint64(shards)).astype(np.int32)[places]
    return owned


def _groups(
    distinct: npt.NDArray[np.int64], words: Sequence[Sequence[object]]
) -> list[tuple[object, ...]]:
    """The values that numbers of groups stand for."""
    columns = []
    for names in reversed(words):
        distinct, codes = np.divmod(distinct, len(names))
        columns.append([names[code] for code in codes.tolist()])
    return list(zip(*reversed(columns), strict=True))


def _coded(column: pa.Array | pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], list[object]]:
    """Codes of a column and what they stand for; the last stands for null."""
    interner = Interner()
    codes = interner.encode(column)
    codes[codes < 0] = len(interner)
    return codes, [*interner.values, None]


def _distinct(
    flat: npt.NDArray[np.int64], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    if len(sizes) == 1:
        return np.arange(sizes[0], dtype=np.int64), flat
    distinct, places = np.unique(flat, return_inverse=True)
    return distinct, places


def _remembered(types: str) -> dict[tuple[object, ...], int]:
    known = _HASHES.setdefault(types, {})
    if len(known) > MOST_REMEMBERED:
        known.clear()
    return known
