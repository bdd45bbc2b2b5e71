"""An order inside a plan goes.

Law: a relation is a bag, so op(order(R)) = op(R) for every operation op. An order that picks the
first rows is not of this kind. Condition: the order is not the outermost node, where it says how
rows are shown.
"""

from __future__ import annotations

from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Node, Ordered

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Ordered,)


def apply(node: Node, functions: Functions) -> Node:
    """Drop orders everywhere below the root of a plan."""
    return node.over(tuple(part.rebuilt(_unordered) for part in node.inputs()))


def _unordered(node: Node) -> Node:
    return node.input if isinstance(node, Ordered) and node.limit is None else node
