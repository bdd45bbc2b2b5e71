"""A filter goes below a window of time.

Law: filter(window(S), p) = window(filter(S, p)) when which rows are alive does not depend on
other rows: now, range and landmark. Windows by key depend on rows of the same key alone, so what
reads nothing but the key may go below them. Below a window of rows nothing may go: of rows 1, 2
the newest one that is odd is 1, while the newest one is not odd.
"""

from __future__ import annotations

from dataclasses import replace

from streamgauge.operators.expression import Expr, conjuncts
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Filter, Node, Windowed
from streamgauge.plan.restream import OF_TIME
from streamgauge.plan.substitute import filtered
from streamgauge.windows.window import Window

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Filter, Windowed)


def apply(node: Node, functions: Functions) -> Node:
    """Push filters below windows everywhere in a plan."""
    return node.rebuilt(_pushed)


def _pushed(node: Node) -> Node:
    if not isinstance(node, Filter) or not isinstance(node.input, Windowed):
        return node
    window = node.input.window
    parts = conjuncts(node.where)
    below = tuple(part for part in parts if _may(part, window))
    above = tuple(part for part in parts if not _may(part, window))
    if not below:
        return node
    return filtered(replace(node.input, input=filtered(node.input.input, below)), above)


def _may(part: Expr, window: Window) -> bool:
    if window.kind in OF_TIME:
        return True
    keyed = window.kind in ("partition", "session") and bool(window.by)
    return keyed and bool(part.columns()) and set(part.columns()) <= set(window.by)
