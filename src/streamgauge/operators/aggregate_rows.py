"""Aggregates of groups at each of their steps.

An aggregate adds up whole numbers, sums doubles exactly, or looks for the k-th value. What it
gives depends on the rows of the group alone. What it must know of rows that are no longer at hand
is a line of whole numbers and perhaps some values for each group (`held.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.exact_sum import (
    LIMBS,
    SPREAD,
    WIDE,
    running_products,
    running_spreads,
    running_sums,
)
from streamgauge.operators.codes import Codes, codes_of, concatenated, plain
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Function, Functions
from streamgauge.operators.own_functions import aggregate_own
from streamgauge.operators.running_ranks import lives, once, running_kth
from streamgauge.operators.steps import Steps
from streamgauge.streams.schema import TYPES

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_SAFE = 2**62
# Values that are handed to an aggregate of a user at a time.
_OWN_BATCH = 1_000_000
_LARGEST = 2**63 - 1
_SPREADS: dict[str, tuple[tuple[str, str], ...]] = {
    "var": (("x", "x"),),
    "stddev": (("x", "x"),),
    "covar": (("x", "y"),),
    "corr": (("x", "x"), ("x", "y"), ("y", "y")),
}
_CHOSEN = ("min", "max", "first", "last")
HOLDABLE = ("count", "sum", "avg", *_SPREADS, *_CHOSEN)


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate as asked: its name, arguments, and what is around or inside it.

    >>> inner = Expr("aggregate", (Expr("distinct", (Expr("column", value="x"),)),), "count")
    >>> call = Call.of(Expr("filter", (inner, Expr("column", value="open"))))
    >>> call.name, call.distinct, str(call.args[0]), str(call.where[0])
    ('count', True, 'x', 'open')
    """

    name: str
    args: tuple[Expr, ...]
    distinct: bool
    weight: Expr | None
    where: tuple[Expr, ...]

    @classmethod
    def of(cls, expr: Expr) -> Call:
        """Take an expression of op aggregate, call or filter apart."""
        where: list[Expr] = []
        while expr.op == "filter":
            where.append(expr.args[1])
            expr = expr.args[0]
        args = [arg for arg in expr.args if arg.op not in ("star", "weight")]
        weight = next((arg.args[0] for arg in expr.args if arg.op == "weight"), None)
        distinct = bool(args) and args[0].op == "distinct"
        if distinct:
            args[0] = args[0].args[0]
        return cls(str(expr.value).lower(), tuple(args), distinct, weight, tuple(where))

    @property
    def holdable(self) -> bool:
        """Whether a little state for each group is enough while rows only come."""
        return self.name in HOLDABLE and not self.distinct

    @property
    def n_values(self) -> int:
        """How many values it keeps for each group."""
        return {"min": 1, "max": 1, "first": 2, "last": 2}.get(self.name, 0)

    @property
    def width(self) -> int:
        """How many whole numbers it keeps for each group."""
        if self.name in _SPREADS:
            return SPREAD * len(_SPREADS[self.name])
        if self.name in ("sum", "avg"):
            return 3 + (LIMBS if self.weight is None else LIMBS + WIDE)
        return 1 if self.name == "count" else 0


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows that come and go, in steps of groups.

    `step` is the step of each change. The last changes may be `n_before` stand-ins for groups that
    were there before: they change nothing but carry the values that were kept.
    """

    rows: pa.Table
    at: Ints
    count: Ints
    steps: Steps
    step: Ints
    n_before: int
    functions: Functions

    def column(self, expr: Expr) -> pa.Array:
        """An expression over the rows; null for stand-ins."""
        column = plain(evaluate(expr, self.rows, self.functions))
        if not self.n_before:
            return column
        return pa.concat_arrays([column, pa.nulls(self.n_before, column.type)])

    def counted(self, where: tuple[Expr, ...], *columns: pa.Array) -> Ints:
        """Counts of the rows that meet the conditions and have a value in all columns."""
        count = self.count
        for mask in [*map(self.column, where), *(there(column) for column in columns)]:
            truths = mask if isinstance(mask, np.ndarray) else _truths(mask)
            count = np.where(truths, count, 0)
        return count


@dataclass(frozen=True, slots=True)
class Before:
    """What was kept of the groups: a line for each group, and values for each stand-in."""

    lines: Ints
    values: tuple[pa.Array, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """An aggregate at each step, and what is to be kept of each group after its last."""

    column: pa.Array
    lines: Ints
    values: tuple[pa.Array, ...] = ()


def aggregate(call: Call, changes: Changes, before: Before | None) -> Outcome:
    """Work out an aggregate at each step; without `before`, what is kept is of no use."""
    own = changes.functions.get(call.name)
    if own is not None and own.aggregate:
        return Outcome(_own(call, own, changes), _no_lines(changes))
    work = _WORK.get(call.name)
    if work is None:
        raise BindError(
            f"unknown aggregate {call.name!r}",
            f"aggregates are {', '.join(_WORK)}",
            "check the spelling, or create an aggregate of that name",
        )
    return work(call, changes, before)


def _no_lines(changes: Changes) -> Ints:
    return np.empty((len(changes.steps.firsts), 0), np.int64)


def there(column: pa.Array) -> Flags:
    """Which cells of a column are values."""
    valid: Flags = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    if pa.types.is_floating(column.type):
        valid &= np.isfinite(pc.fill_null(column, 0.0).to_numpy())
    return valid


def _truths(mask: pa.Array) -> Flags:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), np.bool_)


def floats(column: pa.Array) -> Floats:
    """Numbers as doubles; 0 for what is no value."""
    if pa.types.is_null(column.type):
        return np.zeros(len(column))
    numbers = pc.fill_null(column.cast(pa.float64(), safe=False), 0.0).to_numpy()
    finite: Floats = np.where(np.isfinite(numbers), numbers, 0.0)
    return finite


def _given(values: Floats, valid: Flags | None = None) -> pa.Array:
    """Doubles as a column, null for what is not finite."""
    fine = np.isfinite(values) if valid is None else np.isfinite(values) & valid
    return pa.array(values + 0.0, pa.float64(), mask=~fine)


def _amounts(call: Call, changes: Changes, *columns: pa.Array) -> Ints:
    """Counts of the rows an aggregate is of; under DISTINCT each value of a group once."""
    counts = changes.counted(call.where, *columns)
    if not call.distinct:
        return counts
    groups = Codes(changes.steps.thing[changes.step], len(changes.steps.firsts))
    return once(groups.then(codes_of(columns[0])), changes.at, counts)


def _running(changes: Changes, amounts: Ints, before: Ints | None) -> Ints:
    running = changes.steps.running(amounts)
    return running if before is None else running + before[changes.steps.thing]


def _count(call: Call, changes: Changes, before: Before | None) -> Outcome:
    columns = [changes.column(arg) for arg in call.args]
    amounts = _amounts(call, changes, *columns)
    n = _running(changes, amounts, None if before is None else before.lines[:, 0])
    return Outcome(pa.array(n), n[changes.steps.lasts].reshape(-1, 1))


def _total(call: Call, changes: Changes, before: Before | None) -> Outcome:
    """Sum or average, weighted or not."""
    column = changes.column(call.args[0])
    if call.weight is not None:
        return _weighted(call, changes, column, before)
    whole = pa.types.is_integer(column.type)
    amounts = _amounts(call, changes, column)
    lines = _no_lines(changes)
    if before is not None:
        lines = before.lines.copy()
    n = _running(changes, amounts, None if before is None else lines[:, 0])
    if whole:
        given = _whole_total(call.name, changes, column, amounts, n, lines)
    else:
        given = _double_total(call.name, changes, column, amounts, n, lines)
    if before is not None:
        lines[:, 0] = n[changes.steps.lasts]
    return Outcome(given, lines)


def _double_total(
    name: str, changes: Changes, column: pa.Array, amounts: Ints, n: Ints, lines: Ints
) -> pa.Array:
    steps = changes.steps
    state = np.ascontiguousarray(lines[:, 3 : 3 + LIMBS]) if lines.shape[1] else None
    sums = running_sums(
        floats(column)[steps.order],
        amounts[steps.order],
        steps.begins,
        steps.ends - 1,
        divisors=np.maximum(n, 1) if name == "avg" else None,
        state=state,
    )
    if state is not None:
        lines[:, 3 : 3 + LIMBS] = state
    return _given(sums, n > 0)


def _whole_total(
    name: str, changes: Changes, column: pa.Array, amounts: Ints, n: Ints, lines: Ints
) -> pa.Array:
    """Sum or average of whole numbers, exact; a sum that is too large is null."""
    steps = changes.steps
    numbers: npt.NDArray[Any] = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    held: npt.NDArray[Any] = np.zeros(len(steps.firsts), np.int64)
    if lines.shape[1]:
        held = lines[:, 1].astype(object) * 2**32 + lines[:, 2]
    most = max(abs(int(x)) for x in (numbers.min(initial=0), numbers.max(initial=0)))
    bound = most * int(np.abs(amounts).sum()) + max((abs(x) for x in held.tolist()), default=0)
    if bound < _SAFE:
        sums = steps.running(numbers * amounts) + held.astype(np.int64)[steps.thing]
    else:
        sums = _long_running(steps, numbers.astype(object) * amounts) + held[steps.thing]
    if lines.shape[1]:
        last = sums[steps.lasts]
        lines[:, 1], lines[:, 2] = last >> 32, last & 0xFFFFFFFF
    if name == "sum":
        fits = (
            np.array([-_LARGEST - 1 <= x <= _LARGEST for x in sums.tolist()])
            if bound >= _SAFE
            else True
        )
        return pa.array(np.where(fits, sums, 0).astype(np.int64), mask=~(fits & (n > 0)))
    if bound < 2**53:
        return _given(sums / np.maximum(n, 1), n > 0)
    # Python divides whole numbers of any size with one rounding.
    shares = [x / max(k, 1) for x, k in zip(sums.tolist(), n.tolist(), strict=True)]
    return _given(np.array(shares), n > 0)


def _long_running(steps: Steps, amounts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    sums = np.cumsum(amounts[steps.order])
    before = np.concatenate(([0], sums))[steps.begins]
    running: npt.NDArray[Any] = sums[steps.ends - 1] - before[steps.thing]
    return running


def _weighted(call: Call, changes: Changes, column: pa.Array, before: Before | None) -> Outcome:
    """Sum of w * x, or that over the sum of w."""
    assert call.weight is not None
    steps = changes.steps
    weights = changes.column(call.weight)
    amounts = _amounts(call, changes, column, weights)
    lines = _no_lines(changes) if before is None else before.lines.copy()
    n = _running(changes, amounts, None if before is None else lines[:, 0])
    x, w, order = floats(column), floats(weights), steps.order
    states: list[Ints | None] = [None, None]
    if before is not None:
        states = [np.ascontiguousarray(part) for part in np.split(lines[:, 3:], [LIMBS], axis=1)]
    places = amounts[order], steps.begins, steps.ends - 1
    whole = running_sums(w[order], *places, state=states[0])
    total = running_products(x[order], w[order], *places, state=states[1])
    if before is not None:
        lines[:, 0] = n[steps.lasts]
        lines[:, 3:] = np.concatenate([state for state in states if state is not None], axis=1)
    if call.name == "avg":
        fine = (whole != 0) & (n > 0)
        return Outcome(_given(total / np.where(fine, whole, 1.0), fine), lines)
    given = _given(total, n > 0)
    if pa.types.is_integer(column.type) and pa.types.is_integer(weights.type):
        given = given.cast(pa.int64(), safe=False)
    return Outcome(given, lines)


def _spread(call: Call, changes: Changes, before: Before | None) -> Outcome:
    """Variance, deviation, covariance or correlation of a sample."""
    columns = [changes.column(arg) for arg in call.args]
    steps, amounts = changes.steps, _amounts(call, changes, *columns)
    sides = {"x": floats(columns[0])[steps.order], "y": floats(columns[-1])[steps.order]}
    places = amounts[steps.order], steps.begins, steps.ends - 1
    lines = _no_lines(changes) if before is None else before.lines.copy()
    scaled = call.name != "corr"
    found = []
    for i, (one, two) in enumerate(_SPREADS[call.name]):
        part = slice(i * SPREAD, (i + 1) * SPREAD)
        state = None if before is None else np.ascontiguousarray(lines[:, part])
        found.append(running_spreads(sides[one], sides[two], *places, scaled=scaled, state=state))
        if state is not None:
            lines[:, part] = state
    return Outcome(_given(_SPREAD_OF[call.name](*found)), lines)


def _correlation(xx: Floats, xy: Floats, yy: Floats) -> Floats:
    fine = (xx > 0) & (yy > 0)
    ratio = np.where(fine, xy, 0.0) / np.sqrt(np.where(fine, xx, 1.0))
    ratio /= np.sqrt(np.where(fine, yy, 1.0))
    return np.where(fine, np.clip(ratio, -1.0, 1.0), math.nan)


_SPREAD_OF: dict[str, Callable[..., Floats]] = {
    "var": lambda xx: xx,
    "stddev": np.sqrt,
    "covar": lambda xy: xy,
    "corr": _correlation,
}


def _chosen(call: Call, changes: Changes, before: Before | None) -> Outcome:
    """One of the values: the smallest, the largest, the first or the last."""
    columns = [changes.column(arg) for arg in call.args]
    if call.name in ("first", "last") and len(columns) == 1:
        columns.append(pa.array(changes.at))
    kept, n_before = len(columns), changes.n_before
    amounts = _amounts(call, changes, *columns)
    if before is not None and n_before:
        columns = [
            concatenated([column[: len(column) - n_before], old])
            for column, old in zip(columns, before.values, strict=True)
        ]
        amounts[len(amounts) - n_before :] = there(columns[0])[len(amounts) - n_before :]
    wanted_last = call.name in ("max", "last")
    if call.name in ("first", "last") and len(call.args) == 1 and (amounts < 0).any():
        which = _by_coming(changes, columns[0], amounts, last=wanted_last)
    else:
        codes = codes_of(columns[-1]).then(codes_of(columns[0]))
        wanted = changes.steps.running(amounts) if wanted_last else _ones(changes)
        which = running_kth(changes.steps, changes.step, codes, amounts, wanted)
    places = pa.array(which, mask=which < 0)
    given = columns[0].take(places)
    ends = places.take(pa.array(changes.steps.lasts))
    return Outcome(given, _no_lines(changes), tuple(column.take(ends) for column in columns[:kept]))


def _ones(changes: Changes) -> Ints:
    return np.ones(len(changes.steps), np.int64)


def _by_coming(changes: Changes, column: pa.Array, amounts: Ints, *, last: bool) -> Ints:
    """The value that came first or last; of equal ones, the oldest goes first."""
    groups = Codes(changes.steps.thing[changes.step], len(changes.steps.firsts))
    values = codes_of(column)
    born, moved, copies = lives(groups.then(values), changes.at, amounts)
    low = int(changes.at.min())
    times = Codes(changes.at - low, int(changes.at.max()) - low + 1)
    codes = times.then(values)
    wanted = changes.steps.running(amounts) if last else _ones(changes)
    step = changes.step[moved]
    which = running_kth(changes.steps, step, Codes(codes.codes[born], codes.width), copies, wanted)
    return np.where(which >= 0, born[which], -1)


def _quantile(call: Call, changes: Changes, before: Before | None) -> Outcome:
    """The value of rank ceil(share * n), at least the first, as a number."""
    column = changes.column(call.args[0])
    share = Fraction(1, 2) if call.name == "median" else _share(call.args[1])
    amounts = _amounts(call, changes, column)
    n = changes.steps.running(amounts)
    wanted = np.where(n > 0, np.maximum(_ceilings(share, n), 1), 0)
    which = running_kth(changes.steps, changes.step, codes_of(column), amounts, wanted)
    given = column.take(pa.array(which, mask=which < 0))
    if pa.types.is_integer(given.type):
        given = given.cast(pa.float64(), safe=False)
    return Outcome(given, _no_lines(changes))


def _share(expr: Expr) -> Fraction:
    if expr.op != "literal" or not 0 <= expr.value <= 1:
        raise BindError(
            "a quantile needs a share between 0 and 1", f"got {expr}", "write QUANTILE(x, 0.95)"
        )
    return Fraction(str(expr.value))


def _ceilings(share: Fraction, n: Ints) -> Ints:
    """The share of each number, rounded up without passing through a double."""
    sizes, inverse = np.unique(n, return_inverse=True)
    top, bottom = share.numerator, share.denominator
    if int(sizes.max(initial=0)) * top + bottom < _SAFE:
        return (n * top + bottom - 1) // bottom
    found = np.array([-(-size * top // bottom) for size in sizes.tolist()], np.int64)
    return found[inverse]


def _own(call: Call, own: Function, changes: Changes) -> pa.Array:
    """A user's aggregate of the sorted values of each group; null where there is no value."""
    column = changes.column(call.args[0])
    amounts = _amounts(call, changes, column)
    steps, codes = changes.steps, codes_of(column).dense()
    values = column.take(pa.array(codes.examples())).to_numpy(zero_copy_only=False)
    n = steps.running(amounts)
    results: list[Any] = [None] * len(steps)
    starts, ends, firsts = steps.starts, steps.ends, set(steps.firsts.tolist())
    copies = np.zeros(codes.width, np.int64)
    waiting: list[tuple[int, npt.NDArray[Any]]] = []
    held = 0
    for step in range(len(steps)):
        if step in firsts:
            copies[:] = 0
        which = steps.order[starts[step] : ends[step]]
        np.add.at(copies, codes.codes[which], amounts[which])
        if n[step] > 0:
            present = np.flatnonzero(copies > 0)
            waiting.append((step, np.repeat(values[present], copies[present])))
            held += len(waiting[-1][1])
        if waiting and (held >= _OWN_BATCH or step == len(steps) - 1):
            _call_groups(own, waiting, results)
            waiting, held = [], 0
    return pa.array(results, TYPES[own.returns])


def _call_groups(
    own: Function, waiting: list[tuple[int, npt.NDArray[Any]]], results: list[Any]
) -> None:
    """Put what an aggregate gives for some groups where their steps are."""
    ends = np.cumsum([0, *(len(values) for _, values in waiting)], dtype=np.int32)
    flat = pa.array(np.concatenate([values for _, values in waiting]))
    groups = pa.ListArray.from_arrays(pa.array(ends), flat)
    for (step, _), result in zip(waiting, aggregate_own(own, groups), strict=True):
        results[step] = result


_WORK: dict[str, Callable[[Call, Changes, Before | None], Outcome]] = {
    "count": _count,
    "sum": _total,
    "avg": _total,
    **dict.fromkeys(_SPREADS, _spread),
    **dict.fromkeys(_CHOSEN, _chosen),
    "median": _quantile,
    "quantile": _quantile,
}
