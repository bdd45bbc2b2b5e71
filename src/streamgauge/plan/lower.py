"""Lower: a bound plan becomes queries of numbers where it can, and a view of rows where not."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, UnsupportedWindow
from streamgauge.kernel.time import duration_text
from streamgauge.language.statements import Ask, FromName, Select, Terms
from streamgauge.language.statements import Query as Asked
from streamgauge.operators.expression import Expr
from streamgauge.plan import bidding, nonblocking
from streamgauge.plan.bind import bound
from streamgauge.plan.bounds import refuse_bare_values
from streamgauge.plan.extremes import extremes_of
from streamgauge.plan.memory import check_joins
from streamgauge.plan.nodes import Filter, Grouped, Node, Scan, Streamed, Windowed
from streamgauge.plan.numbers import queries_of
from streamgauge.plan.preferring import check_shape, preferred, windowed
from streamgauge.plan.query import Cadence, Query, every
from streamgauge.plan.registry import Registry
from streamgauge.plan.rewrite import rewrite
from streamgauge.plan.sources import changing
from streamgauge.plan.terms import Owed, owed, prefers
from streamgauge.plan.view import View
from streamgauge.plan.with_bars import with_bars


def planned(name: str, ask: Ask, registry: Registry, text: str = "") -> list[Query] | View:
    """What a question is registered as: queries of numbers, one per aggregate, or one view."""
    promising = prefers(ask.terms)
    if promising:
        ask = windowed(ask)
        check_shape(name, ask, registry)
    extremes = None if promising else extremes_of(name, ask, registry)
    if extremes is not None:
        return extremes
    result = bound(ask.query, registry)
    found = lower(name, result.node, ask.terms, registry, text)
    if promising:
        if isinstance(found, View):
            check_joins(result)
        found = preferred(found, ask, registry)
    if isinstance(found, View):
        return found
    return [_with_named_window(query, ask, registry) for query in found]


def _with_named_window(query: Query, ask: Ask, registry: Registry) -> Query:
    """A window that was given by its name stays a name, so that it can be resized later."""
    source = ask.query.source if isinstance(ask.query, Select) else None
    if not isinstance(source, FromName) or not isinstance(source.window, str):
        return query
    same = query.window == registry.windows[source.window]
    return replace(query, window=source.window) if same else query


def lower(
    name: str, node: Node, terms: Terms, registry: Registry, text: str = ""
) -> list[Query] | View:
    """A plan as queries of numbers, one per aggregate, or else as a view of its rows.

    Parameters
    ----------
    name
        Name of the query; several aggregates are named `name.alias`.
    node
        The bound plan.
    terms
        Its terms as written.
    registry
        All that is declared.
    text
        The query as written, for people.
    """
    said = owed(terms)
    for rewriting in () if said.promising else bidding.REWRITES:
        found = rewriting(name, node, said.contract_or(Contract()), said.answer)
        if found is not None:
            kept, regime, trend = said.history, said.regime, said.trend
            return [replace(q, history=kept, regime=regime, trend=trend) for q in found]
    numbers = queries_of(name, node, said, registry)
    if numbers is not None:
        return numbers
    return _view(name, node, said, registry, text)


def _view(name: str, node: Node, said: Owed, registry: Registry, text: str) -> View:
    _refuse_tolerance(node, said)
    nonblocking.check_order(node)
    if said.memory is not None:
        raise ContractUnsatisfiable(
            "no budget bounds the rows of a view",
            f"BUDGET MEMORY {said.memory:,}",
            "leave it out: windows bound what is kept, EXPLAIN says how",
        )
    _refuse_regime(said)
    plain = with_bars(_exact(node), registry.functions)
    _refuse_windows(plain)
    mode = said.mode or ("append" if isinstance(plain, Streamed) else "changes")
    nonblocking.check(plain, mode, changing(registry))
    plan = rewrite(plain, registry.functions, changing(registry))
    _refuse_bare_values(name, plan, registry)
    answer = _cadence(plan, said.answer, registry)
    return View(name, plan, text, answer, Contract.exact(said.fresh), said.history, mode)


def replanned(view: View, query: Asked, registry: Registry) -> View:
    """The view with its query planned anew, over what its names mean now."""
    changes = changing(registry)
    plain = with_bars(_exact(bound(query, registry).node), registry.functions)
    _refuse_windows(plain)
    nonblocking.check(plain, view.mode, changes)
    plan = rewrite(plain, registry.functions, changes)
    return replace(view, plan=plan, answer=_cadence(plan, view.answer, registry))


def _refuse_bare_values(name: str, plan: Node, registry: Registry) -> None:
    for part in plan.walk():
        if isinstance(part, Scan):
            refuse_bare_values(name, part.schema.names, registry.stream(part.stream))


def _refuse_tolerance(node: Node, said: Owed) -> None:
    contract = said.contract
    if contract is None or contract.tolerance == "exact":
        return
    groups = next((part for part in node.walk() if isinstance(part, Grouped)), None)
    if groups is not None and groups.aggregates:
        hint = f"ask for {groups.aggregates[0][1]} of one stream by itself, or write EXACT"
    else:
        hint = "leave WITHIN out; only an aggregate of one stream can be approximate"
    raise ContractUnsatisfiable(
        "rows are exact, a tolerance is for numbers", f"the query asks for {contract}", hint
    )


def _refuse_regime(said: Owed) -> None:
    words = (f"BY {said.regime.upper()}" if said.regime else "", "WITH TREND" if said.trend else "")
    asked = " ".join(word for word in words if word)
    if asked:
        raise BindError(
            "rows are never deferred, numbers are",
            f"{asked} in a query that answers rows",
            "ask for SUM or AVG of [PARTITION BY key ROWS 1], WITHIN 0.5 CONFIDENCE 0.9",
        )


def _refuse_windows(node: Node) -> None:
    for part in node.walk():
        if isinstance(part, Windowed) and part.window.kind == "decay":
            raise UnsupportedWindow(
                "rows do not fade, only sums of them do",
                f"[{part.window}] in a query that answers rows",
                "ask for COUNT, SUM or AVG alone with EVERY, or use [RANGE ...]",
            )


def _exact(node: Node) -> Node:
    """The plan with approximate aggregates as the exact ones they stand for."""

    def change(part: Node) -> Node:
        if not isinstance(part, Grouped):
            return part
        sizes = {expr for _, expr in part.aggregates if expr.value == "join_size"}
        if len(sizes) == len(part.aggregates) == 1:
            asked = sizes.pop()
            _refuse_one_side(asked)
            pairs = Filter(part.input, Expr("=", asked.args))
            count = Expr("aggregate", value="count")
            return Grouped(pairs, part.by, ((part.aggregates[0][0], count),))
        named = tuple((name, _exact_aggregate(expr)) for name, expr in part.aggregates)
        return replace(part, aggregates=named)

    return node.rebuilt(change)


def _refuse_one_side(expr: Expr) -> None:
    """Pairs are of rows of two sources; above a join a column is called after its own."""
    sides = [{name.partition(".")[0] for name in arg.columns()} for arg in expr.args]
    qualified = all("." in name for arg in expr.args for name in arg.columns())
    if not qualified or any(len(side) != 1 for side in sides) or sides[0] == sides[1]:
        raise BindError(
            "join_size compares a column of one source with a column of another",
            f"in {expr}",
            "write JOIN_SIZE(a.x, b.x) FROM s [RANGE 1 MINUTE] a, t [RANGE 1 MINUTE] b",
        )


def _exact_aggregate(expr: Expr) -> Expr:
    if expr.op == "filter":
        return replace(expr, args=(_exact_aggregate(expr.args[0]), expr.args[1]))
    args = expr.args
    if expr.op == "when" or expr.value in ("top_k", "f2", "join_size"):
        raise BindError(
            f"{expr} answers numbers and cannot be part of rows",
            "it is beside something else, or its query has more than one window of one stream",
            "ask for it by itself: SELECT ... FROM stream [RANGE 1 MINUTE]",
        )
    if expr.op != "aggregate":
        return expr
    if expr.value in ("var", "stddev") and any(arg.op == "weight" for arg in args):
        raise BindError(
            f"{expr} answers numbers and cannot be part of rows",
            "rows that come and go are weighed in sums and averages only",
            "ask for it by itself: SELECT VAR(x WEIGHT w) FROM stream [RANGE 1 MINUTE]",
        )
    if expr.value == "approx_count_distinct":
        return Expr("aggregate", (Expr("distinct", args),), "count")
    if expr.value in ("median", "approx_median"):
        return Expr("aggregate", args, "median")
    if expr.value == "approx_quantile":
        return Expr("aggregate", args, "quantile")
    if expr.value == "frequency":
        chosen = Expr("=", (args[0], args[1]))
        return Expr("filter", (Expr("aggregate", value="count"), chosen))
    return expr


def _cadence(plan: Node, answer: Cadence, registry: Registry) -> Cadence:
    """When a view answers; on close is every slide of its windows."""
    if answer.kind == "change" and answer.by:
        raise BindError(
            "rows do not change by an amount",
            f"the query answers {answer}",
            "write ON CHANGE, or EVERY 10 SECONDS",
        )
    if answer.kind == "close":
        slides = {part.window.slide for part in plan.walk() if isinstance(part, Windowed)}
        slide = next(iter(slides)) if len(slides) == 1 else None
        if slide is None:
            raise BindError(
                "ON CLOSE needs windows that all move by one slide",
                f"slides here are {', '.join(sorted(map(_slide_text, slides))) or 'none'}",
                "write [RANGE 5 MINUTES SLIDE 1 MINUTE], or EVERY 1 MINUTE",
            )
        answer = replace(every("1 s"), period=slide)
    if answer.kind == "every":
        _check_period(plan, answer, registry)
    return answer


def _slide_text(slide: int | None) -> str:
    return "none" if slide is None else duration_text(slide)


def _check_period(plan: Node, answer: Cadence, registry: Registry) -> None:
    for name in View("", plan).streams:
        tick = registry.stream(name).tick
        if answer.period % tick:
            raise BindError(
                f"cadence {answer} is not a whole number of ticks",
                f"the tick of stream {name!r} is {duration_text(tick)}",
                f"use a multiple of {duration_text(tick)}",
            )
