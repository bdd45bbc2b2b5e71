"""Inputs: the operators of a stream by the way in which its rows reach them.

Operators that rows reach in the same way share an input: its rows are sent once for all of them.
"""

from __future__ import annotations

import json
from dataclasses import replace

from streamgauge.plan.distribution import Distribution, HashBy, Local, Merged, Subscribed
from streamgauge.plan.registry import Standing
from streamgauge.plan.sharing import StreamPlan
from streamgauge.plan.technique import Key

# The input of operators whose shards read all rows.
REPLICATED = ""
# The input of ungrouped tables that take sums: the rows of each go to the one shard that has it.
SINGLE = "[]"
# The input of queries that list series: rows go to the shards that have queries of theirs.
SUBSCRIBED = "series"
# Rows that any shard can work on.
LOCAL = "local"


def input_of(key: Key) -> str:
    """The name of the input that brings the rows of an operator."""
    match key.distribution:
        case Merged(by) | HashBy(by):
            return json.dumps(list(by))
        case Subscribed():
            return SUBSCRIBED
    return REPLICATED


def logged_input(route: Distribution | None) -> str | None:
    """The name of the rows that operators take as they stand in the log; None: all rows."""
    match route:
        case Local():
            return LOCAL
        case HashBy(by):
            return json.dumps(list(by))
    return None


def columns_of(name: str) -> tuple[str, ...]:
    """The columns that an input is hashed by."""
    return () if name in (REPLICATED, SUBSCRIBED, LOCAL) else tuple(json.loads(name))


def inputs_of(plan: StreamPlan) -> dict[str, StreamPlan]:
    """The plan of a stream, cut into the inputs that bring its rows to their operators.

    The one that brings all rows is always there, without work if nothing needs it.
    """
    parts: dict[str, dict[Key, list[Standing]]] = {REPLICATED: {}}
    for key, queries in plan.operators.items():
        parts.setdefault(input_of(key), {})[key] = queries
    return {name: replace(plan, operators=found) for name, found in parts.items()}
