"""Preferring: from WITH PREFERENCE and BUDGET to the promise that a query carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from streamgauge.kernel.errors import BindError, UnsupportedWindow
from streamgauge.kernel.time import MINUTE
from streamgauge.language.render import render
from streamgauge.language.statements import (
    Ask,
    CreateSummary,
    From,
    FromJoin,
    FromName,
    FromResample,
    FromSelect,
    Select,
    SetSelect,
)
from streamgauge.operators.expression import Expr, column
from streamgauge.plan.budget import shares
from streamgauge.plan.nodes import AS_OF, ONE_SIDED, Grouped, Join
from streamgauge.plan.preference import arranged, estimate, estimated, of_join, of_one
from streamgauge.plan.promise_check import not_promising, refuse_aggregate, refuse_stream
from streamgauge.plan.promising import PromisingJoinPlan, join_plan, key_classes, selection_plan
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.sources import window_value
from streamgauge.plan.subqueries import SUBQUERIES
from streamgauge.plan.view import View
from streamgauge.promise.promise import Promise
from streamgauge.promise.summary import Summary
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Window

# How a summary that is proposed is cut: four granularities, each twice as long as the one before.
RATE, DEPTH = 2, 4


def windowed(ask: Ask) -> Ask:
    """The question with WINDOW of its preference after each source that has none of its own."""
    liked = ask.terms.preference
    if liked is None or liked.window is None or not isinstance(ask.query, Select):
        return ask
    window = Window("range", length=liked.window)
    source = None if ask.query.source is None else _under(ask.query.source, window)
    return replace(ask, query=replace(ask.query, source=source))


def _under(source: From, window: Window) -> From:
    if isinstance(source, FromJoin):
        return replace(source, left=_under(source.left, window), right=_under(source.right, window))
    if isinstance(source, FromResample) or source.window is not None:
        return source
    return replace(source, window=window)


def check_shape(name: str, ask: Ask, registry: Registry) -> None:
    """Raise unless a question is a join, a selection or an aggregate of streams."""
    query = ask.query
    if not isinstance(query, Select):
        what = query.kind.upper() if isinstance(query, SetSelect) else f"WITH {query.names[0][0]}"
        raise not_promising(name, f"it is written with {what}")
    clauses = {
        "GROUP BY": query.group_by,
        "HAVING": query.having is not None,
        "DISTINCT": query.distinct,
        "ORDER BY": query.order_by,
        "LIMIT": query.limit is not None,
        f"{query.stream.upper()}": query.stream in ("dstream", "rstream"),
    }
    written = [clause for clause, there in clauses.items() if there]
    parts = (query.where, *(item.expr for item in query.items))
    if any(part is not None and part.has(*SUBQUERIES) for part in parts):
        written.append("a subquery beside FROM")
    if written:
        raise not_promising(name, f"it has {written[0]}")
    assert query.source is not None, "the grammar asks for FROM"
    for source in _leaves(name, query.source):
        _check_source(name, source, registry)


def _leaves(name: str, source: From) -> list[From]:
    if not isinstance(source, FromJoin):
        return [source]
    if source.kind not in ("inner", "cross"):
        leaves_out = source.kind in ONE_SIDED or source.kind in AS_OF
        what = "leaves out rows" if leaves_out else "pads rows without a partner"
        raise not_promising(
            name, f"{source.kind.upper()} JOIN {what}, and one may only not be found yet"
        )
    return [*_leaves(name, source.left), *_leaves(name, source.right)]


def _check_source(name: str, source: From, registry: Registry) -> None:
    if isinstance(source, FromSelect):
        raise not_promising(
            name, f"it reads a subquery{f' {source.alias}' if source.alias else ''}"
        )
    assert isinstance(source, (FromName, FromResample)), "a join was taken apart"
    if isinstance(source, FromResample):
        raise not_promising(name, f"it reads {source.name} on a regular grid")
    kinds: dict[str, Mapping[str, object]] = {
        "table": registry.tables,
        "view": registry.names,
        "query": registry.queries,
    }
    kind = next((kind for kind, there in kinds.items() if source.name in there), None)
    if kind is not None and source.name not in registry.streams:
        raise not_promising(name, f"it reads {kind} {source.name!r}, which is no stream")
    if source.name not in registry.streams:
        # The binder says what there is instead.
        return
    refuse_stream(registry.streams[source.name])
    window = window_value(source.window, registry)
    if window is not None and window.kind != "range" and not window.unbounded:
        raise UnsupportedWindow(
            "rows are chosen by their promise in windows of time",
            f"stream {source.name!r} has [{window}]",
            "write [RANGE 1 MINUTE], or [RANGE UNBOUNDED] if every row is to stay",
        )


def preferred(found: list[Query] | View, ask: Ask, registry: Registry) -> list[Query] | View:
    """What a question is registered as, with the promise of each part."""
    if isinstance(found, View):
        return replace(found, promise=_of_view(found, ask, registry))
    # All bars of one statement hold at once as surely as was asked of them.
    asked = ask.terms.within is not None or ask.terms.confidence is not None
    contracts = [shares(query.contract, len(found) if asked else 1)[0] for query in found]
    queries = []
    for query, contract in zip(found, contracts, strict=True):
        refuse_aggregate(query)
        promise = _of_query(query, ask, registry, len(found))
        queries.append(replace(query, contract=contract, promise=promise))
    return queries


def _of_view(view: View, ask: Ask, registry: Registry) -> Promise:
    joins = any(isinstance(part, Join) for part in view.plan.walk())
    groups = next((part for part in view.plan.walk() if isinstance(part, Grouped)), None)
    if groups is not None:
        more = "of rows, by EMIT" if ask.terms.mode else "with more around it"
        asked = f"it asks for {groups.aggregates[0][1]}"
        raise not_promising(view.name, f"{asked} {'of a join' if joins else more}")
    if joins:
        return _of_join(view, ask, registry)
    selection = selection_plan(view)
    if selection is None:
        raise not_promising(view.name, "it is more than columns of rows that meet conditions")
    if not selection.where:
        raise BindError(
            "nothing is to be preferred: every row is part of the answer",
            f"query {view.name!r} has no WHERE on stream {selection.stream!r}",
            "leave the preference and the budget out, or write WHERE",
        )
    read = [name for part in selection.where for name in part.columns()]
    stream, window = registry.stream(selection.stream), selection.window
    if ask.terms.preference is None:
        name = _judged_by(stream, read, window, registry)
        return _promise(
            ask, (estimate(name),), "desc", ((stream, stream.name, name, window),), registry
        )
    expr = of_one(_sole(ask), stream, _alias(ask), None)
    sources = ((stream, stream.name, estimated(expr)[0], window),)
    return _promise(ask, (expr,), "desc", sources, registry)


def _of_query(query: Query, ask: Ask, registry: Registry, parts: int) -> Promise:
    """The promise of an aggregate, one of several parts of a statement that share its budget."""
    stream, window = registry.stream(query.stream), registry.window_of(query)
    x = query.select.x
    if ask.terms.preference is not None:
        expr, order = of_one(_sole(ask), stream, _alias(ask), x), ""
        name = estimated(expr)[0]
    else:
        read = [*(query.where.columns() if query.where is not None else ()), *([x] if x else [])]
        name = _judged_by(stream, read, window, registry)
        expr, order = estimate(name), "weighted"
        if query.select.name == "sum" and x is not None:
            expr, order = Expr("*", (expr, column(x))), "desc"
    sources = ((stream, stream.name, name, window),)
    return _promise(ask, (expr,), order, sources, registry, parts)


def _of_join(view: View, ask: Ask, registry: Registry) -> Promise:
    plan, liked = join_plan(view), ask.terms.preference
    if plan is None:
        join = next(part for part in view.plan.walk() if isinstance(part, Join))
        first, *rest = join.names
        equal = " AND ".join(f"{first}.k = {name}.k" for name in rest)
        raise BindError(
            "streams meet in one column that is equal on all sides",
            f"{', '.join(join.names)} meet on {join.on or 'nothing'}",
            f"write WHERE {equal}, without a function around k",
        )
    streams = {side.alias: registry.stream(side.stream) for side in plan.sides}
    if liked is not None:
        exprs = arranged(tuple(of_join(expr, streams) for expr in liked.exprs), tuple(streams))
        # The preference says in which of several columns the streams are to meet.
        plan = join_plan(replace(view, promise=Promise("desc", exprs))) or plan
    else:
        keys = _known_keys(view, plan, registry)
        exprs = tuple(estimate(f"{alias}.{key}") for alias, key in zip(streams, keys, strict=True))
        plan = join_plan(replace(view, promise=Promise("desc", exprs))) or plan
    sources = [
        (registry.stream(side.stream), side.alias, side.key.columns()[0], side.window)
        for side in plan.sides
    ]
    met = {f"{alias}.{key}" for _, alias, key, _ in sources}
    other = next((name for expr in exprs for name in estimated(expr) if name not in met), None)
    if other is not None:
        raise BindError(
            f"COUNT({other}) says nothing of the rows that meet",
            f"the streams meet in {' = '.join(sorted(met))}",
            f"write COUNT({min(met)})",
        )
    return _promise(ask, exprs, "desc", sources, registry)


def _known_keys(view: View, plan: PromisingJoinPlan, registry: Registry) -> tuple[str, ...]:
    """The columns to meet in: the first that are summarised on all sides, else the first."""
    classes = key_classes(view)
    for keys in classes:
        pairs = zip(plan.sides, keys, strict=True)
        if all(_summaries(side.stream, key, registry) for side, key in pairs):
            return keys
    return classes[0]


def _judged_by(stream: Stream, read: list[str], window: Window | None, registry: Registry) -> str:
    """The summarised column that regions of a stream are told by: one that is asked about."""
    there = [s.column for s in registry.summaries.values() if s.stream == stream.name]
    known = [name for name in read if name in there]
    if known or there:
        return (known or there)[0]
    plain = [name for name in (*read, *stream.key) if name in stream.schema.names]
    raise _no_summary(stream, (plain or stream.schema.names)[0], window, registry)


def _sole(ask: Ask) -> Expr:
    """The one expression of a preference about one stream."""
    liked = ask.terms.preference
    assert liked is not None, "only a preference has an expression"
    if liked.others:
        raise BindError(
            "a preference about one stream is one expression",
            f"{len(liked.exprs)} are written: {', '.join(map(str, liked.exprs))}",
            f"write one, such as {liked.expr}",
        )
    return liked.expr


def _alias(ask: Ask) -> str:
    assert isinstance(ask.query, Select), "checked before"
    source = ask.query.source
    assert isinstance(source, FromName), "checked before"
    return source.alias or source.name


_Source = tuple[Stream, str, str, Window | None]


def _promise(
    ask: Ask,
    exprs: tuple[Expr, ...],
    order: str,
    sources: Sequence[_Source],
    registry: Registry,
    parts: int = 1,
) -> Promise:
    """The promise with its budget; queries of one statement share what it may spend."""
    liked, budget = ask.terms.preference, dict(ask.terms.budget)
    probes, cpu = budget.get("probes"), budget.get("cpu")
    least = parts if len(sources) < 2 else len(sources) - 1
    if probes is not None and 0 < probes < least:
        what = f"{parts} aggregates take" if parts > 1 else f"a row of {len(sources)} streams takes"
        raise BindError(
            "with this budget nothing would ever be done",
            f"BUDGET PROBES {int(probes)}; {what} at least {least} at a tick",
            f"write BUDGET PROBES {least} or more",
        )
    named = tuple(
        (alias, _fitting(stream, column, window, registry).name)
        for stream, alias, column, window in sources
    )
    return Promise(
        order if liked is None else liked.order,
        exprs,
        1.0 if liked is None else liked.fade,
        None if probes is None else int(probes) // parts,
        None if cpu is None else cpu / parts,
        named,
    )


def _summaries(stream: str, column: str, registry: Registry) -> list[Summary]:
    there = registry.summaries.values()
    return [s for s in there if (s.stream, s.column) == (stream, column)]


def _fitting(stream: Stream, column: str, window: Window | None, registry: Registry) -> Summary:
    """The shortest summary that reaches back over a window, else the one that reaches furthest."""
    there = sorted(_summaries(stream.name, column, registry), key=lambda s: (s.span, s.name))
    if not there:
        raise _no_summary(stream, column, window, registry)
    if window is None or window.unbounded:
        return there[-1]
    return next((s for s in there if s.span >= window.length), there[-1])


def _no_summary(
    stream: Stream, column: str, window: Window | None, registry: Registry
) -> BindError:
    """The error that says which summary to create."""
    length = window.length if window is not None and not window.unbounded else 0
    reach = sum(RATE**number for number in range(DEPTH))
    ticks = -(-length // (reach * stream.tick))
    width = ticks * stream.tick if length else max(MINUTE, stream.tick)
    made = CreateSummary(f"{stream.name}_{column}", stream.name, column, width, RATE, DEPTH)
    there = ", ".join(f"{s.name} of {s.stream}({s.column})" for s in registry.summaries.values())
    return BindError(
        f"no summary tells which {column} of stream {stream.name!r} promises most",
        f"summaries are {there or 'none'}",
        f"write {render(made)}",
    )
