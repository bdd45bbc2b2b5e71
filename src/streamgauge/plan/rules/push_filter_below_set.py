"""A filter goes below DISTINCT, UNION, EXCEPT and INTERSECT.

Law: filter(A op B, p) = filter(A, p) op filter(B, p). All four decide about each different row by
its counts alone, and p is true of all copies of a row or of none. Condition: a column has the same
type on both sides, since p may be of another opinion about 1 than about 1.0.
"""

from __future__ import annotations

from streamgauge.operators.expression import column
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Combined, Distinct, Filter, Node
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.substitute import through

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Filter,)


def apply(node: Node, functions: Functions) -> Node:
    """Push filters below set operations everywhere in a plan."""
    if not any(isinstance(part, (Distinct, Combined)) for part in node.walk()):
        return node

    def change(part: Node) -> Node:
        if not isinstance(part, Filter):
            return part
        if isinstance(part.input, Distinct):
            return Distinct(Filter(part.input.input, part.where))
        if isinstance(part.input, Combined):
            return _below(part, part.input, functions)
        return part

    return node.rebuilt(change)


def _below(node: Filter, sets: Combined, functions: Functions) -> Node:
    left, right = (schema_of(side, functions) for side in (sets.left, sets.right))
    if [kind for _, kind in left.columns] != [kind for _, kind in right.columns]:
        return node
    names = {a: column(b) for a, b in zip(left.names, right.names, strict=True)}
    return Combined(
        Filter(sets.left, node.where),
        Filter(sets.right, through(node.where, names)),
        sets.kind,
        sets.all,
    )
