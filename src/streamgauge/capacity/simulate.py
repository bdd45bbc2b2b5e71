"""Simulation: epochs one after the other, with bursts, stragglers, skew and pauses.

With `CALM` nothing is random, and the simulation gives what the closed form of `model.py` gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.capacity import amounts
from streamgauge.capacity.model import Model

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Disorder:
    """What is random.

    Parameters
    ----------
    burst
        Deviation of the logarithm of the rows that arrive in a second.
    lasting
        Seconds that a burst lasts.
    scatter
        Deviation of the logarithm of the seconds of a shard.
    skew
        How much more than its share the fullest shard has: 0.2 is a fifth more.
    stragglers, slower
        Share of tasks that are slow, and how many times slower they are.
    pauses, paused
        Chance of a pause of the driver or an executor in an epoch, and its seconds on average.
    """

    burst: float = 0.2
    lasting: float = 10.0
    scatter: float = 0.1
    skew: float = 0.1
    stragglers: float = 0.005
    slower: float = 2.0
    pauses: float = 0.02
    paused: float = 0.2


CALM = Disorder(0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Run:
    """What a simulation gave, epoch by epoch after the warm-up."""

    gathered: Floats
    seconds: Floats
    age: Floats
    left: float

    @property
    def stable(self) -> bool:
        """Whether the job kept up: what is left at the end is no more than a few epochs' rows."""
        return bool(self.left <= 4.0 * float(np.median(self.gathered)))

    def quantile(self, name: str, share: float) -> float:
        """A quantile of `gathered`, `seconds` or `age`, in seconds."""
        return float(np.quantile(getattr(self, name), share))

    def as_dict(self) -> dict[str, Any]:
        """JSON form: medians, tails, whether it kept up."""
        return {
            "stable": self.stable,
            **{
                f"{name}_{label}": self.quantile(name, share)
                for name in ("gathered", "seconds", "age")
                for label, share in (("p50", 0.5), ("p95", 0.95))
            },
        }


def simulate(
    model: Model,
    *,
    every: float | None = None,
    epochs: int = 300,
    warm: int = 30,
    disorder: Disorder | None = None,
    seed: int = 1,
    max_seconds: float = 60.0,
) -> Run:
    """Run epochs: at once after each other, or no more often than `every` seconds.

    `max_seconds` is the most seconds of rows that a page takes, as `max_rows` does.

    Examples
    --------
    >>> from streamgauge.capacity.costs import Costs
    >>> from streamgauge.capacity.workload import Asked, Workload
    >>> model = Model(Costs.packaged(), Workload(1_000.0, 100, (Asked("latest", 10),)), 1)
    >>> calm = simulate(model, every=5.0, disorder=CALM)
    >>> calm.stable, bool(abs(calm.seconds[0] - model.seconds(5.0).value) < 1e-9)
    (True, True)
    """
    chaos = disorder or Disorder()
    rng = np.random.default_rng(seed)
    share = _shares(model.count, chaos, rng)
    gathered, seconds, ages = np.empty(epochs), np.empty(epochs), np.empty(epochs)
    waiting, level, last = every or model.pace() or 1.0, 0.0, 0.0
    for number in range(epochs):
        taken = min(waiting, max_seconds)
        took = _epoch(model, taken, share, chaos, rng)
        gathered[number], seconds[number] = taken, took
        ages[number] = waiting + took
        last = max(took, (every or 0.0))
        level = _burst(level, last, chaos, rng)
        waiting = waiting - taken + last * math.exp(level - chaos.burst**2 / 2.0)
    return Run(gathered[warm:], seconds[warm:], ages[warm:], max(0.0, waiting - last))


def _shares(shards: int, chaos: Disorder, rng: np.random.Generator) -> Floats:
    """How much of the divided work each shard has, over its fair share; the fullest is skewed."""
    if shards == 1 or chaos.skew == 0.0:
        return np.ones(shards)
    share = 1.0 + chaos.skew * rng.uniform(-1.0, 1.0, shards)
    share[rng.integers(shards)] = 1.0 + chaos.skew
    return share


def _burst(level: float, passed: float, chaos: Disorder, rng: np.random.Generator) -> float:
    """The logarithm of the rate, which forgets a burst in `lasting` seconds."""
    if chaos.burst == 0.0:
        return 0.0
    kept = math.exp(-passed / chaos.lasting)
    return level * kept + chaos.burst * math.sqrt(1.0 - kept**2) * float(rng.standard_normal())


def _epoch(
    model: Model, taken: float, share: Floats, chaos: Disorder, rng: np.random.Generator
) -> float:
    """Seconds of one epoch: cores take shards in turn, the last one to be done counts."""
    parts = model.parts_of(amounts.leaf_of(model.load, taken))
    each = (parts.read.value + parts.series.value + parts.write.value) / model.waves
    divided = parts.work.value / model.waves
    tasks = each + divided * share
    if chaos.scatter:
        noise = rng.standard_normal(len(tasks))
        tasks = tasks * np.exp(chaos.scatter * noise - chaos.scatter**2 / 2.0)
    if chaos.stragglers:
        tasks = np.where(rng.random(len(tasks)) < chaos.stragglers, tasks * chaos.slower, tasks)
    took = _scheduled(tasks, model.cores if model.spark else 1)
    if chaos.pauses and rng.random() < chaos.pauses:
        took += float(rng.exponential(chaos.paused))
    return took + parts.land.value + parts.spark.value + parts.commit.value


def _scheduled(tasks: Floats, cores: int) -> float:
    """When the last task is done, each taken by the core that is free first."""
    if len(tasks) <= cores:
        return float(tasks.max())
    free = np.zeros(cores)
    for task in tasks:
        free[free.argmin()] += task
    return float(free.max())


def toward(
    model: Model, *, series: int, queries: int, rows: float, cores: int, **more: Any
) -> tuple[Model, Run]:
    """The same kind of workload at another size, simulated."""
    load = model.load
    bigger = load.times(
        rows=rows / load.rows, queries=queries / load.queries, series=series / load.series
    )
    grown = replace(model, load=bigger, cores=cores, shards=0)
    return grown, simulate(grown, **more)
