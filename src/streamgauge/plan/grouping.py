"""GROUP BY and aggregates: what is a key, what is an aggregate, what is neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from streamgauge.kernel.errors import BindError
from streamgauge.language.statements import Item, Select
from streamgauge.operators.expression import Expr, column
from streamgauge.operators.functions import Functions
from streamgauge.plan.names import Bound, Scope, Visible, settled
from streamgauge.plan.nodes import Grouped
from streamgauge.plan.schema_of import aggregate_type, schema_of
from streamgauge.plan.typing_of import timed, value

APPROXIMATE = {
    "approx_median": "approx_median",
    "approx_quantile": "approx_quantile",
    "approx_percentile": "approx_quantile",
}


def is_aggregate(expr: Expr, functions: Functions) -> bool:
    """Whether an expression is an aggregate, with the FILTER or WHEN around it."""
    if expr.op == "call":
        own = functions.get(expr.value)
        return expr.value in APPROXIMATE or (own is not None and own.aggregate)
    return expr.op in ("aggregate", "filter", "when")


def aggregates_in(expr: Expr, functions: Functions) -> Iterator[Expr]:
    """The outermost aggregates inside an expression."""
    if is_aggregate(expr, functions):
        yield expr
        return
    for arg in expr.args:
        yield from aggregates_in(arg, functions)


def has_aggregate(expr: Expr | None, functions: Functions) -> bool:
    """Whether there is an aggregate inside."""
    return expr is not None and next(aggregates_in(expr, functions), None) is not None


def needs_groups(select: Select, functions: Functions) -> bool:
    """Whether a select has groups: it says so, or it has an aggregate."""
    parts = [item.expr for item in select.items]
    parts += [order.expr for order in select.order_by]
    if select.having is not None:
        parts.append(select.having)
    return bool(select.group_by) or any(has_aggregate(part, functions) for part in parts)


@dataclass(frozen=True, slots=True)
class Groups:
    """A grouped relation, and how expressions of the select list read it.

    Parameters
    ----------
    bound
        The relation: keys, then aggregates.
    source
        The rows that are grouped.
    keys, aggregates
        Bound expressions to the columns they are kept in.
    """

    bound: Bound
    source: Bound
    keys: dict[Expr, str]
    aggregates: dict[Expr, str]

    def placed(self, expr: Expr, functions: Functions) -> Expr:
        """An expression over keys and aggregates, as one over the grouped relation."""

        def change(part: Expr) -> Expr | None:
            if part in self.keys:
                return column(self.keys[part])
            if is_aggregate(part, functions):
                return column(self.aggregates[part])
            if part.op == "column":
                raise BindError(
                    f"column {part} is neither grouped nor aggregated",
                    f"groups are by {', '.join(map(str, self.keys)) or 'nothing'}",
                    f"add it to GROUP BY, or take MAX({part})",
                )
            return None

        return settled(aggregates_bound(expr, self.source).replaced(change))


def grouped(select: Select, items: tuple[Item, ...], source: Bound, functions: Functions) -> Groups:
    """The source grouped as a select says."""
    keys = _keys(select, items, source, functions)
    parts = [item.expr for item in items] + [order.expr for order in select.order_by]
    if select.having is not None:
        parts.append(select.having)
    return over(source, keys, collected(parts, source, functions))


def over(source: Bound, keys: dict[Expr, Expr], aggregates: dict[Expr, Expr]) -> Groups:
    """The source grouped by keys, with some aggregates, each named by its text.

    Both are given as bound expressions, with what they are once times are read.
    """
    by = tuple((_name(expr), expr) for expr in dict.fromkeys(keys.values()))
    named = tuple((str(expr), expr) for expr in dict.fromkeys(aggregates.values()))
    node = Grouped(source.node, by, named)
    columns = tuple(
        Visible(c.table, c.column, name)
        for name, expr in by
        for c in source.scope.columns
        if expr == column(c.name)
    )
    bound = replace(source, node=node, scope=Scope(columns), alias="", endless=())
    places = {expr: _name(ready) for expr, ready in keys.items()}
    return Groups(bound, source, places, {e: str(ready) for e, ready in aggregates.items()})


def _name(key: Expr) -> str:
    return str(key.value) if key.op == "column" else str(key)


def collected(parts: Iterable[Expr], source: Bound, functions: Functions) -> dict[Expr, Expr]:
    """All aggregates in some expressions, bound, with what they are once times are read."""
    schema = schema_of(source.node, functions)
    found: dict[Expr, Expr] = {}
    for part in parts:
        for raw in aggregates_in(part, functions):
            _refuse_nested(raw, functions)
            bound = aggregates_bound(raw, source)
            ready = timed(bound, schema, functions) if bound.op != "when" else bound
            aggregate_type(ready, schema, functions)
            found[bound] = ready
    return found


def aggregates_bound(expr: Expr, source: Bound) -> Expr:
    """An expression over the rows of a source, with its aggregates spelled out.

    Approximate ones are written as calls; FIRST and LAST go by event time unless they say by what.
    """

    def change(part: Expr) -> Expr | None:
        if part.op == "call" and part.value in APPROXIMATE:
            return Expr("aggregate", part.args, APPROXIMATE[part.value])
        if part.op == "aggregate" and part.value in ("first", "last") and len(part.args) == 1:
            if not source.time:
                raise BindError(
                    f"{part.value} does not know which row came {part.value}",
                    f"the rows of {part} are not those of one stream",
                    f"say by which column: {part.value.upper()}({part.args[0]}, ts)",
                )
            return Expr("aggregate", (*part.args, column(source.time)), part.value)
        return None

    return source.scope.resolved(expr).replaced(change)


def _refuse_nested(raw: Expr, functions: Functions) -> None:
    # The condition of WHEN is about another aggregate; what is in front of it is not.
    raw = raw.args[0] if raw.op == "when" else raw
    inside = raw.args
    if raw.op == "filter":
        inside = (*raw.args[0].args, raw.args[1])
    for arg in inside:
        if has_aggregate(arg, functions):
            raise BindError(
                "an aggregate cannot be inside another",
                f"in {raw}",
                "compute the inner one in a subquery in FROM",
            )
        if arg.has("subquery", "exists", "in subquery"):
            raise BindError(
                "a subquery cannot be inside an aggregate",
                f"in {raw.value}",
                "compute it in a subquery in FROM",
            )


def _keys(
    select: Select, items: tuple[Item, ...], source: Bound, functions: Functions
) -> dict[Expr, Expr]:
    schema = schema_of(source.node, functions)
    keys: dict[Expr, Expr] = {}
    for raw in select.group_by:
        meant = _meant(raw, items, source.scope)
        if has_aggregate(meant, functions):
            raise BindError(
                "rows cannot be grouped by an aggregate", f"in GROUP BY {meant}", "use HAVING"
            )
        bound = source.scope.resolved(meant)
        keys[bound] = value(bound, schema, functions)
    return keys


def _meant(raw: Expr, items: tuple[Item, ...], scope: Scope) -> Expr:
    """A key by position or by alias stands for that item."""
    if raw.op == "literal" and isinstance(raw.value, int) and not isinstance(raw.value, bool):
        if not 1 <= raw.value <= len(items):
            raise BindError(
                f"there is no item {raw.value} to group by",
                f"the select list has {len(items)}",
                "count from 1, or write the column",
            )
        return items[raw.value - 1].expr
    if raw.op == "column" and not raw.table and scope.find(raw.value) is None:
        for item in items:
            if item.alias == raw.value:
                return item.expr
    return raw
