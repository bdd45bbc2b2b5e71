"""What holds of a column holds of its equals.

Law: (a = b and p(a)) implies p(b), so filter(R, a = b and p(a)) = filter(R, a = b and p(a) and
p(b)); p(b) may then go to another input of a join. Conditions: both columns have one type, p
compares one column with constants, and the equality must hold of every row that passes, which it
need not in the `on` of a left join.
"""

from __future__ import annotations

from dataclasses import replace

from streamgauge.operators.expression import COMPARISONS, Expr, conjunction, conjuncts
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Filter, Join, Node
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.substitute import filtered, through
from streamgauge.streams.schema import Schema

_CONSTANT = ("literal", "instant", "duration")

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = ()


def apply(node: Node, functions: Functions) -> Node:
    """Add what follows from equalities everywhere in a plan."""

    def change(part: Node) -> Node:
        if isinstance(part, Filter):
            below = part.input
            joined = isinstance(below, Join) and below.kind == "inner"
            around = conjuncts(below.on) if joined and isinstance(below, Join) else ()
            parts = (*around, *conjuncts(part.where))
            more = _implied(parts, schema_of(below, functions))
            return filtered(below, (part.where, *more)) if more else part
        if isinstance(part, Join) and part.kind == "inner" and part.on is not None:
            parts = conjuncts(part.on)
            more = _implied(parts, schema_of(part, functions))
            return replace(part, on=conjunction((*parts, *more))) if more else part
        return part

    return node.rebuilt(change)


def _implied(parts: tuple[Expr, ...], schema: Schema) -> tuple[Expr, ...]:
    """Conditions that follow and are not there yet."""
    if not any(p.op == "=" and all(a.op == "column" for a in p.args) for p in parts):
        return ()
    found: dict[Expr, None] = {}
    known = set(parts)
    for part in parts:
        if not _about_one(part):
            continue
        name = part.columns()[0]
        for other in sorted(_equals(name, parts, schema) - {name}):
            implied = through(part, {name: Expr("column", value=other)})
            if implied not in known:
                found[implied] = None
    return tuple(found)


def _about_one(part: Expr) -> bool:
    compares = part.op in (*COMPARISONS, "in", "between")
    plain = all(arg.op == "column" or arg.op in _CONSTANT for arg in part.args)
    return compares and plain and len([arg for arg in part.args if arg.op == "column"]) == 1


def _equals(name: str, parts: tuple[Expr, ...], schema: Schema) -> set[str]:
    """Columns that equal one, by way of any number of equalities."""
    found = {name}
    grown = True
    while grown:
        grown = False
        for part in parts:
            if part.op != "=" or any(arg.op != "column" for arg in part.args):
                continue
            pair = {str(arg.value) for arg in part.args}
            if len({schema.type(column) for column in pair}) == 1 and 0 < len(pair - found) < 2:
                found |= pair
                grown = True
    return found
