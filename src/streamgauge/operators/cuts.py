"""Cuts: the constants a column is compared with, and the pieces they cut its values into.

With m constants in order there are 2m + 2 pieces, each with a code: 0 is NULL, the even codes from
2 on are the constants themselves, the odd codes are what lies between them. Whatever a factor asks,
its answer is the same for all values of a piece. So rows are turned into codes once, and a factor
is a few runs of codes, of numbers, text and instants alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled
from streamgauge.operators.factors import Constant, Factor

Runs: TypeAlias = tuple[tuple[int, int], ...]
Codes: TypeAlias = npt.NDArray[np.int32]

NULL = 0
_CELLS = 2**16


class Grid(NamedTuple):
    """Constants as a sorted array of the column's type, with an evenly spaced way into it.

    Among whole numbers 2.5 is rounded down, which keeps `>` right, and marked as not exact, which
    keeps `=` right.
    """

    keys: npt.NDArray[Any]
    exact: npt.NDArray[np.bool_]
    first: npt.NDArray[np.int64]
    least: float
    scale: float


@dataclass(frozen=True, slots=True)
class Cuts:
    """The constants of one column, all of which `fitted` let in.

    Parameters
    ----------
    column
        Name of the column.
    kind
        What the constants are: number, text, bool, time; empty when there are none.
    values
        The constants, ascending, each once.
    ordered
        Whether any factor asks for more than equality.
    points
        Codes of the constants that some factor asks to be equal to.
    places
        Number of each constant in `values`.
    whole, real
        The constants among whole numbers and among floats; None where they have no place.
    words
        The constants as a column of text; None when they are not text.

    Examples
    --------
    >>> price = Cuts.of("price", [Factor("price", ">", (10,), "number")])
    >>> price.codes(pa.chunked_array([[9.5, 10.0, 10.5, None]])).tolist()
    [1, 2, 3, 0]
    >>> price.runs(Factor("price", ">", (10,), "number"))
    ((3, 3),)
    """

    column: str
    kind: str
    values: tuple[Constant, ...]
    ordered: bool
    points: tuple[int, ...]
    places: dict[Constant, int]
    whole: Grid | None
    real: Grid | None
    words: pa.Array | None

    @classmethod
    def of(cls, column: str, factors: Iterable[Factor]) -> Cuts:
        """The constants of these factors, which are of one kind."""
        factors = list(factors)
        kind = next((factor.kind for factor in factors if factor.kind), "")
        distinct = {value for factor in factors for value in factor.values}
        values = tuple(sorted(distinct))
        ordered = any(factor.op in _ORDERED for factor in factors)
        places = {value: place for place, value in enumerate(values)}
        equal = {v for factor in factors if factor.op in _EQUAL for v in factor.values}
        points = tuple(sorted(2 * places[value] + 2 for value in equal))
        whole = real = None
        if kind in ("number", "bool", "time"):
            whole = _whole(values)
        if kind == "number":
            real = _grid(np.array(values, np.float64), np.ones(len(values), np.bool_))
        words = pa.array(values, pa.string()) if kind == "text" else None
        return cls(column, kind, values, ordered, points, places, whole, real, words)

    @property
    def top(self) -> int:
        """The largest code."""
        return 2 * len(self.values) + 1

    def runs(self, factor: Factor) -> Runs:
        """Codes for which a factor is true, as runs with both ends, ascending and apart."""
        op, top = factor.op, self.top
        if op == "never":
            return ()
        if op == "is null":
            return ((NULL, NULL),)
        if op == "is not null":
            return ((1, top),)
        at = [2 * self.places[value] + 2 for value in factor.values]
        if op == "between":
            return _kept(((at[0], at[1]),))
        if op in ("in", "in or null"):
            return tuple((code, code) for code in sorted(set(at)))
        if op == "not in":
            ends = [0, *sorted(set(at)), top + 1]
            return _kept((a + 1, b - 1) for a, b in pairwise(ends))
        code = at[0]
        return {
            "=": ((code, code),),
            "!=": ((1, code - 1), (code + 1, top)),
            "<": ((1, code - 1),),
            "<=": ((1, code),),
            ">": ((code + 1, top),),
            ">=": ((code, top),),
        }[op]

    def codes(self, column: pa.ChunkedArray) -> Codes:
        """The code of each cell."""
        if pa.types.is_null(column.type):
            return np.zeros(len(column), np.int32)
        self._check(column.type)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if not self.values:
            return np.asarray(_known(column), np.int32)
        if self.kind == "text":
            return self._words(column)
        real = pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
        grid = self.real if real or self.whole is None else self.whole
        assert grid is not None
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("us", "UTC"), safe=False)
        kind = pa.from_numpy_dtype(grid.keys.dtype)
        out, at = np.empty(len(column), np.int32), 0
        for chunk in (column if column.type == kind else column.cast(kind)).chunks:
            known = _ALL
            if chunk.null_count:
                known = np.asarray(chunk.is_valid().to_numpy(zero_copy_only=False))
                chunk = chunk.fill_null(0)
            _find(chunk.to_numpy(), known, *grid, out[at : at + len(chunk)])
            at += len(chunk)
        return out

    def _words(self, column: pa.ChunkedArray) -> Codes:
        constants = self.words
        assert constants is not None
        column = column.cast(pa.string())
        if not self.ordered:
            # Without an order all other words may share one code.
            place = pc.index_in(column, constants).combine_chunks()
            codes = 2 * place.fill_null(-1).to_numpy().astype(np.int32) + 2
            return np.where(_known(column), np.maximum(codes, 1), NULL).astype(np.int32)
        coded = column.combine_chunks().dictionary_encode()
        both = pa.concat_arrays([constants, coded.dictionary])
        ranks = pc.rank(both, tiebreaker="dense").to_numpy().astype(np.int64)
        keys, words = ranks[: len(constants)], ranks[len(constants) :]
        place = np.searchsorted(keys, words)
        equal = np.append(keys, -1)[place] == words
        codes = np.append(2 * place + 1 + equal, NULL).astype(np.int32)
        return np.asarray(codes[pc.fill_null(coded.indices, len(words)).to_numpy()])

    def _check(self, kind: pa.DataType) -> None:
        if self.kind and not any(check(kind) for check in _FITTING[self.kind]):
            raise BindError(
                f"column {self.column!r} does not fit what it is compared with",
                f"the column is {kind}, {self.values[0]!r} is a {self.kind}",
                "compare text with text, numbers with numbers and times with instants",
            )


def met(both: Iterable[Runs]) -> Runs:
    """Codes that are in all of these runs.

    >>> met([((1, 5), (7, 9)), ((4, 8),)])
    ((4, 5), (7, 8))
    """
    return reduce(_met, both)


def _met(one: Runs, two: Runs) -> Runs:
    if len(one) == len(two) == 1:
        (a, b), (c, d) = one[0], two[0]
        return _kept(((max(a, c), min(b, d)),))
    out, i, j = [], 0, 0
    while i < len(one) and j < len(two):
        (a, b), (c, d) = one[i], two[j]
        out.append((max(a, c), min(b, d)))
        if b < d:
            i += 1
        else:
            j += 1
    return _kept(out)


def _kept(runs: Iterable[tuple[int, int]]) -> Runs:
    return tuple((low, high) for low, high in runs if low <= high)


# Stands for a column without NULL.
_ALL = np.empty(0, np.bool_)
_EQUAL = ("=", "in", "in or null")
_ORDERED = ("<", "<=", ">", ">=", "between")
_FITTING: dict[str, tuple[Any, ...]] = {
    "number": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary),
    "bool": (pa.types.is_boolean,),
    "time": (pa.types.is_timestamp, pa.types.is_date),
}


def _known(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Cells that have a value; a float that is not finite has none."""
    if pa.types.is_floating(column.type):
        return np.asarray(pc.fill_null(pc.is_finite(column), False).to_numpy())
    return np.asarray(pc.is_valid(column).to_numpy())


def _whole(values: tuple[Constant, ...]) -> Grid | None:
    """Constants among whole numbers; None when they do not fit there."""
    floors = [math.floor(value) for value in values]  # type: ignore[arg-type]
    if floors[0] < -(2**63) or floors[-1] >= 2**63:
        return None
    exact = [floor == value for floor, value in zip(floors, values, strict=True)]
    return _grid(np.array(floors, np.int64), np.array(exact, np.bool_))


def _grid(keys: npt.NDArray[Any], exact: npt.NDArray[np.bool_]) -> Grid:
    """Cells of equal width over the constants, each with the place of its first one."""
    cells = max(1, min(_CELLS, 2 * len(keys)))
    least = float(keys[0]) if len(keys) else 0.0
    span = float(keys[-1]) - least if len(keys) else 0.0
    scale = cells / span if 0.0 < span < math.inf else 0.0
    scale = scale if scale < math.inf else 0.0
    first = np.zeros(cells + 1, np.int64)
    _fill_cells(keys, least, scale, first)
    return Grid(keys, exact, first, least, scale)


@compiled
def _cell(value: Any, least: float, scale: float, cells: int) -> int:
    """Cell of a value; never smaller for a larger value, however it is rounded."""
    place = (np.float64(value) - least) * scale
    if place >= cells:
        return cells - 1
    return int(place) if place > 0.0 else 0


@compiled
def _fill_cells(
    keys: npt.NDArray[Any], least: float, scale: float, first: npt.NDArray[np.int64]
) -> None:
    cells = len(first) - 1
    for key in keys:
        first[_cell(key, least, scale, cells) + 1] += 1
    for cell in range(cells):
        first[cell + 1] += first[cell]


@compiled
def _find(
    values: npt.NDArray[Any],
    known: npt.NDArray[np.bool_],
    keys: npt.NDArray[Any],
    exact: npt.NDArray[np.bool_],
    first: npt.NDArray[np.int64],
    least: float,
    scale: float,
    out: Codes,
) -> None:
    """Code of each value: how many constants lie below it, and whether the next one equals it."""
    cells = len(first) - 1
    for row in range(len(values)):
        value = values[row]
        # A float that is not finite is NULL; it is no 0 less itself.
        if (len(known) and not known[row]) or value - value != 0:
            out[row] = NULL
            continue
        cell = _cell(value, least, scale, cells)
        low, high = first[cell], first[cell + 1]
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < value:
                low = middle + 1
            else:
                high = middle
        code = 2 * low + 1
        if low < len(keys) and keys[low] == value and exact[low]:
            code += 1
        out[row] = code
