"""Bind: from a query as written to a plan over what is declared.

Names become columns, defaults become explicit, mistakes become errors that say what to write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from streamgauge.kernel.errors import BindError
from streamgauge.language.statements import Item, Order, Query, Select, SetSelect, With
from streamgauge.operators.expression import Expr, column
from streamgauge.plan import typing_of
from streamgauge.plan.grouping import grouped, needs_groups
from streamgauge.plan.monotone import monotone
from streamgauge.plan.names import Bound, Scope, Visible, settled
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Filter,
    Named,
    Node,
    Ordered,
    Project,
    Streamed,
)
from streamgauge.plan.registry import Registry
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.sources import Context, as_relation, bind_from, changing
from streamgauge.plan.subqueries import SUBQUERIES, attached, where_of


def bind(query: Query, registry: Registry) -> Node:
    """The plan of a query, as written and not yet rewritten."""
    return bound(query, registry).node


def bound(query: Query, registry: Registry) -> Bound:
    """The plan of a query, with what was written about windows.

    A query that never takes a row back, over streams without windows, is a stream of its rows.
    """
    result = _query(query, Context(registry, _inside))
    node = result.node
    if isinstance(node, Streamed) or result.windows or not monotone(node, changing(registry)):
        return result
    return replace(result, node=Streamed(node, "istream"))


def _inside(query: Query, context: Context) -> Bound:
    return _query(query, replace(context, inside=True))


def _query(query: Query, context: Context) -> Bound:
    if isinstance(query, With):
        for name, inner in query.names:
            found = as_relation(_inside(inner, context), repr(name), context)
            context = replace(context, names={**context.names, name: found})
        return _query(query.body, context)
    if isinstance(query, SetSelect):
        return _combined(query, context)
    return _select(query, context)


def _combined(query: SetSelect, context: Context) -> Bound:
    side = f"a side of {query.kind.upper()}"
    left = as_relation(_query(query.left, context), side, context)
    right = as_relation(_query(query.right, context), side, context)
    functions = context.registry.functions
    node: Node = Combined(left.node, right.node, query.kind, query.all)
    schema = schema_of(node, functions)
    if query.order_by or query.limit is not None:
        scope = Scope(tuple(Visible("", name, name) for name in schema.names))
        by = tuple(
            (_by_position(o, schema.names) or scope.resolved(o.expr), o.descending)
            for o in query.order_by
        )
        node = Ordered(node, by, query.limit)
    counted = query.all and query.kind == "union"
    endless = (*left.endless, *right.endless) if counted else ()
    scope = Scope(tuple(Visible("", name, name) for name in schema.names))
    windows = left.windows or right.windows
    return Bound(node, scope, "", windows, endless, (*left.kept, *right.kept))


def _by_position(order: Order, names: tuple[str, ...]) -> Expr | None:
    """ORDER BY 2 is by the second column."""
    number = order.expr.value
    if order.expr.op != "literal" or not isinstance(number, int) or isinstance(number, bool):
        return None
    if not 1 <= number <= len(names):
        raise BindError(
            f"there is no column {number} to order by",
            f"the query has {len(names)}",
            "count from 1, or write the column",
        )
    return column(names[number - 1])


@dataclass(frozen=True, slots=True)
class _Shape:
    """A relation below the select list, and how expressions are read over it."""

    bound: Bound
    place: Callable[[Expr], Expr]


def _select(select: Select, context: Context) -> Bound:
    functions = context.registry.functions
    source = bind_from(select.source, context)
    items = _expanded(select.items, source.scope)
    source = where_of(source, select.where, context)
    if needs_groups(select, functions):
        groups = grouped(select, items, source, functions)
        shape = _Shape(groups.bound, lambda expr: groups.placed(expr, functions))
    else:
        if select.having is not None:
            raise BindError(
                "HAVING is for groups",
                f"no group and no aggregate beside {select.having}",
                "write the condition after WHERE",
            )
        scope = source.scope
        shape = _Shape(source, lambda expr: settled(scope.resolved(expr)))
    if select.having is not None:
        shape, where = _read(shape, select.having, context)
        schema = schema_of(shape.bound.node, functions)
        kept = Filter(shape.bound.node, typing_of.condition(where, schema, functions))
        shape = replace(shape, bound=replace(shape.bound, node=kept))
    return _listed(select, items, shape, context)


def _read(shape: _Shape, expr: Expr, context: Context) -> tuple[_Shape, Expr]:
    """An expression over the shape, with its subqueries joined to it."""
    below = shape.bound
    if expr.has(*SUBQUERIES):
        below, expr = attached(below, expr, context)
    functions = context.registry.functions
    ready = typing_of.value(shape.place(expr), schema_of(below.node, functions), functions)
    return replace(shape, bound=below), ready


def _listed(select: Select, items: tuple[Item, ...], shape: _Shape, context: Context) -> Bound:
    """The select list, DISTINCT, ORDER BY, LIMIT and the kind of stream."""
    placed: list[Expr] = []
    for item in items:
        shape, ready = _read(shape, item.expr, context)
        placed.append(ready)
    names = _names(items, context)
    columns: Named = tuple(zip(names, placed, strict=True))
    shape, by, hidden = _order(select, items, columns, shape, context)
    below = shape.bound
    node = _projected(below.node, (*columns, *hidden), context)
    if select.distinct:
        node = Distinct(node)
    if by or select.limit is not None:
        node = Ordered(node, by, select.limit)
    if hidden:
        node = Project(node, tuple((name, column(name)) for name in names))
    if select.stream:
        node = Streamed(node, select.stream)
    scope = Scope(tuple(Visible("", name, name) for name in names))
    stored = select.distinct or select.limit is not None
    return replace(
        below, node=node, scope=scope, alias="", time="", endless=() if stored else below.endless
    )


def _projected(node: Node, items: Named, context: Context) -> Node:
    """The columns; nothing is done when they are those that are there."""
    there = schema_of(node, context.registry.functions).names
    same = tuple((name, column(name)) for name in there)
    return node if items == same else Project(node, items)


def _order(
    select: Select, items: tuple[Item, ...], columns: Named, shape: _Shape, context: Context
) -> tuple[_Shape, tuple[tuple[Expr, bool], ...], Named]:
    """The order, and columns that only the order needs."""
    names = tuple(name for name, _ in columns)
    by: list[tuple[Expr, bool]] = []
    hidden: list[tuple[str, Expr]] = []
    for order in select.order_by:
        place = _by_position(order, names) or _by_alias(order, items, names)
        if place is None:
            shape, ready = _read(shape, order.expr, context)
            found = next((n for n, expr in (*columns, *hidden) if expr == ready), None)
            if found is None:
                found = _free(f"order_{len(hidden) + 1}", names)
                hidden.append((found, ready))
            place = column(found)
        by.append((place, order.descending))
    if hidden and select.distinct:
        raise BindError(
            "DISTINCT rows can be ordered only by what is selected",
            f"{hidden[0][1]} is not in the select list",
            "select it too, or order by a selected column",
        )
    return shape, tuple(by), tuple(hidden)


def _by_alias(order: Order, items: tuple[Item, ...], names: tuple[str, ...]) -> Expr | None:
    if order.expr.op != "column" or order.expr.table:
        return None
    for item, name in zip(items, names, strict=True):
        if item.alias and item.alias == order.expr.value:
            return column(name)
    return None


def _free(wanted: str, names: tuple[str, ...]) -> str:
    return _unique([*names, wanted])[-1]


def _expanded(items: tuple[Item, ...], scope: Scope) -> tuple[Item, ...]:
    """Items with stars spelled out."""
    found: list[Item] = []
    for item in items:
        if item.expr.op == "star":
            found += [Item(column(c.column, c.table)) for c in scope.of_table(item.expr.table)]
        else:
            found.append(item)
    return tuple(found)


def _name(item: Item) -> str:
    """Alias, column or text of an item."""
    if item.alias:
        return item.alias
    if item.expr.op == "column":
        return str(item.expr.value)
    return "value" if item.expr.has(*SUBQUERIES) else str(item.expr)


def _names(items: tuple[Item, ...], context: Context) -> tuple[str, ...]:
    """Names of the columns: a query inside another must not leave one to be guessed."""
    names = [_name(item) for item in items]
    twice = next((name for name in names if names.count(name) > 1), None)
    if context.inside and twice is not None:
        raise BindError(
            f"two columns of a subquery are named {twice!r}",
            f"its columns are {', '.join(names)}",
            f"give one another name: {twice} AS {twice}_2",
        )
    return _unique(names)


def _unique(names: list[str]) -> tuple[str, ...]:
    """Names with a number after those that came before.

    >>> _unique(["a", "b", "a"])
    ('a', 'b', 'a_2')
    """
    found: list[str] = []
    for name in names:
        number, wanted = 2, name
        while wanted in found:
            wanted, number = f"{name}_{number}", number + 1
        found.append(wanted)
    return tuple(found)
