"""A plan over numbers with bars, made to carry the bars up to its answers.

Each column that is computed from a number with a bar is followed by its ends, `x.low` and `x.high`,
and each row by `confidence`, the probability that all bars in it hold (union bound).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr, call, column, literal
from streamgauge.operators.functions import Functions
from streamgauge.plan.bars import Bar, bar_of, bar_of_aggregate
from streamgauge.plan.nodes import (
    Combined,
    Filter,
    Grouped,
    Join,
    Named,
    Node,
    Numbers,
    Ordered,
    Project,
    Streamed,
)
from streamgauge.plan.schema_of import schema_of

FAILING = "failing"


@dataclass(frozen=True, slots=True)
class _Barred:
    """A plan, the bars of its columns, and the columns that hold chances of failure."""

    node: Node
    bars: dict[str, Bar] = field(default_factory=dict)
    failing: tuple[str, ...] = ()


def with_bars(node: Node, functions: Functions) -> Node:
    """The plan with the bars of its numbers; the same when it reads no query of numbers."""
    if not any(isinstance(part, Numbers) for part in node.walk()):
        return node
    if isinstance(node, Streamed):
        return replace(node, input=with_bars(node.input, functions))
    wanted = schema_of(node, functions).names
    found = _carried(node, functions)
    items: list[tuple[str, Expr]] = []
    for name in wanted:
        items.append((name, column(name)))
        if name in found.bars:
            low, high = found.bars[name]
            items += [(f"{name}.low", low), (f"{name}.high", high)]
    failing = _sum(found.failing)
    sure = call("greatest", literal(0.0), Expr("-", (literal(1.0), failing)))
    return Project(found.node, (*items, ("confidence", sure)))


def _carried(node: Node, functions: Functions) -> _Barred:
    if isinstance(node, Numbers):
        names = node.schema.names
        items = tuple((name, column(name)) for name in names)
        chance = (FAILING, literal(round(1.0 - node.confidence, 12)))
        bars = {"value": (column("low"), column("high"))}
        return _Barred(Project(node, (*items, chance)), bars, (FAILING,))
    inputs = [_carried(part, functions) for part in node.inputs()]
    if not any(part.failing for part in inputs):
        return _Barred(node)
    if isinstance(node, (Filter, Ordered)):
        return replace(inputs[0], node=node.over((inputs[0].node,)))
    if isinstance(node, Project):
        return _project(node, inputs[0])
    if isinstance(node, Join) and node.kind == "inner":
        return _join(node, inputs)
    if isinstance(node, Grouped):
        return _grouped(node, inputs[0])
    kind = node.kind if isinstance(node, (Combined, Join)) else type(node).__name__.lower()
    raise BindError(
        f"numbers with bars do not go through {kind}",
        "rows are told apart by values, which are known up to their bars only",
        "compute with +, -, *, /, SUM, AVG, MIN and MAX; filter, join and order as you like",
    )


def _project(node: Project, below: _Barred) -> _Barred:
    bars: dict[str, Bar] = {}
    items: list[tuple[str, Expr]] = list(node.items)
    for name, expr in node.items:
        bar = bar_of(expr, below.bars)
        if bar is not None:
            items += [(f"{name}.low", bar[0]), (f"{name}.high", bar[1])]
            bars[name] = (column(f"{name}.low"), column(f"{name}.high"))
    items.append((FAILING, _sum(below.failing)))
    return _Barred(Project(below.node, tuple(items)), bars, (FAILING,))


def _join(node: Join, inputs: list[_Barred]) -> _Barred:
    bars: dict[str, Bar] = {}
    failing: list[str] = []
    for name, part in zip(node.names, inputs, strict=True):
        prefix = f"{name}." if name else ""
        for own, (low, high) in part.bars.items():
            bars[prefix + own] = (_under(prefix, low), _under(prefix, high))
        failing += [prefix + own for own in part.failing]
    return _Barred(node.over(tuple(part.node for part in inputs)), bars, tuple(failing))


def _under(prefix: str, expr: Expr) -> Expr:
    assert expr.op == "column", "the ends of a bar are columns between nodes"
    return column(prefix + str(expr.value))


def _grouped(node: Grouped, below: _Barred) -> _Barred:
    for name, expr in node.by:
        if bar_of(expr, below.bars) is not None:
            raise BindError(
                f"groups cannot be by {name}", "it has a bar", "group by columns without one"
            )
    bars: dict[str, Bar] = {}
    aggregates: list[tuple[str, Expr]] = list(node.aggregates)
    for name, aggregate in node.aggregates:
        bar = bar_of_aggregate(aggregate, below.bars)
        if bar is not None:
            aggregates += [(f"{name}.low", bar[0]), (f"{name}.high", bar[1])]
            bars[name] = (column(f"{name}.low"), column(f"{name}.high"))
    chances: Named = ((FAILING, Expr("aggregate", (_sum(below.failing),), "sum")),)
    grouped = Grouped(below.node, node.by, (*aggregates, *chances))
    return _Barred(grouped, bars, (FAILING,))


def _sum(names: tuple[str, ...]) -> Expr:
    whole: Expr = call("coalesce", column(names[0]), literal(0.0))
    for name in names[1:]:
        whole = Expr("+", (whole, call("coalesce", column(name), literal(0.0))))
    return whole
