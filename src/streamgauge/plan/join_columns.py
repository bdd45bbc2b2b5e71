"""Which input of a join a column comes from, and what it is called there."""

from __future__ import annotations

from streamgauge.operators.expression import Expr, column
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Join
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.substitute import through

Sides = tuple[dict[str, Expr], ...]


def sides_of(node: Join, functions: Functions) -> Sides:
    """For each input, its columns by their names above the join."""
    found = []
    for part, name in zip(node.parts, node.names, strict=True):
        names = schema_of(part, functions).names
        found.append({f"{name}.{c}" if name else c: column(c) for c in names})
    return tuple(found)


def side_of(expr: Expr, sides: Sides) -> int | None:
    """The one input that an expression reads; None for several or none."""
    read = {place for name in expr.columns() for place, side in enumerate(sides) if name in side}
    return next(iter(read)) if len(read) == 1 else None


def pushed(
    parts: tuple[Expr, ...], sides: Sides, allowed: tuple[int, ...]
) -> tuple[dict[int, tuple[Expr, ...]], tuple[Expr, ...]]:
    """Conditions that go to one input each, in its own names, and the rest."""
    below: dict[int, tuple[Expr, ...]] = {}
    rest: list[Expr] = []
    for part in parts:
        place = side_of(part, sides)
        if place is None or place not in allowed:
            rest.append(part)
        else:
            below[place] = (*below.get(place, ()), through(part, sides[place]))
    return below, tuple(rest)
