"""Inner joins inside inner joins are one join of many inputs.

Law: (A join B on p) join C on q = join of A, B, C on (p and q): the same combinations of rows
meet the same conditions. The order of joining is then free. Condition: columns of the inner join
keep their names, which they do when it has none of its own above.
"""

from __future__ import annotations

from streamgauge.operators.expression import conjunction, conjuncts
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Join, Node

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Join,)


def apply(node: Node, functions: Functions) -> Node:
    """Flatten inner joins everywhere in a plan."""
    return node.rebuilt(_flat)


def _flat(node: Node) -> Node:
    if not isinstance(node, Join) or node.kind != "inner":
        return node
    parts: list[Node] = []
    names: list[str] = []
    conditions = list(conjuncts(node.on))
    for part, name in zip(node.parts, node.names, strict=True):
        if isinstance(part, Join) and part.kind == "inner" and not name:
            parts += part.parts
            names += part.names
            conditions = [*conjuncts(part.on), *conditions]
        else:
            parts.append(part)
            names.append(name)
    if len(parts) == len(node.parts):
        return node
    return Join(tuple(parts), tuple(names), conjunction(tuple(conditions)))
