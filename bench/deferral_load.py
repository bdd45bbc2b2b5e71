"""Missed deadlines under a capacity: every query at every tick, and printed deadlines by EDF.

Half of the queries are averages, half sliding maxima of averages. An evaluation costs the reads of
its members; a tick has so many reads to spend. What is late by a tick or more counts as missed.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import ndtri

import streamgauge as sg
from bench.data import START
from bench.deferral_data import MEMBERS, Panel
from bench.deferral_ours import STREAM, opened
from bench.deferral_report import Sections
from bench.deferral_rules import ITEMS, above_wait, end_wait, sliding_peak
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.time import SECOND
from streamgauge.plan.members import Members
from streamgauge.plan.over import Over

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

# Ticks before this one are for the first estimates.
WARM = 2 * ITEMS
SIGMAS = 10.0


@dataclass(frozen=True, slots=True)
class LoadExtent:
    """How many series, paths and ticks; reads to spend in a tick; queries to try."""

    n_series: int
    n_paths: int
    ticks: int
    capacity: int
    queries: tuple[int, ...]


# Every query at every tick fits up to the third size, as in the paper.
FULL_LOAD = LoadExtent(50, 500, 2_000, 27_000, (1_000, 3_000, 10_000, 30_000, 100_000, 200_000))
QUICK_LOAD = LoadExtent(50, 100, 1_000, 2_700, (100, 300, 1_000, 3_000, 10_000, 20_000))


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked: paths of averages over members of some walks, many queries to each path."""

    values: Floats
    members: Codes
    epsilon: float
    confidence: float
    window: int

    @classmethod
    def of(cls, n_series: int, n_paths: int, ticks: int, sigmas: float, *, seed: int = 23) -> Load:
        """Driftless walks; the bound in deviations of an average."""
        rng = np.random.default_rng(seed)
        values = np.cumsum(rng.standard_normal((ticks, n_series)), axis=0)
        members = distinct_members(rng, n_paths, n_series)
        return cls(values, members, sigmas / np.sqrt(MEMBERS), 0.9, 1_800)


def distinct_members(rng: np.random.Generator, queries: int, n_series: int) -> Codes:
    """Nine different series for each of many queries."""
    found = rng.integers(0, n_series, (queries, min(MEMBERS, n_series)), np.int32)
    again = np.arange(queries)
    while len(again):
        ordered = np.sort(found[again], axis=1)
        again = again[(np.diff(ordered, axis=1) == 0).any(axis=1)]
        found[again] = rng.integers(0, n_series, (len(again), found.shape[1]), np.int32)
    return found


def naive_missed(queries: int, capacity: int) -> float:
    """Share missed when all queries are to be evaluated at every tick.

    >>> naive_missed(6_000, 27_000)
    0.5
    """
    return max(0.0, 1.0 - capacity // MEMBERS / queries)


@dataclass(frozen=True, slots=True)
class Late:
    """What our cells have done so far: evaluations, deadlines missed, error expected of that."""

    evaluations: int
    missed: int
    penalty: float

    @classmethod
    def of(cls, gauge: sg.Gauge) -> Late:
        """Add up the cells of a gauge."""
        cells = gauge.deferrals()
        return cls(*(pc.sum(cells[name]).as_py() or 0 for name in cls.__slots__))


def ours_missed(load: Load, queries: int, capacity: int) -> tuple[float, float]:
    """Share missed by ours, and the penalty of a miss in parts of the bound, after the start."""
    ticks, n_series = load.values.shape
    when = START // SECOND + 1 + np.arange(ticks)
    panel = Panel("load", SECOND, when, load.values, np.ones(load.values.shape, np.bool_))
    members = load.members[np.arange(queries) // 2 % len(load.members)]
    tables, asked = {}, []
    for name, first, over in (
        ("averages", 0, None),
        ("peaks", 1, Over("max", sg.Range(float(load.window)))),
    ):
        own = members[first::2]
        cells = np.repeat(np.arange(len(own)), own.shape[1])
        series = np.array(panel.series)[own.ravel()]
        tables[name] = pa.table({"cell": cells, "series": series})
        asked.append(
            sg.Query(
                name,
                STREAM,
                sg.avg("value"),
                members=Members(name, "series", ("cell",)),
                over=over,
                contract=sg.Contract.absolute(load.epsilon, confidence=load.confidence),
            )
        )
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        batch = WARM * n_series
        gauge = opened(panel, asked, directory, batch, tables, capacity=capacity)
        gauge.step()
        start = Late.of(gauge)
        while gauge.step():
            pass
        end = Late.of(gauge)
        due = pc.fill_null(pc.cast(gauge.deferrals()["due"], pa.int64()), np.iinfo(np.int64).max)
        pending = int(np.sum(due.to_numpy() <= when[-1] * SECOND))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    missed = end.missed - start.missed
    done = end.evaluations - start.evaluations + pending
    each = (end.penalty - start.penalty) / max(1, missed) / load.epsilon
    return missed / max(1, done), each


def report_load(report: Sections, extent: LoadExtent) -> None:
    """Missed deadlines against the number of queries, by each way."""
    load = Load.of(extent.n_series, extent.n_paths, extent.ticks, SIGMAS)
    waits, rows = printed_waits(load), []
    for queries in extent.queries:
        naive = naive_missed(queries, extent.capacity)
        edf = edf_missed(load, waits, queries, extent.capacity)
        ours, each = ours_missed(load, queries, extent.capacity)
        rows.append(
            [f"{queries:,}", *(f"{100 * share:.2f}" for share in (naive, edf, ours)), f"{each:.3f}"]
        )
        for name, share in (("naive", naive), ("edf", edf), ("ours", ours)):
            report.figures[f"missed_{name}_{queries}"] = share, "missed"
    report.table(
        f"missed deadlines in per cent, {extent.capacity:,} reads a tick, half AVG, half MAX,\n"
        f"eps = {SIGMAS:g} sigma, p = {load.confidence:g}; penalty of a miss in eps",
        ("queries", "naive", "printed, EDF", "ours", "penalty"),
        rows,
    )


def edf_missed(load: Load, waits: tuple[Floats, Floats], queries: int, capacity: int) -> float:
    """Share missed by printed deadlines, the earliest first."""
    return float(_edf(*waits, queries, capacity // MEMBERS))


def printed_waits(load: Load) -> tuple[Floats, Floats]:
    """Printed waits of each path at each tick: of its average, and of its sliding maximum."""
    mu, var = _estimates(load.values)
    n_ticks, n_paths = len(load.values), len(load.members)
    average, peak = np.empty((n_paths, n_ticks)), np.empty((n_paths, n_ticks))
    ticks, z = np.arange(n_ticks), float(ndtri(load.confidence))
    for path, members in enumerate(load.members):
        own = np.ascontiguousarray(load.values[:, members].mean(axis=1))
        drift, spread = mu[:, members].mean(axis=1), var[:, members].sum(axis=1) / MEMBERS**2
        top = sliding_peak(ticks, own, load.window)
        _waits(own, top, drift, spread, load.epsilon, load.confidence, z, load.window,
               average[path], peak[path])  # fmt: skip
    return average, peak


def _estimates(values: Floats) -> tuple[Floats, Floats]:
    """Printed drift and variance of each series, NaN before there are enough items."""
    mu, var = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    steps = np.diff(values, axis=0)
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(steps**2, axis=0)])
    n = ITEMS - 1
    mu[n:] = (values[n:] - values[:-n]) / n
    var[n:] = (total[n:] - total[:-n] - n * mu[n:] ** 2) / (n - 1)
    return mu, var


@compiled
def _waits(
    path: Floats, top: Floats, mu: Floats, var: Floats, epsilon: float, p: float, z: float,
    window: int, average: Floats, peak: Floats,
) -> None:  # fmt: skip
    for t in range(len(path)):
        average[t] = end_wait(mu[t], var[t], epsilon, p)
        last = t
        while path[last] <= top[t] - epsilon:
            last -= 1
        phi2 = above_wait(mu[t], var[t], top[t] + epsilon - path[t], z)
        peak[t] = min(float(last + window - t), phi2)


@compiled
def _edf(average: Floats, peak: Floats, queries: int, room: int) -> float:
    """Walk the ticks; `room` evaluations fit into each, those with the earliest deadlines."""
    n_paths, n_ticks = average.shape
    deadline = np.ones(queries)
    missed, done = 0, 0
    for t in range(1, n_ticks):
        due = np.flatnonzero(deadline <= t)
        order = due[np.argsort(deadline[due], kind="mergesort")]
        for q in order[:room]:
            if t >= WARM:
                done += 1
                missed += t > np.ceil(deadline[q])
            waits = average if q % 2 == 0 else peak
            deadline[q] = t + max(1.0, waits[q // 2 % n_paths, t])
    late = int(np.sum(np.ceil(deadline) < n_ticks - 1))
    return float((missed + late) / max(1, done + late))
