"""Amounts: how often a shard does each thing in an epoch. Costs times amounts are seconds.

What divides by the number of shards and what does not is decided here: every shard reads all rows
of a page, knows all series and writes them into its state, while queries, groups and answers are
shared out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.capacity.workload import KEYED, PANED, Asked, Workload
from streamgauge.drift.block import AREA, LENGTH
from streamgauge.windows.bank_panes import ROW_BYTES

Amounts = dict[str, float]

# A percentile within one percent, as it is stored.
SYNOPSIS_BYTES = 4_912

# Series whose tables the caches of a processor hold; beyond, each row waits for memory.
CACHED = 50_000

# seconds of a shard: what is counted, in words.
WORK = {
    "epoch": "pages",
    "segments": "files or landed segments read",
    "rows": "rows read",
    "words": "rows times columns of names",
    "names": "different names met in a segment",
    "series": "series known",
    "far_rows": "rows whose series lie beyond the caches, times how often that doubles",
    "far_series": "series beyond the caches, times how often that doubles",
    "far_cells": "deferred cells whose series lie beyond the caches, times how often that doubles",
    "latest_rows": "rows folded into latest values",
    "latest_series": "series times ticks, under queries over latest values",
    "latest_members": "members of those queries times ticks",
    "latest_cells": "those queries",
    "deferred_rows": "rows folded into models of series",
    "deferred_series": "series times ticks, under deferred queries",
    "deferred_cells": "deferred cells",
    "deferred_passes": "deferred cells times blocks of ticks",
    "deferred_members": "members of deferred cells that are evaluated",
    "watched_members": "members of watched cells times ticks",
    "pane_rows": "rows times different filters over windows",
    "pane_folds": "rows folded into the panes of own groups",
    "pane_merges": "panes merged for answers of windows",
    "summary_folds": "rows folded into the synopses of own groups",
    "summary_merges": "synopses of groups that are ready at a slide",
    "summary_questions": "queries times slides, under queries answered from synopses",
    "summary_answers": "answers read from synopses",
    "selection_rows": "rows looked up in the index of selections",
    "selected": "rows that selections give",
    "answers": "answers written",
    "state": "bytes of state written",
}
# bytes of the state of a shard.
HELD = {
    "shard": "shards",
    "series": "series",
    "latest_series": "series, under queries over latest values",
    "latest_cells": "queries over latest values",
    "deferred_series": "series, under deferred queries",
    "deferred_cells": "deferred cells",
    "pane_cells": "panes times groups times filters",
    "pane_memory": "groups times queries over windows",
    "pane_groups": "groups times filters",
    "summary_cells": "synopses: panes times groups times filters",
    "summary_rows": "rows kept in panes while they take less room than synopses",
    "waiting": "rows that wait for their tick to close",
    "selection_waiting": "rows that wait, under selections",
}
# bytes of the memory of a shard's process.
RESIDENT = {
    "process": "processes",
    "registered": "queries registered one by one",
    "series": "series",
    "members": "members of own cells",
    "rows": "rows of a page",
    "state": "bytes of state",
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A page as a shard meets it: rows, ticks it closes, segments, answers of all shards.

    >>> leaf_of(Workload(1000.0, 100, (Asked("latest", 10),)), 5.0).ticks
    5.0
    """

    rows: float
    ticks: float
    segments: float
    answers: Mapping[str, float]


def leaf_of(load: Workload, length: float) -> Leaf:
    """The page of an epoch of so many seconds, as it is expected."""
    given = dict.fromkeys((*KEYED, *PANED, "selection"), 0.0)
    for one in load.asked:
        given[one.kind] += one.given(load.rows, load.tick) * length
    segments = max(1.0, load.files * length)
    return Leaf(load.rows * length, length / load.tick, segments, given)


def blocks(series: int, ticks: float) -> float:
    """Blocks that deferred queries are walked in."""
    length = min(LENGTH, max(1, AREA // max(1, series)))
    return max(1.0, ticks / length)


def beyond_caches(series: int) -> float:
    """How often the series that caches hold have doubled.

    >>> beyond_caches(1_000), beyond_caches(4 * CACHED)
    (0.0, 2.0)
    """
    return math.log2(max(1.0, series / CACHED))


def work(load: Workload, leaf: Leaf, shards: int, state: float) -> Amounts:
    """What one shard does with a page."""
    found = dict.fromkeys(WORK, 0.0)
    found |= {"epoch": 1.0, "segments": leaf.segments, "rows": leaf.rows, "state": state}
    found["words"] = leaf.rows * load.words
    found["answers"] = (sum(leaf.answers.values()) - leaf.answers["selection"]) / shards
    if load.keyed:
        each = min(float(load.series), leaf.rows / leaf.segments)
        found["names"] = each * leaf.segments
        found["series"] = float(load.series)
        beyond = beyond_caches(load.series)
        found["far_rows"] = leaf.rows * beyond
        found["far_series"] = load.series * beyond
    if load.of("latest"):
        found["latest_rows"] = leaf.rows
        found["latest_series"] = load.series * leaf.ticks
    if load.of("deferred", "watched"):
        found["deferred_rows"] = leaf.rows
        found["deferred_series"] = load.series * leaf.ticks
    for one in load.asked:
        _add_latest(found, load, one, leaf, shards)
        _add_panes(found, load, one, leaf, shards)
    if load.of("selection"):
        found["selection_rows"] = leaf.rows
        found["selected"] = leaf.answers["selection"] / shards
    return found


def _add_latest(found: Amounts, load: Workload, one: Asked, leaf: Leaf, shards: int) -> None:
    mine = one.queries / shards
    if one.kind == "latest":
        found["latest_cells"] += mine
        found["latest_members"] += mine * one.members * leaf.ticks
    elif one.kind == "deferred":
        found["deferred_cells"] += mine
        found["far_cells"] += mine * beyond_caches(load.series)
        found["deferred_passes"] += mine * blocks(load.series, leaf.ticks)
        given = one.given(load.rows, load.tick)
        total = sum(each.given(load.rows, load.tick) for each in load.of("deferred"))
        share = given / total if total else 0.0
        found["deferred_members"] += leaf.answers["deferred"] * share / shards * one.members
    elif one.kind == "watched":
        found["deferred_cells"] += mine
        found["watched_members"] += mine * one.members * leaf.ticks


def _add_panes(found: Amounts, load: Workload, one: Asked, leaf: Leaf, shards: int) -> None:
    if one.kind not in PANED:
        return
    found["pane_rows"] += leaf.rows * one.pieces
    groups = own_groups(one, shards)
    slides = leaf.ticks * load.tick / one.slide
    folds = leaf.rows * groups / one.groups * one.pieces
    if one.kind == "window":
        found["pane_folds"] += folds
        found["pane_merges"] += slides * one.queries * groups * one.panes
    else:
        found["summary_folds"] += folds
        # Queries that differ in their question alone read the same merged synopsis.
        found["summary_merges"] += slides * one.pieces * groups
        found["summary_questions"] += slides * one.queries
        found["summary_answers"] += leaf.answers["summary"] / shards


def own_groups(one: Asked, shards: int) -> float:
    """Groups of the shard that has most: a group is not divided."""
    return max(1.0, one.groups / shards)


def held(load: Workload, shards: int, elapsed: float = math.inf) -> Amounts:
    """What the state of one shard has, so many seconds after its start."""
    found = dict.fromkeys(HELD, 0.0) | {"shard": 1.0, "waiting": load.rows * load.tick}
    if load.keyed:
        found["series"] = float(load.series)
    if load.of("latest"):
        found["latest_series"] = float(load.series)
    if load.of("deferred", "watched"):
        found["deferred_series"] = float(load.series)
    for one in load.asked:
        mine = one.queries / shards
        if one.kind == "latest":
            found["latest_cells"] += mine
        elif one.kind in ("deferred", "watched"):
            found["deferred_cells"] += mine
        elif one.kind in PANED:
            _add_held_panes(found, load, one, shards, elapsed)
    if load.of("selection"):
        found["selection_waiting"] = load.rows * load.tick
    return found


def _add_held_panes(
    found: Amounts, load: Workload, one: Asked, shards: int, elapsed: float
) -> None:
    groups = own_groups(one, shards)
    found["pane_groups"] += groups * one.pieces
    found["pane_memory"] += groups * one.queries
    if one.kind == "window":
        found["pane_cells"] += groups * (one.panes + 4) * one.pieces
        return
    panes = min(one.panes + 1.0, elapsed / one.slide + 1.0) * one.pieces
    rows = load.rows * one.slide * groups / one.groups
    if rows * ROW_BYTES > groups * SYNOPSIS_BYTES:
        found["summary_cells"] += panes * groups
    else:
        found["summary_rows"] += panes * rows


def resident(load: Workload, rows: float, shards: int, state: float) -> Amounts:
    """What the process of one shard has in memory."""
    found = dict.fromkeys(RESIDENT, 0.0) | {"process": 1.0, "rows": rows, "state": state}
    found["series"] = float(load.series) if load.keyed else 0.0
    for one in load.asked:
        if one.kind in KEYED:
            found["members"] += one.queries / shards * one.members
        if one.kind not in ("deferred", "watched"):
            found["registered"] += one.queries
    return found
