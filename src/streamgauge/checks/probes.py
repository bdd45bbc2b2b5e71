"""Probes: for each kind of question, one to ask about given rows, chosen before they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.synopses import questions as q
from streamgauge.synopses.questions import Question
from streamgauge.synopses.synopsis import Synopsis

Array = npt.NDArray[Any]
Rng = np.random.Generator


def _one(items: Array, rng: Rng) -> Any:
    return items[rng.integers(len(items))].item() if len(items) else 0


def _range(items: Array, rng: Rng) -> tuple[float, float]:
    low, high = sorted((_one(items, rng), _one(items, rng)))
    return low, high


PROBES: dict[type[Question], Callable[[Array, Rng], Question]] = {
    q.Count: lambda items, rng: q.Count(),
    q.Sum: lambda items, rng: q.Sum(),
    q.Mean: lambda items, rng: q.Mean(),
    q.Variance: lambda items, rng: q.Variance(),
    q.Min: lambda items, rng: q.Min(),
    q.Max: lambda items, rng: q.Max(),
    q.Quantile: lambda items, rng: q.Quantile(float(rng.choice([0.01, 0.25, 0.5, 0.9, 0.99]))),
    q.Rank: lambda items, rng: q.Rank(_one(items, rng)),
    q.RangeCount: lambda items, rng: q.RangeCount(*_range(items, rng)),
    q.RangeSum: lambda items, rng: q.RangeSum(*_range(items, rng)),
    q.Frequency: lambda items, rng: q.Frequency(_one(items, rng)),
    q.Distinct: lambda items, rng: q.Distinct(),
    q.HeavyHitters: lambda items, rng: q.HeavyHitters(0.25),
    q.TopK: lambda items, rng: q.TopK(3),
}


def probes(kind: type[Synopsis], items: Array, rng: Rng) -> list[Question]:
    """One question of each kind that a synopsis answers about one stream."""
    asked = [PROBES[answer](items, rng) for answer in kind.answers if answer in PROBES]
    if q.Moment in kind.answers:
        # A sketch for another power than 2 says so by its parameter p; l0 counts items.
        power = kind.specimen(0).parameters.get("p", 2.0)
        asked.append(q.Moment(0.0 if q.Distinct in kind.answers and power < 1.0 else float(power)))
    return asked
