"""Rewrite: all rules, applied until nothing changes."""

from __future__ import annotations

from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Node
from streamgauge.plan.rules import (
    constant_folding,
    distinct_below_set,
    drop_order,
    drop_unused_columns,
    equality_closure,
    flatten_joins,
    merge_filters,
    merge_projects,
    push_filter_below_group,
    push_filter_below_join,
    push_filter_below_project,
    push_filter_below_set,
    push_filter_below_time_window,
)

# Equalities are followed before filters part on their way down.
RULES = (
    drop_order,
    constant_folding,
    merge_projects,
    push_filter_below_project,
    merge_filters,
    flatten_joins,
    equality_closure,
    distinct_below_set,
    push_filter_below_set,
    push_filter_below_group,
    push_filter_below_join,
    push_filter_below_time_window,
)
ROUNDS = 64


def rewrite(node: Node, functions: Functions, changing: frozenset[str] = frozenset()) -> Node:
    """The plan that gives the same rows with less work; `changing` streams take rows back."""
    for _ in range(ROUNDS):
        before = node
        there = {type(part) for part in node.walk()}
        for rule in RULES:
            if there.issuperset(rule.ABOUT):
                node = rule.apply(node, functions)
        if node == before:
            break
    narrowed = drop_unused_columns.apply(node, functions, changing)
    return merge_projects.apply(narrowed, functions)
