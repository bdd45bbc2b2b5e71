"""Aggregates over a hundred selections: error beside random dropping, and whether bars hold.

The window is twelve panes, a pane a tick. Each query has so many tests a tick. Random dropping
tests as many rows drawn from each pane and scales what passes up to all rows of the window.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.deferral_report import Sections, percent
from bench.promise_data import Stores, keys_of
from bench.promise_fed import Fed
from bench.report import Bar
from streamgauge.contracts.contract import Contract
from streamgauge.operators.expression import Expr, column
from streamgauge.promise.aggregate import Asked, PromisingAggregate
from streamgauge.promise.promise import Promise
from streamgauge.promise.strata import Predicate

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PANES = 12
BUDGETS = (5, 20)
CONFIDENCE = 0.95
AGGREGATES = ("avg", "sum", "count", "median")
# One alarm in a million where every bar held just as often as it says.
DEVIATIONS = 4.75


@dataclass(frozen=True, slots=True)
class Series:
    """Values of one aggregate of all queries at the ends of windows, queries by windows."""

    value: Floats
    low: Floats
    high: Floats
    share: Floats
    probes: int
    cpu: float

    def error(self, exact: Floats) -> float:
        """Mean square error over that of answering nothing; windows without an answer left out."""
        told = np.isfinite(exact)
        value = np.where(np.isfinite(self.value), self.value, 0.0)
        return float(((value - exact)[told] ** 2).sum() / max(1e-300, (exact[told] ** 2).sum()))

    def held(self, exact: Floats) -> Bools:
        """Bars that hold the exact value, of those that are no exact answer."""
        told = np.isfinite(exact) & (self.share < 1.0)
        room = 1e-9 * np.maximum(1.0, np.abs(exact))
        inside = (self.low - room <= exact) & (exact <= self.high + room)
        return np.asarray(inside[told])


def aggregate(name: str, values: Floats) -> float:
    """An aggregate of values; nothing has no average, no median and no sum, but a count.

    >>> [aggregate(name, np.array([1.0, 2.0, 6.0])) for name in AGGREGATES]
    [3.0, 9.0, 3.0, 2.0]
    """
    if name == "count":
        return float(len(values))
    if not len(values):
        return float("nan")
    if name == "median":
        # The smallest value with half of the rows at or below it, as queries have it.
        return float(np.sort(values)[(len(values) + 1) // 2 - 1])
    return float(values.mean() if name == "avg" else values.sum())


def exact_series(fed: Fed, name: str) -> Floats:
    """The exact values at the ends of windows that do not overlap."""
    found = np.full((len(fed.spans), len(_ends(fed))), np.nan)
    for query in range(len(fed.spans)):
        passing = fed.passing(query)
        for place, end in enumerate(_ends(fed)):
            a, b = fed.starts[end - PANES], fed.starts[end]
            found[query, place] = aggregate(name, fed.value[a:b][passing[a:b]])
    return found


def dropped_series(fed: Fed, name: str, tests: int, seed: int = 9) -> Series:
    """Random dropping: so many rows of each pane are tested, and scaled up."""
    begun = time.thread_time()
    rng = np.random.default_rng(seed)
    found = np.full((len(fed.spans), len(_ends(fed))), np.nan)
    probes = 0
    for query in range(len(fed.spans)):
        passing = fed.passing(query)
        last = np.nan
        for place, end in enumerate(_ends(fed)):
            kept = [
                rng.permutation(np.arange(fed.starts[pane], fed.starts[pane + 1]))[:tests]
                for pane in range(end - PANES, end)
            ]
            rows = np.concatenate(kept)
            probes += len(rows)
            scale = (fed.starts[end] - fed.starts[end - PANES]) / max(1, len(rows))
            last = _scaled(name, fed.value[rows][passing[rows]], scale, last)
            found[query, place] = last
    same = np.ones_like(found)
    return Series(found, found, found, same, probes, time.thread_time() - begun)


def _scaled(name: str, values: Floats, scale: float, last: float) -> float:
    """An estimate from tested rows; where none passed, no rows or the answer before."""
    if name in ("sum", "count"):
        return scale * (float(len(values)) if name == "count" else float(values.sum()))
    return aggregate(name, values) if len(values) else last


def promising_series(fed: Fed, name: str, tests: int) -> Series:
    """Each query by promise, asked at the ends of the same windows."""
    serial = np.arange(len(fed.item))
    rank = keys_of(serial + 1)
    runs = [_aggregate(fed, query, name) for query in range(len(fed.spans))]
    shape = (len(fed.spans), len(_ends(fed)))
    found = np.full((4, *shape), np.nan)
    places = {end: place for place, end in enumerate(_ends(fed))}
    probes = 0
    begun = time.thread_time()
    for pane in range(fed.ticks):
        a, b = fed.starts[pane], fed.starts[pane + 1]
        for query, run in enumerate(runs):
            run.take(
                pane,
                serial[a:b],
                fed.item[a:b],
                None if name == "count" else fed.value[a:b],
                rank[a:b],
            )
            probes += run.step(pane, tests, fed.test(query))
            if pane + 1 in places:
                bar = run.answer(pane + 1 - PANES, pane)
                found[:, query, places[pane + 1]] = bar.value, bar.low, bar.high, bar.share
            run.forget(pane + 2 - PANES)
    value, low, high, share = found
    return Series(value, low, high, share, probes, time.thread_time() - begun)


def _ends(fed: Fed) -> range:
    """One past the last pane of each window; windows do not overlap."""
    return range(PANES, fed.ticks + 1, PANES)


def _aggregate(fed: Fed, query: int, name: str) -> PromisingAggregate:
    count = Expr("estimate", (column("item"),), "count")
    summed = Expr("*", (count, column("value")))
    promise = (
        Promise("desc", (summed,), summaries=(("store", "items"),))
        if name == "sum"
        else Promise("weighted", (count,), summaries=(("store", "items"),))
    )
    kind = "quantile" if name == "median" else name
    predicate = Predicate(fed.spans[query : query + 1], whole=True)
    contract = Contract.best(confidence=CONFIDENCE)
    asked = Asked(kind, 0.5, "value", predicate, contract, PANES)
    return PromisingAggregate(asked, promise, fed.summary())


def aggregates(report: Sections, stores: Sequence[Stores], queries: int, ticks: int) -> int:
    """Error of every data set, budget and aggregate, and the share of bars that hold."""
    rows: list[list[str]] = []
    ratios: list[float] = []
    held: list[Bools] = []
    for one in stores:
        fed = Fed.of(one, queries, ticks)
        if not len(fed.spans):
            report.skipped.append(f"{one.name}: no range of items holds 5 to 10 % of its rows")
            continue
        for name in AGGREGATES:
            exact = exact_series(fed, name)
            for budget in BUDGETS:
                tests = max(1, round(budget * len(fed.item) / fed.ticks / 100))
                ours = promising_series(fed, name, tests)
                plain = dropped_series(fed, name, tests)
                own = ours.held(exact)
                held.append(own)
                errors = ours.error(exact), plain.error(exact)
                ratios.append(errors[0] / errors[1] if errors[1] else 1.0)
                width = _width(ours, exact)
                row = _row(one.name, name, budget, ours, plain, errors, own)
                rows.append([*row, "" if width is None else f"{width:.2g}"])
                report.cells.append({
                    "section": "aggregate", "data": one.name, "aggregate": name, "budget": budget,
                    "mse": list(errors), "held": float(own.mean()) if len(own) else None,
                    "probes": [ours.probes, plain.probes], "width": width,
                })  # fmt: skip
    report.table(
        f"{queries} selections, aggregates of a window: mean square error over that of zero",
        [
            "data",
            "of",
            "budget %",
            "ours",
            "dropping",
            "ratio",
            "probes",
            "its probes",
            "bars held",
            "width",
        ],
        rows,
    )
    report.bars["aggregate_mse_worst"] = Bar(max(ratios, default=None), 1.0, at_least=False)
    every = np.concatenate(held) if held else np.empty(0, np.bool_)
    margin = DEVIATIONS * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / max(1, len(every)))
    covered = float(every.mean()) if len(every) else None
    report.bars["aggregate_coverage"] = Bar(covered, CONFIDENCE - float(margin))
    report.figures["aggregate_coverage"] = (covered, f"of {len(every):,} bars, 0.95 stated")
    return 0


def _row(
    data: str,
    name: str,
    budget: int,
    ours: Series,
    plain: Series,
    errors: tuple[float, float],
    own: Bools,
) -> list[str]:
    return [
        data,
        name,
        str(budget),
        f"{errors[0]:.3g}",
        f"{errors[1]:.3g}",
        f"{errors[0] / errors[1] if errors[1] else 1.0:.3f}",
        f"{ours.probes:,}",
        f"{plain.probes:,}",
        percent(float(own.mean())) if len(own) else "exact",
    ]


def _width(series: Series, exact: Floats) -> float | None:
    """Mean width of bars over the size of the exact value."""
    told = np.isfinite(exact) & np.isfinite(series.high) & np.isfinite(series.low) & (exact != 0.0)
    if not told.any():
        return None
    return float(((series.high - series.low)[told] / np.abs(exact[told])).mean())
