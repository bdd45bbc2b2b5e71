"""Joins of rows that come and go.

Each input is taken as spans: a row, with the times it enters and leaves. Two rows meet while both
are there, so a pair is a span too, and only rows that are there at the same time are ever looked
at. What must be equal becomes a code; within a code, partners are found by time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.operators.best_partner import best_partners
from streamgauge.operators.codes import Codes, codes_of, concatenated, plain, table_codes
from streamgauge.operators.delta import Delta, consolidated
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr, conjuncts
from streamgauge.operators.functions import Functions
from streamgauge.operators.steps import NEVER, Spans, spans_of, steps_of

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
BLOCK = 4_000_000
# Inequalities of an ASOF join, and what each is with its sides exchanged.
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def join(
    deltas: Sequence[Delta],
    names: Sequence[str],
    on: Expr | None,
    kind: str,
    functions: Functions,
) -> Delta:
    """All combinations of rows that meet a condition, each while all of its rows are there.

    Parameters
    ----------
    deltas
        The inputs.
    names
        Name of each input: its column c is `name.c` in the condition and in the result. An input
        of the name "" keeps the names of its columns.
    on
        The condition, or None for all combinations.
    kind
        inner; or, of two inputs, left: rows of the first without a partner stay, with nulls; full:
        those of both; semi: rows of the first while they have a partner, without its columns;
        anti: while they have none; asof: each row of the first with its best partner alone, by an
        inequality in the condition; asof left: and with nulls while it has none.
    functions
        Functions of one's own.

    Examples
    --------
    >>> from streamgauge.operators.expression import column
    >>> one = Delta(pa.table({"k": [1, 1]}), np.array([0, 30]), np.array([1, -1]))
    >>> two = Delta(pa.table({"k": [1, 2]}), np.array([10, 10]), np.array([2, 2]))
    >>> both = join([one, two], ["a", "b"], Expr("=", (column("a.k"), column("b.k"))), "inner", {})
    >>> both.rows.to_pydict(), both.at, both.count
    ({'a.k': [1, 1], 'b.k': [1, 1]}, array([10, 30]), array([ 2, -2]))
    """
    sides = [
        _Side(_renamed(delta.rows, name), spans_of(delta))
        for delta, name in zip(deltas, names, strict=True)
    ]
    if kind in ("asof", "asof left"):
        return _as_of(sides, on, functions, alone=kind == "asof left")
    if kind != "inner":
        return _by_partners(sides, on, kind, functions)
    return _given(sides, _inner(sides, on, functions))


@dataclass(frozen=True, slots=True)
class _Side:
    """One input: its rows under their new names, and when they are there."""

    rows: pa.Table
    spans: Spans

    def kept(self, where: Expr, functions: Functions) -> _Side:
        """Only the rows that meet a condition."""
        spans = self.spans
        return _Side(self.rows, spans.take(self._true(where, functions)))

    def column(self, expr: Expr, functions: Functions) -> pa.Array:
        """An expression over its rows, one cell for each span."""
        return plain(evaluate(expr, _taken(self.rows, self.spans.row, expr), functions))

    def _true(self, where: Expr, functions: Functions) -> Flags:
        return _truths(self.column(where, functions))


@dataclass(frozen=True, slots=True)
class _Met:
    """Combinations so far: for each input the row, and when the combination is there."""

    rows: dict[int, Ints]
    enter: Ints
    leave: Ints
    count: Ints

    def take(self, which: Ints | Flags) -> _Met:
        rows = {side: places[which] for side, places in self.rows.items()}
        return _Met(rows, self.enter[which], self.leave[which], self.count[which])


@dataclass(frozen=True, slots=True)
class _Condition:
    """One part of the condition, with the inputs it reads."""

    expr: Expr
    reads: frozenset[int]


def _inner(sides: Sequence[_Side], on: Expr | None, functions: Functions) -> _Met:
    """Join all inputs, the smallest first, then those that equalities connect to it."""
    conditions = _conditions(sides, on)
    sides = list(sides)
    for part in conditions:
        if len(part.reads) <= 1:
            side = next(iter(part.reads), 0)
            sides[side] = sides[side].kept(part.expr, functions)
    waiting = [part for part in conditions if len(part.reads) > 1]
    first = min(range(len(sides)), key=lambda i: len(sides[i].spans))
    spans = sides[first].spans
    met = _Met({first: spans.row}, spans.enter, spans.leave, spans.count)
    while len(met.rows) < len(sides):
        side = _next_side(sides, met, waiting)
        ready = [part for part in waiting if part.reads <= {*met.rows, side}]
        waiting = [part for part in waiting if part not in ready]
        met = _joined(sides, met, side, ready, functions)
    return met


def _conditions(sides: Sequence[_Side], on: Expr | None) -> list[_Condition]:
    owner = {name: i for i, side in enumerate(sides) for name in side.rows.column_names}
    return [
        _Condition(part, frozenset(owner[name] for name in part.columns()))
        for part in conjuncts(on)
    ]


def _equality(
    part: _Condition, sides: Sequence[_Side], known: set[int], side: int
) -> tuple[Expr, Expr] | None:
    """The two sides of an equality between known inputs and one more, in this order."""
    if part.expr.op != "=":
        return None
    own = set(sides[side].rows.column_names)
    one, two = part.expr.args
    for here, there in ((one, two), (two, one)):
        if there.columns() and set(there.columns()) <= own and not own & set(here.columns()):
            return (here, there) if here.columns() else None
    return None


def _next_side(sides: Sequence[_Side], met: _Met, waiting: list[_Condition]) -> int:
    """The smallest input that an equality connects; else that a condition does; else any."""

    def rank(side: int) -> tuple[int, int]:
        known = {*met.rows, side}
        ready = [part for part in waiting if side in part.reads and part.reads <= known]
        keyed = any(_equality(part, sides, set(met.rows), side) for part in ready)
        return (0 if keyed else 1 if ready else 2, len(sides[side].spans))

    return min((i for i in range(len(sides)) if i not in met.rows), key=rank)


def _joined(
    sides: Sequence[_Side], met: _Met, side: int, ready: list[_Condition], functions: Functions
) -> _Met:
    """Join one more input on the conditions that can be judged with it."""
    pairs = [_equality(part, sides, set(met.rows), side) for part in ready]
    rest = [part.expr for part, pair in zip(ready, pairs, strict=True) if pair is None]
    keys = [
        (_over(sides, met.rows, here, functions), sides[side].column(there, functions))
        for here, there in (pair for pair in pairs if pair is not None)
    ]
    new = sides[side].spans
    found = []
    for one, two in _partners(_key_codes(keys, len(met.enter), len(new)), met, new):
        rows = {other: places[one] for other, places in met.rows.items()}
        rows[side] = new.row[two]
        part = _Met(
            rows,
            np.maximum(met.enter[one], new.enter[two]),
            np.minimum(met.leave[one], new.leave[two]),
            met.count[one] * new.count[two],
        )
        for expr in rest:
            part = part.take(_truths(_over(sides, part.rows, expr, functions)))
        found.append(part)
    return _stacked(found, [*met.rows, side])


def _stacked(parts: list[_Met], sides: list[int]) -> _Met:
    if not parts:
        none = np.empty(0, np.int64)
        return _Met(dict.fromkeys(sides, none), none, none, none)
    return _Met(
        {side: np.concatenate([part.rows[side] for part in parts]) for side in sides},
        np.concatenate([part.enter for part in parts]),
        np.concatenate([part.leave for part in parts]),
        np.concatenate([part.count for part in parts]),
    )


def _over(
    sides: Sequence[_Side], rows: dict[int, Ints], expr: Expr, functions: Functions
) -> pa.Array:
    """An expression over combinations of rows."""
    columns: dict[str, pa.Array] = {}
    for side, places in rows.items():
        part = _taken(sides[side].rows, places, expr)
        columns.update(zip(part.column_names, part.columns, strict=True))
    wanted = [name for name in columns if name in expr.columns()] or list(columns)[:1]
    return plain(evaluate(expr, pa.table({name: columns[name] for name in wanted}), functions))


def _taken(rows: pa.Table, places: Ints, expr: Expr) -> pa.Table:
    """Rows with the columns that an expression reads, and at least one."""
    wanted = [name for name in rows.column_names if name in expr.columns()]
    return rows.select(wanted or rows.column_names[:1]).take(pa.array(places))


def _key_codes(
    keys: list[tuple[pa.Array, pa.Array]], n_left: int, n_right: int
) -> tuple[Codes, Codes]:
    """Codes of the keys on both sides; -1 for a key with a null, which meets nothing."""
    n = n_left + n_right
    codes, there = Codes(np.zeros(n, np.int64), 1), np.ones(n, np.bool_)
    for here, other in keys:
        column = concatenated([here, other])
        codes = codes.then(codes_of(column))
        there &= np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    marked = np.where(there, codes.codes, -1)
    return Codes(marked[:n_left], codes.width), Codes(marked[n_left:], codes.width)


def _partners(codes: tuple[Codes, Codes], met: _Met, new: Spans) -> Iterator[tuple[Ints, Ints]]:
    """Numbers of combinations and spans with one key that are there together, in blocks.

    Of two that meet, one came later or both came at once: those that come during the other's time
    are found on either side, so that no pair is found twice.
    """
    here = np.flatnonzero(codes[0].codes >= 0)
    there = np.flatnonzero(codes[1].codes >= 0)
    if not len(here) or not len(there):
        return
    instants = np.concatenate(
        (met.enter[here], met.leave[here], new.enter[there], new.leave[there])
    )
    times = codes_of(pa.array(instants)).dense()
    keys = Codes(np.concatenate((codes[0].codes[here], codes[1].codes[there])), codes[0].width)
    if keys.width * (times.width + 1) >= NEVER:
        keys = keys.dense()
    n, m = len(here), len(there)
    scale = times.width + 1
    enter, leave = times.codes[:n], times.codes[n : 2 * n]
    new_enter, new_leave = times.codes[2 * n : 2 * n + m], times.codes[2 * n + m :]
    one, two = keys.codes[:n] * scale, keys.codes[n:] * scale
    for low, high in _comers(two + new_enter, one + enter, one + leave):
        yield here[low], there[high]
    for low, high in _comers(one + enter, two + new_enter + 1, two + new_leave):
        yield here[high], there[low]


def _comers(places: Ints, start: Ints, stop: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Pairs (i, j) with start[i] <= places[j] < stop[i], in blocks of bounded size."""
    order = np.argsort(places, kind="stable")
    places = places[order]
    low = np.searchsorted(places, start)
    sizes = np.maximum(np.searchsorted(places, stop) - low, 0)
    ends = np.cumsum(sizes)
    total = int(ends[-1])
    for begin in range(0, total, BLOCK):
        numbers = np.arange(begin, min(begin + BLOCK, total))
        one = np.searchsorted(ends, numbers, side="right")
        yield one, order[low[one] + numbers - (ends[one] - sizes[one])]


def _by_partners(sides: Sequence[_Side], on: Expr | None, kind: str, functions: Functions) -> Delta:
    """A join of two inputs in which it counts when a row has a partner and when it has none."""
    # Rows are known by span from here on, so that each span has its own count of partners.
    sides = [_numbered(side) for side in sides]
    met = _inner(sides, on, functions)
    if kind in ("semi", "anti"):
        found = _while_partners(sides, met, 0, there=kind == "semi")
        return consolidated(_given(sides[:1], found))
    parts = [met, _while_partners(sides, met, 0, there=False)]
    if kind == "full":
        parts.append(_while_partners(sides, met, 1, there=False))
    return _given(sides, _stacked(parts, [0, 1]))


def _numbered(side: _Side) -> _Side:
    spans = side.spans
    numbers = np.arange(len(spans), dtype=np.int64)
    rows = side.rows.take(pa.array(spans.row))
    return _Side(rows, Spans(numbers, spans.enter, spans.leave, spans.count))


def _while_partners(sides: Sequence[_Side], met: _Met, side: int, *, there: bool) -> _Met:
    """Rows of one input while they have a partner, or while they have none; nulls beside them."""
    spans, own = sides[side].spans, met.rows[side]
    copies = met.count // spans.count[own]
    goes = met.leave < spans.leave[own]
    span = np.concatenate((spans.row, own, own[goes]))
    at = np.concatenate((spans.enter, met.enter, met.leave[goes]))
    partners = np.concatenate((np.zeros(len(spans), np.int64), copies, -copies[goes]))
    steps = steps_of(Codes(span, max(len(spans), 1)), at)
    chosen = (steps.running(partners) > 0) == there
    owner = span[steps.change][chosen] if len(steps) else np.empty(0, np.int64)
    return _Met(
        {side: owner, 1 - side: np.full(len(owner), -1, np.int64)},
        steps.at[chosen],
        np.minimum(steps.until()[chosen], spans.leave[owner]),
        spans.count[owner],
    )


def nearest(on: Expr | None, left: set[str], right: set[str]) -> list[tuple[Expr, str, Expr]]:
    """The inequalities of a condition between two inputs, that of the first on the left.

    >>> from streamgauge.operators.expression import column
    >>> nearest(Expr("<", (column("b.t"), column("a.t"))), {"a.t"}, {"b.t"})[0][1]
    '>'
    """
    found = []
    for part in conjuncts(on):
        if part.op not in _MIRRORED:
            continue
        one, two = part.args
        for here, op, there in ((one, part.op, two), (two, _MIRRORED[part.op], one)):
            own, other = set(here.columns()), set(there.columns())
            if own and other and own <= left and other <= right:
                found.append((here, op, there))
    return found


def _as_of(sides: Sequence[_Side], on: Expr | None, functions: Functions, *, alone: bool) -> Delta:
    """Rows of the first input, each with the partner that comes nearest by the inequality.

    Of partners that are equally near the last one counts, in the order of their columns.
    """
    left, right = sides[0].spans, sides[1].spans
    columns = [set(side.rows.column_names) for side in sides]
    ((here, op, there),) = nearest(on, *columns)
    pairs = [_equality(part, sides, {0}, 1) for part in _conditions(sides, on)]
    keys = [
        (sides[0].column(one, functions), sides[1].column(two, functions))
        for one, two in (pair for pair in pairs if pair is not None)
    ]
    one, two = _key_codes(keys, len(left), len(right))
    key = Codes(np.concatenate((one.codes, two.codes)), one.width)
    bounds = concatenated([sides[0].column(here, functions), sides[1].column(there, functions)])
    known = (key.codes >= 0) & _comparable(bounds)
    near = codes_of(bounds, descending=op in ("<", "<=")).dense()
    key = key.dense()
    place = key.then(near).codes
    mine, theirs = place[: len(left)], place[len(left) :]
    partners = np.flatnonzero(known[len(left) :])
    ties = table_codes(sides[1].rows.columns, sides[1].rows.num_rows).codes[right.row[partners]]
    partners = partners[np.lexsort((ties, theirs[partners]))]
    low = np.searchsorted(theirs[partners], key.codes[: len(left)] * near.width)
    high = np.searchsorted(theirs[partners], mine, "right" if op in ("<=", ">=") else "left")
    high = np.where(known[: len(left)], high, low)
    number, partner, enter, leave = best_partners(
        low,
        high,
        (left.enter, left.leave),
        (right.enter[partners], right.leave[partners]),
        alone=alone,
    )
    # The last place is that of no partner.
    rows = {0: left.row[number], 1: np.append(right.row[partners], -1)[partner]}
    return consolidated(_given(sides, _Met(rows, enter, leave, left.count[number])))


def _comparable(column: pa.Array) -> Flags:
    """Which cells are neither null nor NaN."""
    if pa.types.is_floating(column.type):
        return _truths(pc.invert(pc.is_nan(column)))
    there: Flags = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    return there


def _given(sides: Sequence[_Side], met: _Met) -> Delta:
    """Combinations as changes: they come at the start of their span and go at its end."""
    goes = np.flatnonzero(met.leave < NEVER)
    places = np.concatenate((np.arange(len(met.enter)), goes))
    arrays: dict[str, pa.ChunkedArray] = {}
    for i, side in enumerate(sides):
        rows = met.rows[i][places]
        taken = side.rows.take(_indices(rows))
        arrays.update(zip(taken.column_names, taken.columns, strict=True))
    return Delta(
        pa.table(arrays),
        np.concatenate((met.enter, met.leave[goes])),
        np.concatenate((met.count, -met.count[goes])),
    )


def _renamed(rows: pa.Table, name: str) -> pa.Table:
    return (
        rows.rename_columns([f"{name}.{column}" for column in rows.column_names]) if name else rows
    )


def _indices(rows: Ints) -> pa.Array:
    """Numbers of rows to take; -1 takes nulls."""
    missing = rows < 0
    return pa.array(rows, mask=missing) if missing.any() else pa.array(rows)


def _truths(mask: pa.Array) -> Flags:
    filled = pc.fill_null(mask, False)
    flags: Flags = np.asarray(filled.to_numpy(zero_copy_only=False), np.bool_)
    return flags
