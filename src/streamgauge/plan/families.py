"""Families: latest values joined with a stored table, one cell for each group of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from streamgauge.operators.aggregate import Aggregate
from streamgauge.operators.expression import Expr, conjuncts
from streamgauge.plan.bounds import bounded
from streamgauge.plan.conditions import Derived, predicate_of
from streamgauge.plan.latest import DEFERRED, LINEAR, deferred
from streamgauge.plan.members import Members
from streamgauge.plan.nodes import Filter, Grouped, Join, Node, Project, Scan, Stored, Windowed
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.terms import Owed
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Window

# Outputs of a plan, each with the query that gives it.
Numbers: TypeAlias = list[tuple[str, Query]]


def newest(window: Window, stream: Stream) -> bool:
    """Whether a window holds the newest row of each series, which is its latest value."""
    return window.kind == "partition" and window.rows == 1 and window.by == stream.key


def deferrable(query: Query) -> bool:
    """Whether a deferred query says in its contract that it may be, or can be nothing else."""
    owed = query.contract
    sure = owed.confidence == 1.0 and query.members is None
    return query.over is not None or not (sure or owed.tolerance == "exact")


@dataclass(frozen=True, slots=True)
class _Pair:
    """A stream's latest values beside a table, with the conditions on both."""

    stream: Stream
    table: Stored
    names: tuple[str, str]
    where: tuple[Expr, ...]

    def of_stream(self, expr: Expr) -> str | None:
        """The column of the stream that an expression is; None when it is anything else."""
        return _column(expr, self.names[0])

    def of_table(self, expr: Expr) -> str | None:
        """The column of the table that an expression is; None when it is anything else."""
        return _column(expr, self.names[1])


def family_of(node: Node, owed: Owed, registry: Registry) -> Numbers | None:
    """The queries of a plan that aggregates latest values by a table; None for any other plan."""
    items = None
    if isinstance(node, Project):
        items, node = node.items, node.input
    if not isinstance(node, Grouped) or not node.aggregates:
        return None
    pair = _pair(node.input, registry)
    if pair is None:
        return None
    members = _members(pair, node, registry)
    if members is None:
        return None
    sums, keys = dict(node.aggregates), dict(node.by)
    shown = items or tuple((name, Expr("column", value=name)) for name in (*keys, *sums))
    if any(expr.op != "column" or expr.value not in {**sums, **keys} for _, expr in shown):
        return None
    found: Numbers = []
    for name, expr in shown:
        if expr.value in sums:
            query = _query(pair, members, sums[str(expr.value)], owed)
            if query is None:
                return None
            found.append((name, query))
    return found or None


def _pair(node: Node, registry: Registry) -> _Pair | None:
    where: tuple[Expr, ...] = ()
    while isinstance(node, Filter):
        where, node = (*conjuncts(node.where), *where), node.input
    if not isinstance(node, Join) or node.kind != "inner" or len(node.parts) != 2:
        return None
    if node.on is not None:
        where = (*conjuncts(node.on), *where)
    (left, right), names = node.parts, (node.names[0], node.names[1])
    if isinstance(left, Stored):
        left, right, names = right, left, (names[1], names[0])
    if not isinstance(left, Windowed) or not isinstance(left.input, Scan):
        return None
    stream = registry.stream(left.input.stream)
    if not isinstance(right, Stored) or stream.changes is not None:
        return None
    return _Pair(stream, right, names, where) if newest(left.window, stream) else None


def _members(pair: _Pair, node: Grouped, registry: Registry) -> Members | None:
    """What the table says: which series, by which columns, under which conditions."""
    if len(pair.stream.key) != 1:
        return None
    series, rest = None, []
    for part in pair.where:
        found = _equal(pair, part) if series is None else None
        if found is None:
            rest.append(_own(part, pair.names[1]))
        series = series or found
    if series is None or any(part is None for part in rest):
        return None
    derived = Derived(pair.table.schema, registry.functions)
    where = predicate_of(tuple(part for part in rest if part is not None), derived)
    by = []
    for _, expr in node.by:
        key = series if pair.of_stream(expr) == pair.stream.key[0] else pair.of_table(expr)
        if key is None:
            return None
        by.append(key)
    if derived.given():
        return None
    return Members(pair.table.table, series, tuple(by), where=where)


def _equal(pair: _Pair, part: Expr) -> str | None:
    """The column of the table that must be equal to the key of the stream."""
    if part.op != "=":
        return None
    for one, other in (part.args, part.args[::-1]):
        if pair.of_stream(one) == pair.stream.key[0]:
            return pair.of_table(other)
    return None


def _own(expr: Expr, name: str) -> Expr | None:
    """An expression over one side of the join alone, in terms of its own columns."""
    prefix = f"{name}."
    if not all(column.startswith(prefix) for column in expr.columns()):
        return None
    return expr.replaced(
        lambda part: (
            Expr("column", value=str(part.value).removeprefix(prefix))
            if part.op == "column"
            else None
        )
    )


def _column(expr: Expr, name: str) -> str | None:
    own = _own(expr, name)
    return str(own.value) if own is not None and own.op == "column" else None


def _query(pair: _Pair, members: Members, aggregate: Expr, owed: Owed) -> Query | None:
    read = _read(pair, aggregate)
    if read is None:
        return None
    select, weight = read
    query = Query(
        "",
        pair.stream.name,
        select,
        answer=owed.answer,
        contract=owed.over_time(Query("", "", select).contract),
        history=owed.history,
        memory=owed.memory,
        over=owed.over,
        members=Members(members.table, members.series, members.by, weight, members.where),
        regime=owed.regime,
        trend=owed.trend,
    )
    if bounded(query, pair.stream):
        return query
    return query if deferred(query) and deferrable(query) else None


def _read(pair: _Pair, expr: Expr) -> tuple[Aggregate, str | None] | None:
    """The aggregate of a column of the stream, and the column of the table that weighs it."""
    if expr.op != "aggregate" or expr.value not in DEFERRED:
        return None
    args = [arg.args[0] if arg.op == "weight" else arg for arg in expr.args]
    if expr.value == "sum" and len(args) == 1 and args[0].op == "*":
        args = list(args[0].args)
        if pair.of_stream(args[0]) is None:
            args.reverse()
    x = pair.of_stream(args[0]) if args else None
    if x is None or len(args) > 2 or (len(args) == 2 and expr.value not in LINEAR):
        return None
    weight = pair.of_table(args[1]) if len(args) == 2 else None
    if len(args) == 2 and weight is None:
        return None
    numeric = pair.stream.schema.numeric(x) or expr.value == "count"
    return (Aggregate(str(expr.value), x), weight) if numeric else None
