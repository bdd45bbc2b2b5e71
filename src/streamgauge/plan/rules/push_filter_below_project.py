"""A filter goes below a projection.

Law: filter(project(R, f), p) = project(filter(R, p after f), f): each row is judged by the same
values before it is computed as after.
"""

from __future__ import annotations

from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Filter, Node, Project
from streamgauge.plan.substitute import filtered, through

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Filter, Project)


def apply(node: Node, functions: Functions) -> Node:
    """Push filters below projections everywhere in a plan."""
    return node.rebuilt(_pushed)


def _pushed(node: Node) -> Node:
    if not isinstance(node, Filter) or not isinstance(node.input, Project):
        return node
    project = node.input
    return Project(
        filtered(project.input, (through(node.where, dict(project.items)),)), project.items
    )
