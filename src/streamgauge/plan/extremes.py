"""Extremes: MAX or MIN over a window of the values that a query over latest values had."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.kernel.errors import BindError
from streamgauge.language.parse import parse
from streamgauge.language.statements import (
    Ask,
    CreateView,
    From,
    FromName,
    FromSelect,
    Select,
    With,
)
from streamgauge.language.statements import Query as Asked
from streamgauge.operators.expression import Expr
from streamgauge.plan.bind import bound
from streamgauge.plan.families import Numbers
from streamgauge.plan.grouping import needs_groups
from streamgauge.plan.numbers import named, numbers_of
from streamgauge.plan.over import KINDS, Over
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.sources import window_value
from streamgauge.plan.terms import owed
from streamgauge.windows.window import Window


def extremes_of(name: str, ask: Ask, registry: Registry) -> list[Query] | None:
    """The queries of SELECT MAX(level) FROM (SELECT AVG(...) AS level ...) [RANGE ...].

    None when the question is another one: a window after anything else is for `bind` to judge.
    """
    asked = ask.query.body if isinstance(ask.query, With) else ask.query
    if not isinstance(asked, Select) or _more(asked):
        return None
    inside, window = _inside(ask.query, asked.source, registry)
    if inside is None or window is None:
        return None
    tops = [(item.alias or str(item.expr), item.expr) for item in asked.items if _top(item.expr)]
    keys = [item.expr for item in asked.items if not _top(item.expr)]
    if not tops or any(key not in asked.group_by for key in keys):
        return None
    node = bound(inside, registry).node
    said = replace(owed(ask.terms), over=Over(str(tops[0][1].value), window))
    values = dict(numbers_of(node, said, registry) or ())
    if not values or any(query.window is not None for query in values.values()):
        return None
    groups = [n for n in schema_of(node, registry.functions).names if n not in values]
    _check_groups(asked, groups, next(iter(values.values())))
    found: Numbers = []
    for alias, expr in tops:
        of = values.get(str(expr.args[0].value))
        if of is None:
            return None
        found.append((alias, replace(of, over=Over(str(expr.value), window))))
    return named(name, found)


def _more(asked: Select) -> bool:
    """Whether a query has clauses that are about rows."""
    rows = asked.where, asked.having, asked.limit
    return any(part is not None for part in rows) or bool(
        asked.distinct or asked.order_by or asked.stream
    )


def _inside(
    whole: Asked, source: From | None, registry: Registry
) -> tuple[Asked | None, Window | None]:
    """The query whose values are meant, and the window after it; None when it has no aggregate."""
    if not isinstance(source, (FromName, FromSelect)) or source.window is None:
        return None, None
    before: tuple[tuple[str, Asked], ...] = whole.names if isinstance(whole, With) else ()
    inside: Asked | None = None
    if isinstance(source, FromSelect):
        inside = source.select
    elif source.name in dict(before):
        inside = dict(before)[source.name]
        before = before[: [name for name, _ in before].index(source.name)]
    elif source.name in registry.names:
        statement = parse(registry.names[source.name])
        inside = statement.query if isinstance(statement, (Ask, CreateView)) else None
        before = ()
    if not isinstance(inside, Select) or not needs_groups(inside, registry.functions):
        return None, None
    return With(before, inside) if before else inside, window_value(source.window, registry)


def _top(expr: Expr) -> bool:
    """Whether an expression is MAX or MIN of one column."""
    if expr.op != "aggregate" or expr.value not in KINDS:
        return False
    return len(expr.args) == 1 and expr.args[0].op == "column"


def _check_groups(asked: Select, groups: list[str], query: Query) -> None:
    """Each group has its own extreme, so the groups of both must be the same."""
    given = {str(key.value) for key in asked.group_by if key.op == "column"}
    if given == set(groups) and len(asked.group_by) == len(groups) == len(query.cells):
        return
    inside = ", ".join(groups) or "no group"
    outside = ", ".join(str(key) for key in asked.group_by) or "no group"
    if len(groups) < len(query.cells):
        hint = f"select {', '.join(query.cells)} inside, and group by the same outside"
    else:
        hint = f"write GROUP BY {inside}" if groups else "leave GROUP BY out"
    raise BindError(
        "an extreme over a window is taken of each group by itself",
        f"inside are {inside}, outside {outside}",
        hint,
    )
