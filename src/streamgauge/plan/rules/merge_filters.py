"""Two filters in a row are one.

Law: filter(filter(R, p), q) = filter(R, p and q), for any R: a row passes when both are true.
A condition that is there twice is there once.
"""

from __future__ import annotations

from streamgauge.operators.expression import conjuncts
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Filter, Node
from streamgauge.plan.substitute import filtered

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Filter,)


def apply(node: Node, functions: Functions) -> Node:
    """Merge filters everywhere in a plan."""
    return node.rebuilt(_merged)


def _merged(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    parts = conjuncts(node.where)
    if isinstance(node.input, Filter):
        return filtered(node.input.input, (*conjuncts(node.input.where), *parts))
    return filtered(node.input, parts) if len(set(parts)) < len(parts) else node
