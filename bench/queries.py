"""The standing queries of the workload, and the change that one check in a hundred answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

import streamgauge as sg
from bench.data import Card, Part, parts, ticks_of
from streamgauge.kernel.time import SECOND
from streamgauge.operators.predicate import Predicate

STREAM = "plant"
ANSWER_SHARE = 0.01
TICKS_PER_SLIDE = 60
LENGTHS = range(1, 51)
STRETCHES = 8
AGGREGATES = (sg.avg, sg.minimum, sg.maximum, sg.total, sg.stddev)

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


def portfolio(card: Card, n: int) -> list[sg.Query]:
    """The first `n` averages over nine series each, answering on change."""
    answer = sg.on_change(card.epsilon)
    return [
        sg.Query(
            portfolio_name(number),
            STREAM,
            sg.avg("value"),
            series=tuple(card.series[place] for place in row),
            answer=answer,
        )
        for number, row in enumerate(card.members()[:n].tolist())
    ]


def portfolio_name(number: int) -> str:
    """Name of a query over latest values."""
    return f"avg-{number:05d}"


def slide(card: Card) -> int:
    """What the windows move by: a minute of event time, or sixty ticks of slower data."""
    return card.tick * TICKS_PER_SLIDE


def filters(card: Card) -> tuple[Predicate | None, ...]:
    """No filter, one on the value, one on half of the zones, one on a kind."""
    half = card.zones[: max(1, len(card.zones) // 2)]
    value: Predicate = sg.col("value") > card.median
    kind: Predicate = sg.col("kind") == card.kind
    return None, value, sg.col("zone").isin(*half), kind


def windowed(card: Card) -> list[sg.Query]:
    """A thousand windows grouped by zone: aggregates, lengths and filters, each with each."""
    step = slide(card) / SECOND
    cadence = sg.every(step)
    return [
        sg.Query(
            f"window-{number:04d}",
            STREAM,
            aggregate("value"),
            window=sg.Range(length * step, slide=step),
            where=where,
            group_by=("zone",),
            answer=cadence,
        )
        for number, (aggregate, length, where) in enumerate(
            product(AGGREGATES, LENGTHS, filters(card))
        )
    ]


def declare(gauge: sg.Gauge, card: Card) -> None:
    """Declare the stream of the prepared rows, with history for the longest window."""
    longest = (max(LENGTHS) + 10) * slide(card) / SECOND
    gauge.stream(
        STREAM,
        source=sg.files(card.path("rows")),
        time="ts",
        key="series",
        tick=card.tick / SECOND,
        keep=longest,
    )


def calibrate(card: Card, *, n_ticks: int = 2_000, n_queries: int = 300) -> Card:
    """The same card with the change that one check in a hundred answers, in stretches all over."""
    members = card.members()[:n_queries]
    files = np.unique(np.linspace(0, card.files - 1, STRETCHES).astype(int))
    found = [
        averages(next(parts(card, start=int(number))), members, card.tick, n_ticks)
        for number in files
    ]
    low, high = 0.0, max(float(np.ptp(values[~np.isnan(values)])) for values in found)
    for _ in range(40):
        middle = (low + high) / 2
        if np.mean([answered_share(values, middle) for values in found]) > ANSWER_SHARE:
            low = middle
        else:
            high = middle
    chosen = replace(card, epsilon=float(f"{high:.4g}"))
    chosen.write()
    return chosen


def averages(part: Part, members: Codes, tick: int, n_ticks: int) -> Floats:
    """Average of the latest values per query at the first ticks with rows; NaN before the first."""
    ticks = ticks_of(part.ts, tick)
    checks = np.unique(ticks)[:n_ticks]
    n_rows = int(np.searchsorted(ticks, checks[-1], side="right"))
    order = np.argsort(part.sid[:n_rows], kind="stable")
    needed, places = np.unique(members, return_inverse=True)
    starts = np.searchsorted(part.sid[order], needed, side="left")
    stops = np.searchsorted(part.sid[order], needed, side="right")
    latest = np.empty((len(checks), len(needed)))
    for column, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        own = order[start:stop]
        seen = np.searchsorted(ticks[own], checks, side="right")
        found = np.append(part.value[own], np.nan)
        latest[:, column] = found[np.where(seen > 0, seen - 1, -1)]
    chosen = latest[:, places.reshape(members.shape)]
    present = ~np.isnan(chosen)
    count = present.sum(axis=2)
    total = np.where(present, chosen, 0.0).sum(axis=2)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def answered_share(values: Floats, by: float) -> float:
    """Share of checks that move a value by more than `by` since its last answer."""
    return float(_answered_share(values, by))


@njit
def _answered_share(values: Any, by: float) -> float:
    given, checks = 0, 0
    for q in range(values.shape[1]):
        last = values[0, q]
        for k in range(1, values.shape[0]):
            value = values[k, q]
            checks += 1
            if np.isnan(last):
                last = value
            elif abs(value - last) > by:
                given += 1
                last = value
    return given / max(1, checks)
