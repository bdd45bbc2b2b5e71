"""Promising aggregates against the truth: bars hold, and sums and counts lean to no side.

Each verdict alarms on correct bars with chance 1e-6 at most (`checks.trials.ALPHA`): breaks are
compared with the cut-off of their binomial law, means with that of the normal law, which many
hundred bounded estimates follow. Never change a seed or a tolerance to make a test pass.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from streamgauge.checks.trials import ALPHA, cutoff
from streamgauge.contracts.contract import Contract
from streamgauge.promise.aggregate import Asked, PromisingAggregate
from streamgauge.promise.buckets import Bools, Floats, UInts64
from streamgauge.promise.interval import Bar
from streamgauge.promise.promise import Promise
from streamgauge.promise.summary import Summary
from tests.profile import NIGHTLY

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("STREAMGAUGE_SEED", "1000"))
TRIALS = 3000 if NIGHTLY else 333
DELTA = 0.05
PANES, ROWS, BUCKETS = 2, 200, 4
SUMMARY = Summary("parts", "stream", "part", 60_000_000, buckets=BUCKETS)
KINDS = ("count", "sum", "avg", "quantile")
# Share of rows at the upper end of a stratum, and of rows that match.
STREAMS = {"tight": (0.5, 0.5), "rare": (0.02, 0.9), "few": (0.5, 0.05)}


@dataclass(frozen=True)
class Rows:
    """Panes of rows, in each stratum at the two ends of its range."""

    part: Floats
    x: Floats
    match: Bools
    rank: UInts64

    @classmethod
    def of(cls, stream: str, seed: int) -> Rows:
        top, hit = STREAMS[stream]
        rng = np.random.default_rng([seed, *stream.encode()])
        size = PANES * ROWS
        part = rng.integers(0, BUCKETS, size).astype(np.float64)
        x = 10.0 * part + np.where(rng.random(size) < top, 8.0, -5.0)
        match = rng.random(size) < hit
        # Without a matching row there is no mean that a bar could hold.
        match[0] = True
        return cls(part, x, match, rng.integers(0, 2**63, size).astype(np.uint64))

    def bar(self, kind: str, order: str, budget: int) -> Bar:
        """The bar after all panes."""
        asked = Asked(kind, contract=Contract.best(confidence=1.0 - DELTA), panes=PANES)
        query = PromisingAggregate(asked, Promise(order, ()), SUMMARY)
        for pane in range(PANES):
            at = np.arange(pane * ROWS, (pane + 1) * ROWS)
            x = None if kind == "count" else self.x[at]
            query.take(pane, at, self.part[at], x, self.rank[at])
            query.step(pane, budget, self.match.__getitem__)
        return query.answer(0, PANES - 1)

    def truth(self, kind: str) -> float:
        items = np.sort(self.x[self.match])
        half = items[max(1, math.ceil(0.5 * len(items))) - 1]
        found = {"count": len(items), "sum": items.sum(), "avg": items.mean(), "quantile": half}
        return float(found[kind])


def breaks(kind: str, stream: str, order: str, budget: int, *, scale: float = 1.0) -> int:
    """Bars, narrowed by a factor, that miss the truth by more than rounding."""
    missed = 0
    for seed in range(SEED, SEED + TRIALS):
        rows = Rows.of(stream, seed)
        bar, truth = rows.bar(kind, order, budget), rows.truth(kind)
        low = bar.value - scale * (bar.value - bar.low)
        high = bar.value + scale * (bar.high - bar.value)
        missed += not low - 1e-9 * abs(truth) <= truth <= high + 1e-9 * abs(truth)
    return missed


@pytest.mark.parametrize(
    ("kind", "stream", "order", "budget"),
    [
        # A few rows of each stratum; most of the rows, where what is left out is the sample.
        *((kind, stream, "weighted", 16) for kind in KINDS for stream in ("tight", "rare")),
        *((kind, "tight", "desc", 140) for kind in KINDS),
        *((kind, "few", "weighted", 16) for kind in ("avg", "quantile")),
    ],
)
def test_bars_hold(kind: str, stream: str, order: str, budget: int) -> None:
    missed, limit = breaks(kind, stream, order, budget), cutoff(TRIALS, DELTA)
    assert missed <= limit, f"{kind} on {stream}: {missed} of {TRIALS} missed, cut-off {limit}"


@pytest.mark.parametrize("kind", ["count", "sum", "avg"])
def test_bars_of_a_quarter_of_the_width_are_refuted(kind: str) -> None:
    """The trials have the power to tell; a quantile's bar ends at items and cannot be scaled."""
    assert breaks(kind, "tight", "weighted", 60, scale=0.25) > cutoff(TRIALS, DELTA)


@pytest.mark.parametrize("kind", ["count", "sum"])
@pytest.mark.parametrize("order", ["weighted", "desc"])
def test_sums_and_counts_lean_to_no_side(kind: str, order: str) -> None:
    rows = Rows.of("tight", SEED)
    truth = rows.truth(kind)
    errors = []
    for seed in range(SEED, SEED + TRIALS):
        rank = np.random.default_rng([seed, 5]).integers(0, 2**63, len(rows.x)).astype(np.uint64)
        errors.append(Rows(rows.part, rows.x, rows.match, rank).bar(kind, order, 40).value - truth)
    off = np.mean(errors) / (np.std(errors, ddof=1) / math.sqrt(len(errors)))
    assert abs(off) < stats.norm.isf(ALPHA / 2)
