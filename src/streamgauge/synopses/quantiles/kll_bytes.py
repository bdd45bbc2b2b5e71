"""KLL sketches in the bytes of Apache DataSketches, as its C++, Java and Spark write them.

Layout, little endian: preamble words, version, family 15, flags, k (2 bytes), 8, 0; then, unless
empty or of one item, n (8), smallest k merged (2), levels (1), 0; where each level starts in a full
buffer (4 each), the smallest and largest item, the items of level 0 and up.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import StateTooOld
from streamgauge.synopses.quantiles.kll_levels import LEVELS, SMALLEST, capacities

_START = struct.Struct("<BBBBHBB")
_REST = struct.Struct("<QHBB")
_FAMILY = 15
_EMPTY, _SINGLE = 1, 4


class Foreign(NamedTuple):
    """What the bytes of another implementation say."""

    k: int
    k_min: int
    n: int
    items: npt.NDArray[np.float64]
    above: npt.NDArray[np.int32]
    low: float
    high: float


def write(k: int, n: int, parts: dict[str, Any], low: float, high: float) -> bytes:
    """Bytes of a sketch of doubles."""
    if n == 0:
        return _START.pack(2, 1, _FAMILY, _EMPTY, k, SMALLEST, 0)
    if n == 1:
        return _START.pack(2, 2, _FAMILY, _SINGLE, k, SMALLEST, 0) + struct.pack("<d", low)
    above = parts["above"]
    capacity = int(capacities(k)[1][len(above)])
    return b"".join(
        (
            _START.pack(5, 1, _FAMILY, 0, k, SMALLEST, 0),
            _REST.pack(n, k, len(above), 0),
            (capacity - above).astype("<u4").tobytes(),
            struct.pack("<dd", low, high),
            parts["items"].astype("<f8").tobytes(),
        )
    )


def read(data: bytes) -> Foreign:
    """Read a sketch of doubles or of floats; which of them, its length says."""
    if len(data) < _START.size:
        raise _refused(f"{len(data)} bytes")
    _, version, family, flags, k, smallest, _ = _START.unpack_from(data)
    if family != _FAMILY or version not in (1, 2) or smallest != SMALLEST or k < SMALLEST:
        raise _refused(f"family {family}, version {version}, k {k}, smallest level {smallest}")
    if flags & _EMPTY:
        return Foreign(k, k, 0, np.empty(0), np.zeros(1, np.int32), np.inf, -np.inf)
    if flags & _SINGLE:
        item = _floats(data[_START.size :], 1)
        return Foreign(k, k, 1, item, np.ones(1, np.int32), float(item[0]), float(item[0]))
    if len(data) < _START.size + _REST.size:
        raise _refused(f"{len(data)} bytes")
    n, k_min, height, _ = _REST.unpack_from(data, _START.size)
    at = _START.size + _REST.size
    if not (1 <= height <= LEVELS and SMALLEST <= k_min <= k and len(data) >= at + 4 * height):
        raise _refused(f"{height} levels, smallest k {k_min}, {len(data)} bytes")
    starts = np.frombuffer(data, "<u4", height, at).astype(np.int64)
    above = int(capacities(k)[1][height]) - starts
    sizes = -np.diff(np.append(above, 0))
    fits = (sizes >= 0).all() and above[0] <= capacities(k)[1][height]
    if not fits or int(sizes @ 2 ** np.arange(height)) != n:
        raise _refused(f"levels of {sizes.tolist()} items do not hold {n} rows")
    found = _floats(data[at + 4 * height :], int(above[0]) + 2)
    items = found[2:]
    # Level 0 may lie in any order, the others are sorted.
    for top, bottom in pairwise(np.append(above[1:], 0)):
        if (np.diff(items[len(items) - top : len(items) - bottom]) < 0).any():
            raise _refused("a level is not sorted")
    return Foreign(k, k_min, n, items, above.astype(np.int32), float(found[0]), float(found[1]))


def _floats(data: bytes, count: int) -> npt.NDArray[np.float64]:
    for code, width in (("<f8", 8), ("<f4", 4)):
        if len(data) == count * width:
            found = np.frombuffer(data, code).astype(np.float64)
            if not np.isnan(found).any():
                return found
    raise _refused(f"{len(data)} bytes for {count} items")


def _refused(detail: str) -> StateTooOld:
    return StateTooOld(
        "not a KLL sketch of numbers by Apache DataSketches",
        detail,
        "give the bytes of kll_doubles_sketch or of Spark's kll_sketch_agg_double",
    )
