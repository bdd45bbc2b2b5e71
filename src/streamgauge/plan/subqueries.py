"""Subqueries in conditions and values, made into joins.

A subquery that reads nothing of the query around it is one relation, joined in. One that does is
grouped by what it is compared with, so that each row around finds its own value. A row is never
multiplied: what is joined has each key once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamgauge.kernel.errors import BindError
from streamgauge.language.statements import Query, Select
from streamgauge.operators.expression import (
    COMPARISONS,
    Expr,
    call,
    column,
    conjunction,
    conjuncts,
    literal,
)
from streamgauge.plan import typing_of
from streamgauge.plan.grouping import (
    aggregates_bound,
    aggregates_in,
    collected,
    has_aggregate,
    needs_groups,
)
from streamgauge.plan.names import Bound, Scope, settled
from streamgauge.plan.nodes import (
    Distinct,
    Grouped,
    Join,
    Named,
    Node,
    Ordered,
    Project,
)
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.sources import Context, as_relation, bind_from
from streamgauge.plan.substitute import filtered

SUBQUERIES = ("subquery", "exists", "in subquery")
_COUNT = Expr("aggregate", value="count")
_AROUND = "around"


@dataclass(frozen=True, slots=True)
class Inner:
    """The rows of a subquery, and the conditions that tie them to the query around."""

    select: Select
    bound: Bound
    ties: tuple[Expr, ...]


def where_of(source: Bound, where: Expr | None, context: Context) -> Bound:
    """The source under a WHERE, with the subqueries in it joined in."""
    functions = context.registry.functions
    parts = conjuncts(where)
    for part in parts:
        if has_aggregate(part, functions):
            raise BindError(
                "an aggregate cannot be inside WHERE",
                f"{next(aggregates_in(part, functions))} is computed from rows that passed it",
                "write the condition after HAVING",
            )
    plain = [part for part in parts if not part.has(*SUBQUERIES)]
    source = _filtered(source, plain, context)
    rest: list[Expr] = []
    for part in parts:
        if part.op in ("exists", "in subquery"):
            joined = semi_join(source, part, context)
            source, part = joined if joined is not None else attached(source, part, context)
        elif part.has(*SUBQUERIES):
            source, part = attached(source, part, context)
        else:
            continue
        rest.append(part)
    return _filtered(source, rest, context)


def _filtered(source: Bound, parts: list[Expr], context: Context) -> Bound:
    functions = context.registry.functions
    schema = schema_of(source.node, functions)
    ready = tuple(
        typing_of.condition(settled(source.scope.resolved(part)), schema, functions)
        for part in parts
        if part != literal(True)
    )
    return replace(source, node=filtered(source.node, ready))


def attached(source: Bound, expr: Expr, context: Context) -> tuple[Bound, Expr]:
    """The source with the subqueries of an expression joined in, and the expression over them."""
    places: dict[int, Expr] = {}
    for part in expr.walk():
        if part.op not in SUBQUERIES:
            continue
        if part.op == "subquery":
            source, places[id(part)] = _value(source, part.value, context)
        elif part.op == "exists":
            source, places[id(part)] = _exists(source, part.value, context)
        else:
            source, places[id(part)] = _contained(source, part, context)
    return source, expr.replaced(lambda part: places.get(id(part)))


def _value(source: Bound, query: Query, context: Context) -> tuple[Bound, Expr]:
    inner = _inner(query, source.scope, context)
    if inner is not None and inner.ties:
        return _tied_value(source, inner, context)
    bound = as_relation(context.bind(query, context), "the subquery", context)
    names = schema_of(bound.node, context.registry.functions).names
    if len(names) != 1:
        raise BindError(
            "a subquery used as a value must have one column",
            f"it has {', '.join(names)}",
            "select one",
        )
    name = _free(source, context)
    kind = _rows_of(bound.node, names[0])
    value = Project(bound.node, (("value", column(names[0])),))
    joined = _join(source, value, name, None, kind)
    return _keeping(joined, source), Expr("placed", value=f"{name}.value")


def _rows_of(node: Node, name: str) -> str:
    """How a value is joined: inner when there is always one row, left when there may be none."""
    if isinstance(node, Grouped) and not node.by:
        return "inner"
    if isinstance(node, Project):
        return _rows_of(node.input, name)
    if isinstance(node, Ordered) and node.limit == 1:
        return "left"
    raise BindError(
        "a subquery used as a value must give one row",
        f"nothing says that there is one row of {name}",
        "select an aggregate such as MAX(x), or add LIMIT 1",
    )


def _tied_value(source: Bound, inner: Inner, context: Context) -> tuple[Bound, Expr]:
    """A value per row around: a left join with the aggregates by what they are tied to."""
    functions, select = context.registry.functions, inner.select
    simple = not (select.group_by or select.having or select.distinct or select.limit)
    if len(select.items) != 1 or not simple or not has_aggregate(select.items[0].expr, functions):
        raise BindError(
            "a subquery that reads the query around must be one aggregate",
            f"it selects {', '.join(str(item.expr) for item in select.items)}",
            "select one aggregate, such as COUNT(*), without GROUP BY and LIMIT",
        )
    wanted = select.items[0].expr
    aggregates = collected([wanted], inner.bound, functions)
    named = tuple((f"a{i}", ready) for i, ready in enumerate(aggregates.values(), 1))
    places = {expr: f"a{i}" for i, expr in enumerate(aggregates, 1)}
    keys, tables = _tied(source, inner, named, context)
    name = _free(source, context)
    joined = _join(source, tables, name, _matched(keys, name), "left")

    def change(part: Expr) -> Expr | None:
        if part not in places:
            return None
        place = Expr("placed", value=f"{name}.{places[part]}")
        return call("coalesce", place, literal(0)) if _counts(part) else place

    return _keeping(joined, source), aggregates_bound(wanted, inner.bound).replaced(change)


def _counts(aggregate: Expr) -> bool:
    if aggregate.op in ("filter", "when"):
        return _counts(aggregate.args[0])
    return aggregate.value in ("count", "approx_count_distinct", "frequency", "f2")


def _exists(source: Bound, query: Query, context: Context) -> tuple[Bound, Expr]:
    inner = _inner(query, source.scope, context)
    name = _free(source, context)
    if inner is not None and inner.ties:
        keys, tables = _tied(source, inner, (("a1", _COUNT),), context)
        joined = _join(source, tables, name, _matched(keys, name), "left")
        found = call("coalesce", Expr("placed", value=f"{name}.a1"), literal(0))
    else:
        bound = as_relation(context.bind(query, context), "the subquery", context)
        joined = _join(source, Grouped(bound.node, (), (("a1", _COUNT),)), name, None, "inner")
        found = Expr("placed", value=f"{name}.a1")
    return _keeping(joined, source), Expr(">", (found, literal(0)))


def _contained(source: Bound, part: Expr, context: Context) -> tuple[Bound, Expr]:
    """IN anywhere but at the top of WHERE: true, false or unknown as SQL has it."""
    inner = _inner(part.value, source.scope, context)
    if inner is not None and inner.ties:
        raise BindError(
            "IN with a subquery that reads the query around must stand by itself in WHERE",
            f"{part.args[0]} IN (SELECT ...) is inside another condition",
            "write EXISTS or NOT EXISTS with the comparison in its WHERE",
        )
    if has_aggregate(part.args[0], context.registry.functions):
        raise BindError(
            "an aggregate cannot be looked up in a subquery",
            f"{part.args[0]} IN (SELECT ...)",
            "compute the aggregate in a subquery in FROM",
        )
    item, bound = _one_column(part.value, context)
    whole, one = _free(source, context, 0), _free(source, context, 1)
    counts: Named = (("a1", _COUNT), ("a2", Expr("aggregate", (item,), "count")))
    source = _keeping(_join(source, Grouped(bound.node, (), counts), whole, None, "inner"), source)
    sought = settled(source.scope.resolved(part.args[0]))
    _check_sought(sought, source, item, bound.node, context)
    matches = Grouped(bound.node, (("k1", item),), (("a1", _COUNT),))
    on = Expr("=", (sought, column(f"{one}.k1")))
    source = _keeping(_join(source, matches, one, on, "left"), source)
    n_rows, n_values, n_same = (
        Expr("placed", value=name) for name in (f"{whole}.a1", f"{whole}.a2", f"{one}.a1")
    )
    unknown = Expr("or", (Expr("is null", (part.args[0],)), Expr(">", (n_rows, n_values))))
    return source, Expr(
        "case",
        (
            Expr("=", (n_rows, literal(0))),
            literal(False),
            Expr(">", (call("coalesce", n_same, literal(0)), literal(0))),
            literal(True),
            unknown,
            literal(None),
            literal(False),
        ),
    )


def _one_column(query: Query, context: Context) -> tuple[Expr, Bound]:
    bound = as_relation(context.bind(query, context), "the subquery", context)
    names = schema_of(bound.node, context.registry.functions).names
    if len(names) != 1:
        raise BindError(
            "IN needs a subquery with one column", f"it has {', '.join(names)}", "select one"
        )
    return column(names[0]), bound


def semi_join(source: Bound, part: Expr, context: Context) -> tuple[Bound, Expr] | None:
    """Rows that have a partner, for EXISTS or IN at the top of WHERE; None when nothing ties."""
    inner = _inner(part.value, source.scope, context)
    tied = inner is not None and bool(inner.ties)
    name = _free(source, context)
    if part.op == "exists":
        if inner is None or not tied:
            return None
        keys, tables = _tied(source, inner, (), context)
    elif inner is not None and tied:
        keys, tables = _tied(source, _with_item(inner, part, source, context), (), context)
    else:
        item, bound = _one_column(part.value, context)
        sought = settled(source.scope.resolved(part.args[0]))
        _check_sought(sought, source, item, bound.node, context)
        keys = (("k1", sought, False),)
        tables = Distinct(Project(bound.node, (("k1", item),)))
    joined = _join(source, tables, name, _matched(keys, name), "inner")
    return _keeping(joined, source), literal(True)


def _with_item(inner: Inner, part: Expr, source: Bound, context: Context) -> Inner:
    if len(inner.select.items) != 1 or needs_groups(inner.select, context.registry.functions):
        raise BindError(
            "IN needs a subquery with one plain column",
            f"it selects {', '.join(str(item.expr) for item in inner.select.items)}",
            "select one column, without aggregates, or write EXISTS",
        )
    item = inner.bound.scope.resolved(inner.select.items[0].expr)
    here = settled(source.scope.resolved(part.args[0]))
    _check_sought(here, source, item, inner.bound.node, context)
    sought = source.scope.resolved(part.args[0]).replaced(
        lambda e: Expr("outer", value=e.value) if e.op == "column" else None
    )
    return replace(inner, ties=(*inner.ties, Expr("=", (item, sought))))


def _inner(query: Query, around: Scope, context: Context) -> Inner | None:
    """The rows of a plain subquery before it selects; None for one that cannot be tied."""
    if not isinstance(query, Select) or query.source is None:
        return None
    bound = bind_from(query.source, context)
    here = Scope(bound.scope.columns, around)
    own: list[Expr] = []
    ties: list[Expr] = []
    for part in conjuncts(query.where):
        if part.has(*SUBQUERIES):
            own.append(part)
            continue
        ready = here.resolved(part)
        (ties if ready.has("outer") else own).append(ready if ready.has("outer") else part)
    bound = where_of(bound, conjunction(tuple(own)), context) if ties else bound
    return Inner(query, bound, tuple(ties))


Key = tuple[str, Expr, bool]


def _tied(
    source: Bound, inner: Inner, aggregates: Named, context: Context
) -> tuple[tuple[Key, ...], Node]:
    """What is joined to the rows around: one row for each key, with its aggregates.

    With equalities only, the keys are the inner sides. Otherwise the different values around are
    joined with the inner rows first, so that each gets the rows that go with it.
    """
    pairs = [_equality(tie) for tie in inner.ties]
    if all(pair is not None for pair in pairs):
        sides = [pair for pair in pairs if pair is not None]
        for inside, around in sides:
            _check_tie(inside, around, source, inner, context)
        by: Named = tuple((f"k{i}", inside) for i, (inside, _) in enumerate(sides, 1))
        keys = tuple((f"k{i}", around, False) for i, (_, around) in enumerate(sides, 1))
        return keys, _one_each(inner.bound.node, by, aggregates)
    names = dict.fromkeys(e.value for tie in inner.ties for e in tie.walk() if e.op == "outer")
    places = {name: f"k{i}" for i, name in enumerate(names, 1)}
    values = Distinct(Project(source.node, tuple((places[name], column(name)) for name in names)))
    on = conjunction(
        tuple(
            tie.replaced(
                lambda e: column(f"{_AROUND}.{places[e.value]}") if e.op == "outer" else None
            )
            for tie in inner.ties
        )
    )
    schema = Join((values, inner.bound.node), (_AROUND, ""))
    functions = context.registry.functions
    assert on is not None, "there is a tie"
    checked = typing_of.condition(on, schema_of(schema, functions), functions)
    pairs_of = replace(schema, on=checked)
    by = tuple((place, column(f"{_AROUND}.{place}")) for place in places.values())
    keys = tuple(
        (place, column(name), not _rejects_null(name, inner.ties)) for name, place in places.items()
    )
    return keys, _one_each(pairs_of, by, aggregates)


def _check_tie(inside: Expr, around: Expr, source: Bound, inner: Inner, context: Context) -> None:
    functions = context.registry.functions
    one = typing_of.type_of(inside, schema_of(inner.bound.node, functions), functions)
    two = typing_of.type_of(around, schema_of(source.node, functions), functions)
    if typing_of.compared_type(one, two) is None:
        raise BindError(
            f"cannot compare {one} with {two}",
            f"{inside} of the subquery with {around} of the query around it",
            "compare values of one type, or convert one: CAST(x AS FLOAT)",
        )


def _one_each(node: Node, by: Named, aggregates: Named) -> Node:
    return Grouped(node, by, aggregates) if aggregates else Distinct(Project(node, by))


def _equality(tie: Expr) -> tuple[Expr, Expr] | None:
    """The inner and the outer side of an equality between them."""
    if tie.op != "=":
        return None
    for inside, around in (tie.args, tie.args[::-1]):
        if not inside.has("outer") and inside.has("column") and not around.has("column"):
            return inside, _around(around)
    return None


def _around(expr: Expr) -> Expr:
    return expr.replaced(lambda e: column(e.value) if e.op == "outer" else None)


def _rejects_null(name: str, ties: tuple[Expr, ...]) -> bool:
    """Whether a null in an outer column surely finds no partner."""
    strict = ("+", "-", "*", "/", "%", "neg", "outer", "column", "literal", *COMPARISONS)
    return any(
        tie.op in COMPARISONS
        and all(part.op in strict for part in tie.walk())
        and any(part.op == "outer" and part.value == name for part in tie.walk())
        for tie in ties
    )


def _matched(keys: tuple[Key, ...], name: str) -> Expr | None:
    """The condition that ties rows around to their keys; null meets null where it counts."""
    parts = []
    for place, around, nulls in keys:
        key = column(f"{name}.{place}")
        same = Expr("=", (around, key))
        if nulls:
            both = Expr("and", (Expr("is null", (around,)), Expr("is null", (key,))))
            same = Expr("or", (same, both))
        parts.append(same)
    return conjunction(tuple(parts))


def _join(source: Bound, other: Node, name: str, on: Expr | None, kind: str) -> Bound:
    return replace(source, node=Join((source.node, other), ("", name), on, kind))


def _check_sought(sought: Expr, source: Bound, item: Expr, inner: Node, context: Context) -> None:
    """Raise unless a value can be compared with what a subquery selects."""
    functions = context.registry.functions
    one = typing_of.type_of(sought, schema_of(source.node, functions), functions)
    two = typing_of.type_of(item, schema_of(inner, functions), functions)
    if typing_of.compared_type(one, two) is None:
        raise BindError(
            f"cannot compare {one} with {two}",
            f"in {sought} IN (SELECT {item} ...)",
            "compare values of one type, or convert one: CAST(x AS FLOAT)",
        )


def _keeping(joined: Bound, source: Bound) -> Bound:
    """A join with a relation that changes has to keep the rows of the stream around."""
    return replace(joined, kept=(*source.kept, *source.endless))


def _free(source: Bound, context: Context, skip: int = 0) -> str:
    """A name for a joined subquery that nothing has yet."""
    names = schema_of(source.node, context.registry.functions).names
    used = {name.partition(".")[0] for name in names}
    number = 1
    while f"sub{number}" in used:
        number += 1
    return f"sub{number + skip}"
