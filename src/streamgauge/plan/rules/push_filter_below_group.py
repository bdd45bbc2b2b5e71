"""A filter on the keys of groups goes below the grouping.

Law: filter(group(R, k), p(k)) = group(filter(R, p(k)), k) when p reads keys only: it takes whole
groups or none. Without keys there is one row whatever is in R, so nothing goes below.
"""

from __future__ import annotations

from dataclasses import replace

from streamgauge.operators.expression import conjuncts
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Filter, Grouped, Node
from streamgauge.plan.substitute import filtered, through

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Filter, Grouped)


def apply(node: Node, functions: Functions) -> Node:
    """Push filters on keys below groupings everywhere in a plan."""
    return node.rebuilt(_pushed)


def _pushed(node: Node) -> Node:
    if not isinstance(node, Filter) or not isinstance(node.input, Grouped):
        return node
    groups, keys = node.input, dict(node.input.by)
    parts = conjuncts(node.where)
    below = tuple(p for p in parts if p.columns() and set(p.columns()) <= set(keys))
    if not below:
        return node
    above = tuple(part for part in parts if part not in below)
    inner = filtered(groups.input, tuple(through(part, keys) for part in below))
    return filtered(replace(groups, input=inner), above)
