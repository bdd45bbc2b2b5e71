"""Two projections in a row are one, and one that changes nothing is none.

Law: project(project(R, f), g) = project(R, g after f). Both keep every row, so bags agree.
Condition: expressions give the same value for the same row, which all here do.
"""

from __future__ import annotations

from streamgauge.operators.expression import column
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Node, Project
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.substitute import through_named

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Project,)


def apply(node: Node, functions: Functions) -> Node:
    """Merge projections everywhere in a plan."""

    def change(part: Node) -> Node:
        if not isinstance(part, Project):
            return part
        if isinstance(part.input, Project):
            inside = dict(part.input.items)
            part = Project(part.input.input, through_named(part.items, inside))
        names = schema_of(part.input, functions).names
        same = tuple((name, column(name)) for name in names)
        return part.input if part.items == same else part

    return node.rebuilt(change)
