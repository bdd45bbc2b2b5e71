"""Whole streams that meet in a set are made distinct first.

Law: R op S = distinct(R) op distinct(S) for UNION, EXCEPT and INTERSECT of sets. Condition: rows of
the input only ever come, so that one small state for each different row replaces all of them.
"""

from __future__ import annotations

from streamgauge.operators.functions import Functions
from streamgauge.plan.keeping import append_only
from streamgauge.plan.nodes import Combined, Distinct, Node

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Combined,)


def apply(node: Node, functions: Functions) -> Node:
    """Make the inputs of sets distinct everywhere in a plan."""
    return node.rebuilt(_parted)


def _parted(node: Node) -> Node:
    if not isinstance(node, Combined) or node.all:
        return node
    return node.over(tuple(map(_once, node.inputs())))


def _once(part: Node) -> Node:
    is_set = isinstance(part, Distinct) or (isinstance(part, Combined) and not part.all)
    # For a stream that takes rows back the law holds too, and gains nothing.
    return part if is_set or not append_only(part, frozenset()) else Distinct(part)
