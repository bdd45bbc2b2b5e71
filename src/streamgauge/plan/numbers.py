"""Queries of numbers found in a plan: one aggregate each, over one stream and one window."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamgauge.contracts.contract import Contract
from streamgauge.operators.aggregate import CODES, Aggregate
from streamgauge.operators.expression import Expr, conjuncts
from streamgauge.plan.budget import shares
from streamgauge.plan.conditions import Derived, predicate_of
from streamgauge.plan.correlated import correlated_of
from streamgauge.plan.families import Numbers, deferrable, family_of, newest
from streamgauge.plan.latest import deferred
from streamgauge.plan.members import NAMED
from streamgauge.plan.nodes import Grouped, Node, Project, Scan
from streamgauge.plan.query import Query, on_change
from streamgauge.plan.registry import Registry
from streamgauge.plan.restream import OF_TIME
from streamgauge.plan.rewrites.one_stream import one_window
from streamgauge.plan.terms import CONFIDENCE, Owed
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Window

# What an aggregate that is approximate by name is owed when nothing is said.
DEFAULTS = {
    "approx_count_distinct": Contract.relative(0.02, confidence=0.95),
    "f2": Contract.relative(0.02, confidence=0.95),
    "approx_quantile": Contract.rank(0.01, confidence=0.99),
    "approx_median": Contract.rank(0.01, confidence=0.99),
}
_SUMMARIES = {
    "approx_count_distinct": "distinct",
    "f2": "self_join",
    "top_k": "top_k",
    "frequency": "frequency",
    "median": "quantile",
    "approx_median": "quantile",
    "quantile": "quantile",
    "approx_quantile": "quantile",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A plan that numbers can be read from: aggregates of the rows in one window.

    Parameters
    ----------
    scan, window
        The stream and its window.
    where
        Conditions on the rows in the window.
    by
        Grouping expressions.
    outputs
        Output names with the aggregate each shows.
    """

    scan: Scan
    window: Window
    where: tuple[Expr, ...]
    by: tuple[Expr, ...]
    outputs: tuple[tuple[str, Expr], ...]


def shape_of(node: Node) -> Shape | None:
    """The shape of a plan, or None when it is more than groups of one window."""
    items = None
    if isinstance(node, Project):
        items, node = node.items, node.input
    if not isinstance(node, Grouped) or not node.aggregates:
        return None
    if items is None:
        items = tuple((name, Expr("column", value=name)) for name, _ in node.by + node.aggregates)
    kept = dict(node.aggregates)
    keys = {name for name, _ in node.by}
    if any(e.op != "column" or e.value not in {*kept, *keys} for _, e in items):
        return None
    below = one_window(node.input)
    if below is None:
        return None
    by = tuple(below.read(expr) for _, expr in node.by)
    outputs = tuple((name, below.read(kept[e.value])) for name, e in items if e.value in kept)
    return Shape(below.scan, below.window, below.where, by, outputs) if outputs else None


def queries_of(name: str, node: Node, owed: Owed, registry: Registry) -> list[Query] | None:
    """A plan as queries of numbers, one for each aggregate; None when it answers rows."""
    found = numbers_of(node, owed, registry)
    if found is None or owed.promising:
        return None if found is None else named(name, found)
    return _sharing(named(name, found), owed)


def numbers_of(node: Node, owed: Owed, registry: Registry) -> Numbers | None:
    """The query behind each output of a plan that shows an aggregate; None when it answers rows."""
    if owed.mode:
        return None
    shape = shape_of(node)
    if shape is None:
        return family_of(node, owed, registry)
    stream = registry.stream(shape.scan.stream)
    if stream.changes is not None or shape.window.kind == "session":
        return None
    found: Numbers = []
    for output in shape.outputs:
        query = _query(output, shape, stream, owed, registry)
        if query is None:
            return None
        found.append((output[0], query))
    return found


def named(name: str, found: Numbers) -> list[Query]:
    """The queries of a statement; several are named `name.alias`."""
    alone = len(found) == 1
    return [replace(query, name=name if alone else f"{name}.{alias}") for alias, query in found]


def _sharing(queries: list[Query], owed: Owed) -> list[Query]:
    """Queries of one statement share the chance of failure that was asked for.

    Beside a summary, what is exact anyway is owed exactly and takes no share.
    """
    summaries = [query for query in queries if query.select.summary]
    if owed.contract is None or owed.contract.tolerance == "exact" or not summaries:
        return queries
    share = shares(summaries[0].contract, len(summaries))[0]
    exact = Contract.exact(owed.fresh)
    return [replace(q, contract=share if q.select.summary else exact) for q in queries]


def _query(
    output: tuple[str, Expr], shape: Shape, stream: Stream, owed: Owed, registry: Registry
) -> Query | None:
    expr, where = output[1], shape.where
    if expr.op == "filter":
        if shape.window.kind not in (*OF_TIME, "decay"):
            return None
        expr, where = expr.args[0], (*where, *conjuncts(expr.args[1]))
    derived = Derived(stream.schema, registry.functions)
    select = aggregate_of(expr, derived)
    if select is None or (select.summary and shape.window.kind not in OF_TIME):
        return None
    default = DEFAULTS.get(str(expr.value), Contract())
    if owed.promising:
        default = Contract.best(confidence=CONFIDENCE)
    query = Query(
        "",
        stream.name,
        select,
        window=shape.window,
        answer=owed.answer,
        contract=owed.contract_or(default),
        history=owed.history,
        memory=owed.memory,
        regime=owed.regime,
        trend=owed.trend,
        over=owed.over,
    )
    if stream.width is not None and newest(shape.window, stream):
        return _of_bounds(query, shape, stream, where, derived)
    latest = _latest(query, shape, stream, where, derived)
    if latest is not None:
        owing = replace(latest, contract=owed.over_time(query.contract))
        if deferred(owing) and deferrable(owing):
            return owing
    if not select.summary and query.contract.tolerance == "absolute":
        query = _spared(query)
    if latest is not None and not latest.group_by:
        return replace(latest, answer=query.answer)
    predicate = predicate_of(where, derived)
    group_by = tuple(derived.column(key) for key in shape.by)
    return replace(query, where=predicate, group_by=group_by, **derived.given())


def _of_bounds(
    query: Query, shape: Shape, stream: Stream, where: tuple[Expr, ...], derived: Derived
) -> Query | None:
    """A query of the newest bounds; None when it is about other columns of their rows."""
    if query.select.x not in (None, stream.value) or derived.given():
        return None
    keys = [str(key.value) for key in shape.by if key.op == "column"]
    if len(keys) < len(shape.by) or not {*keys} <= {*stream.key}:
        return None
    predicate = predicate_of(where, derived)
    latest = replace(query, window=None, group_by=tuple(keys), **derived.given())
    series = None if keys else _series(where, stream)
    if series is not None:
        return replace(latest, series=series, derived=())
    read = {name for part in where for name in part.columns()}
    return replace(latest, where=predicate) if read <= {*stream.key} else None


def _spared(query: Query) -> Query:
    """Where a value may be off by some width, answers that moved by less are not given again."""
    answer = query.answer
    if answer.kind != "change" or answer.by:
        return query
    return replace(query, answer=on_change(query.contract.within))


def _latest(
    query: Query, shape: Shape, stream: Stream, where: tuple[Expr, ...], derived: Derived
) -> Query | None:
    """The newest row of each series is its latest value, which is kept for all queries at once."""
    window, answer = shape.window, query.answer
    plain = query.select.name in CODES and query.select.x is not None
    grouped = tuple(str(key.value) for key in shape.by if key.op == "column")
    named = [name for name in grouped if stream.schema.type(name) in NAMED]
    whole = len(named) == len(shape.by) and not derived.given()
    if not newest(window, stream) or not plain or not whole or answer.kind == "close":
        return None
    if query.select.weight is not None:
        return None
    latest = replace(query, window=None, group_by=grouped)
    if not where:
        return latest
    series = _series(where, stream)
    return None if series is None else replace(latest, series=series)


def _series(where: tuple[Expr, ...], stream: Stream) -> tuple[str, ...] | None:
    """The series that a condition names, when it names nothing else."""
    if len(where) != 1 or len(stream.key) != 1 or stream.schema.type(stream.key[0]) != "string":
        return None
    part = where[0]
    if part.op not in ("=", "in") or part.args[0] != Expr("column", value=stream.key[0]):
        return None
    values = tuple(arg.value for arg in part.args[1:] if arg.op == "literal")
    whole = len(values) == len(part.args) - 1 and all(isinstance(v, str) for v in values)
    return tuple(dict.fromkeys(values)) if whole and values else None


def aggregate_of(expr: Expr, derived: Derived) -> Aggregate | None:
    """The aggregate of a query, with columns for what it is computed from; None if it has none."""
    if expr.op == "when":
        return correlated_of(expr, derived)
    if expr.op != "aggregate":
        return None
    args = [arg for arg in expr.args if arg.op != "weight"]
    weights = [derived.column(arg.args[0]) for arg in expr.args if arg.op == "weight"]
    weight = weights[0] if weights else None
    if expr.value == "count" and args and args[0].op == "distinct":
        return Aggregate("distinct", derived.column(args[0].args[0]))
    if expr.value in CODES:
        if expr.value in ("min", "max") and derived.kind(args[0]) not in ("float", "int"):
            return None
        columns = [derived.column(arg) for arg in args if arg.op != "star"]
        x, y = (*columns, None, None)[:2]
        return Aggregate(expr.value, x, y, weight)
    if expr.value not in _SUMMARIES:
        return None
    return _summary(expr, args, derived)


def _summary(expr: Expr, args: list[Expr], derived: Derived) -> Aggregate | None:
    name, argument = _SUMMARIES[expr.value], None
    if expr.value in ("median", "approx_median"):
        argument = 0.5
    elif len(args) == 2:
        if args[1].op != "literal" or isinstance(args[1].value, bool):
            return None
        argument = args[1].value
        argument = float(argument) if name == "quantile" else argument
    return Aggregate(name, derived.column(args[0]), argument=argument)
