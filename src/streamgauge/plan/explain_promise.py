"""EXPLAIN of promising queries: what comes first, by which summaries, and what it may spend.

These lines say what was asked. What was measured since is told by EXPLAIN ANALYZE.
"""

from __future__ import annotations

import math

from streamgauge.kernel.time import duration_text
from streamgauge.plan.promise_check import Source, sources_of
from streamgauge.plan.promising import SelectionPlan, selection_plan
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.view import View
from streamgauge.promise.promise import Promise
from streamgauge.promise.summary import Summary
from streamgauge.windows.window import Window

_ORDERS = {
    "desc": "those that promise most first",
    "asc": "those that promise least, but something, first",
    "weighted": "work shared in the ratio of what they promise",
}


# Why rows of a query are not split.
ONE_BUDGET = "one budget chooses among all rows"


def promise_lines(asked: Query | View, registry: Registry, shards: int) -> list[str]:
    """What is preferred, the regions, the budget and what becomes of an overload."""
    promise = asked.promise
    if promise is None:
        return []
    sources = sources_of(asked, promise, registry.windows)
    named = dict(promise.summaries)
    pairs = [(source, registry.summaries[named[source.alias]]) for source in sources]
    if isinstance(asked, Query):
        regions = [_cells(*pairs[0], "strata", "panes")]
    elif len(pairs) == 1:
        zones = f"zones of the last {duration_text(pairs[0][1].granularity)}"
        selection = selection_plan(asked)
        assert selection is not None, "a promising view of one stream is a selection"
        regions = [_cells(*pairs[0], "cells", zones), _reach(selection)]
    else:
        apart = len(pairs) == 2 and promise.fade < 1.0
        regions = [_regions(*pair, apart=apart) for pair in pairs]
    return [
        f"promise of regions: {_preference(promise)}",
        *regions,
        f"budget {_budget(asked, promise, registry)}; {_probe(asked, promise, len(pairs))}",
        *_overload(asked, len(pairs), shards),
    ]


def _preference(promise: Promise) -> str:
    exprs = ", ".join(map(str, promise.exprs))
    fade = f", fading by {promise.fade:g} a granularity" if promise.fade < 1.0 else ""
    return f"{exprs}{fade}; {_ORDERS[promise.order]}"


def _regions(source: Source, summary: Summary, *, apart: bool) -> str:
    """The granularities that meet a window; they are regions of their own where age counts."""
    meeting = _meeting(summary, source.window)
    lengths = ", ".join(map(duration_text, meeting))
    many = f"{len(meeting)} of {summary.depth} granularities: {lengths}"
    whole = "" if apart else " as one,"
    told = f"regions of {source.alias}: [{source.window}]{whole} in {many}"
    return f"{told}; summary {summary.name}, {summary}"


def _cells(source: Source, summary: Summary, what: str, times: str) -> str:
    buckets = f"{summary.buckets} buckets of {source.column}"
    return f"{what} of {source.stream}: {buckets} x {times}; summary {summary.name}, {summary}"


def _meeting(summary: Summary, window: Window | None) -> tuple[int, ...]:
    """Lengths of the granularities that reach into a window, newest first."""
    if window is None or window.unbounded:
        return summary.lengths
    found, back = [], 0
    for length in summary.lengths:
        if back >= window.length:
            break
        found.append(length)
        back += length
    return tuple(found)


def _reach(plan: SelectionPlan) -> str:
    if plan.words is not None:
        what = f"{plan.column} in ({', '.join(map(repr, plan.words))})"
    elif plan.spans is not None:
        spans = " or ".join(f"{_end(low)} to {_end(high)}" for low, high in plan.spans)
        what = f"{plan.column} {spans or 'nothing'}"
    else:
        return f"regions that may match: any {plan.column}, learned from what tests gave"
    return f"regions that may match: {what}; others cost nothing"


def _end(value: float) -> str:
    if math.isinf(value):
        return "any"
    # A strict bound is the next number, which nobody wants to read in full.
    return f"{value:.15g}"


def _budget(asked: Query | View, promise: Promise, registry: Registry) -> str:
    probes = promise.probes
    parts = [] if probes is None else [f"{probes:,} {'probe' if probes == 1 else 'probes'} a tick"]
    if promise.cpu is not None:
        parts.append(f"{promise.cpu:g} cores, in probes at the costs that were measured")
    if parts:
        return " and ".join(parts)
    shared = [s for name in asked.streams if (s := registry.stream(name)).capacity is not None]
    if not shared:
        return "without limit, answers are always exact"
    told = " and ".join(f"CAPACITY {s.capacity:,} of {s.name}" for s in shared)
    return f"an even share of {told}"


def _probe(asked: Query | View, promise: Promise, streams: int) -> str:
    if isinstance(asked, Query):
        return "a probe is one row looked at"
    if streams == 1:
        return "a probe is one row tested"
    if streams == 2:
        region = "one region of " if promise.fade < 1.0 else ""
        return f"a probe is one row looked up in {region}the other stream"
    return f"a row looked up in the other streams takes {streams - 1} probes"


def _overload(asked: Query | View, streams: int, shards: int) -> list[str]:
    if isinstance(asked, Query):
        return [
            "without overload every row is looked at: answers are exact",
            "under overload bars are as wide as what was not looked at, charged to promising",
        ]
    given = "under overload rows that are given are true, those missing are charged to promising; "
    if streams == 1:
        return [
            "without overload rows are tested as they come, in the index of selections, and "
            "nothing is summarised: answers are exact",
            f"{given}what was not tested waits until its zone is older, then is given up",
            f"placed by number over {shards} shards",
        ]
    return [
        "without overload a row is looked up in whole windows at once and nothing is summarised: "
        "answers are exact",
        f"{given}what was not looked up waits until its row leaves",
        f"placed by key over {shards} shards; all of them choose alike",
    ]
