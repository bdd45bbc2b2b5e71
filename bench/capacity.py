"""Workload `capacity`: what the capacity model predicts, beside what is then measured.

Workloads that the costs were not fitted from run on one core (the local engine, Spark with one) and
on two (Spark with two). Each epoch is predicted from its rows, ticks and answers. A simulation of
the same epochs must agree too; it is then run toward a million series and ten million queries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
from rich.console import Console

from bench.data import Columns, tick_for, ticks_of
from bench.data import load as loaded
from bench.harness import Steps
from bench.report import Bar, Report
from streamgauge.capacity import amounts
from streamgauge.capacity.assemble import leaf_seen
from streamgauge.capacity.costs import Costs
from streamgauge.capacity.fit import Estimate
from streamgauge.capacity.measure import all_turned, probed
from streamgauge.capacity.model import Model
from streamgauge.capacity.probe import Epoch, Seen, Trial, probe
from streamgauge.capacity.rows import Made
from streamgauge.capacity.simulate import Disorder, simulate
from streamgauge.capacity.spark_probe import Turned
from streamgauge.capacity.workload import Asked, Workload
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import SECOND

NAME = "capacity"
ERROR = 0.25
INSIDE = 0.9
WARM = ((2, 1), (8, 1), (2, 1), (8, 1))
PAGES = (*WARM, (6, 1), (10, 1), (3, 2), (12, 1), (6, 1), (10, 1))
LARGE = 1_000_000
# Cores of the simulated clusters, and the rows a second that come to them.
CLUSTERS = (2, 8, 32, 128, 256)
TOWARD_ROWS = 1_000_000.0


@dataclass(slots=True)
class Compared:
    """Ratios of what was measured to what was predicted, and how many lay in their bars."""

    ratios: list[float] = field(default_factory=list)
    inside: list[bool] = field(default_factory=list)

    def add(self, seen: float, predicted: Estimate) -> None:
        """Compare one measurement."""
        self.ratios.append(seen / predicted.value)
        self.inside.append(predicted.low <= seen <= predicted.high)

    @property
    def error(self) -> float | None:
        """Median of the relative errors, without sign."""
        return median(abs(1.0 - 1.0 / ratio) for ratio in self.ratios) if self.ratios else None

    @property
    def held(self) -> float | None:
        """Share that lay within the bars."""
        return sum(self.inside) / len(self.inside) if self.inside else None


def held_out(*, quick: bool) -> list[Trial]:
    """Workloads between and beyond those of the design, some of several kinds."""
    windows = Asked("window", 300, groups=100, pieces=2, window=24.0, slide=3.0)
    summary = Asked("summary", 30, groups=100, window=24.0, slide=3.0)
    every = {
        "latest": (7_000.0, 7_000, (Asked("latest", 3_000, members=5),), 1),
        "deferred": (12_000.0, 20_000, (Asked("deferred", 50_000, members=6),), 2),
        "watched": (3_000.0, 3_000, (Asked("watched", 8_000, members=5),), 1),
        "windows": (30_000.0, 2_000, (windows,), 2),
        "summaries": (15_000.0, 2_000, (summary,), 1),
        "selections": (8_000.0, 2_000, (Asked("selection", 500),), 2),
        "mixed": (10_000.0, 5_000, (Asked("deferred", 30_000), windows, Asked("latest", 500)), 2),
    }
    pages = PAGES[:6] if quick else PAGES
    return [
        Trial(name, Workload(rows, series, asked), shards, pages, len(WARM), seed=7)
        for name, (rows, series, asked, shards) in every.items()
    ]


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Predict, measure, compare; then simulate what does not fit here."""
    costs = Costs.packaged()
    report = Report(NAME, quick=quick, origin=str(data) if data else "generated")
    columns = None if data is None else loaded(data)
    trials = held_out(quick=quick) if columns is None else recorded_trials(columns)
    on_spark = [trial for trial in trials if trial.name in ("latest", "deferred", "mixed")]
    steps = Steps(console, len(trials) + (0 if data else 2) + (0 if quick or data else 1) + 1)
    with steps.shown():
        _local(report, costs, trials, columns, steps)
        if data is None:
            for cores in (1, 2):
                with steps.step(f"Spark on {cores} cores") as said:
                    turned = all_turned(_alike(on_spark[:1] if quick else on_spark), cores, _quiet)
                    _spark(report, costs, turned, cores)
                    said.append(f"error {_percent(report.figures[f'spark_{cores}_error'][0])}")
        if not quick and data is None:
            with steps.step("a million series, a million queries"):
                _large(report, costs)
        with steps.step("simulation"):
            _simulated(report, costs)
    report.about = f"costs measured {costs.about.get('measured')}, load {costs.about.get('load')}"
    return report


def _quiet(_text: str) -> None:
    """Say nothing: the steps do."""


def _percent(value: object) -> str:
    return f"{100.0 * value:.0f} %" if isinstance(value, float) else "N/A"


def _local(
    report: Report, costs: Costs, trials: list[Trial], columns: Columns | None, steps: Steps
) -> None:
    """Epochs of one core: processor time of the shards, and bytes of state."""
    work, state, memory = Compared(), Compared(), Compared()
    for trial in trials:
        with steps.step(f"local, {trial.name}") as said:
            seen = probed(trial) if columns is None else _replayed(trial, columns)
            mine = Compared()
            for epoch in seen.epochs:
                predicted, spent = predicted_epoch(costs, seen, epoch)
                mine.add(spent, predicted)
            ratio = median(mine.ratios)
            report.figures[f"local_{trial.name}"] = (ratio, "measured over predicted")
            said.append(f"{ratio:.2f} of what was predicted")
            work.ratios += mine.ratios
            work.inside += mine.inside
            _add_sizes(costs, seen, state, memory)
    _tell(report, "local", work)
    _tell(report, "state", state)
    report.figures["memory_error"] = (memory.error, "relative")


def _replayed(trial: Trial, columns: Columns) -> Seen:
    return probe(trial, lambda load, directory, _seed: Recorded(load, directory, columns))


def predicted_epoch(costs: Costs, seen: Seen, epoch: Epoch) -> tuple[Estimate, float]:
    """Processor seconds of the shards of an epoch, as predicted and as measured."""
    load, shards = seen.trial.load, seen.trial.shards
    leaf = leaf_seen(load, epoch.rows, epoch.ticks, epoch.segments, epoch.answers)
    size = costs.state.predict(amounts.held(load, shards)).value
    each = costs.shard.predict(amounts.work(load, leaf, shards, size))
    return each * shards, sum(step.cpu for step in epoch.shards)


def _add_sizes(costs: Costs, seen: Seen, state: Compared, memory: Compared) -> None:
    load, shards = seen.trial.load, seen.trial.shards
    elapsed = sum(ticks for ticks, _ in seen.trial.pages) * load.tick
    size = costs.state.predict(amounts.held(load, shards, elapsed))
    for bytes_held in seen.epochs[-1].state:
        state.add(float(bytes_held), size)
    most = float(max(epoch.rows for epoch in seen.epochs))
    total = float(sum(seen.epochs[-1].state))
    memory.add(float(seen.memory), costs.memory.predict(amounts.resident(load, most, 1, total)))


def _alike(trials: list[Trial]) -> list[Trial]:
    """Pages of one size, so that epochs can be told from the noise, after Java has warmed up."""
    return [replace(trial, pages=((10, 1),) * 24, warm=12, shards=2) for trial in trials]


def _spark(report: Report, costs: Costs, turned: list[Turned], cores: int) -> None:
    """Epochs on Spark, from commit to commit, and rows a second."""
    found, likeness = Compared(), []
    for one in turned:
        load = one.trial.load
        model = Model(costs, load, cores, shards=one.trial.shards)
        seconds = [turn.seconds for turn in one.turns]
        for turn in one.turns:
            leaf = leaf_seen(load, turn.rows, turn.ticks, 1, turn.answers)
            found.add(turn.seconds, model.parts_of(leaf).total)
        rate = sum(turn.rows for turn in one.turns) / sum(seconds)
        report.figures[f"spark_{cores}_{one.trial.name}_rows"] = (rate, "rows/s")
        leaf = leaf_seen(load, one.turns[-1].rows, one.turns[-1].ticks, 1, one.turns[-1].answers)
        expected = one.turns[-1].rows / model.parts_of(leaf).total.value
        report.figures[f"spark_{cores}_{one.trial.name}_predicted"] = (expected, "rows/s")
        likeness.append(_simulated_over(model, one.turns[-1].ticks * load.tick, seconds))
    _tell(report, f"spark_{cores}", found)
    report.figures[f"simulated_over_measured_{cores}"] = (median(likeness), "ratio")


def _simulated_over(model: Model, length: float, seconds: list[float]) -> float:
    """Median seconds of simulated epochs of a length over those measured."""
    calm = Disorder(burst=0.0)
    run = simulate(model, every=length, epochs=200, disorder=calm, max_seconds=length)
    return run.quantile("seconds", 0.5) / median(seconds)


def _tell(report: Report, name: str, found: Compared) -> None:
    report.figures[f"{name}_error"] = (found.error, "relative")
    report.figures[f"{name}_inside"] = (found.held, "of measurements")
    report.bars[f"{name}_error"] = Bar(found.error, ERROR, at_least=False)
    report.bars[f"{name}_inside"] = Bar(found.held, INSIDE)


def _large(report: Report, costs: Costs) -> None:
    """As much as fits here, once, beside the model and the simulation."""
    load = Workload(float(LARGE), LARGE, (Asked("deferred", LARGE),))
    trial = Trial("large", load, 1, ((1, 1), (1, 1), (1, 1), (2, 1), (2, 1)), 3)
    seen = probed(trial)
    predicted, spent = zip(*(predicted_epoch(costs, seen, e) for e in seen.epochs), strict=True)
    report.figures["large_seconds"] = (median(spent), "s of processor time")
    report.figures["large_predicted"] = (median(p.value for p in predicted), "s")
    report.figures["large_over_predicted"] = (
        median(s / p.value for s, p in zip(spent, predicted, strict=True)),
        "ratio",
    )
    model = Model(costs, load, 1, spark=False)
    run = simulate(model, every=2.0, epochs=100, disorder=Disorder(burst=0.0), max_seconds=2.0)
    report.figures["large_simulated"] = (run.quantile("seconds", 0.5), "s")
    report.figures["large_state"] = (float(sum(seen.epochs[-1].state)), "bytes")
    report.figures["large_memory"] = (float(seen.memory), "bytes")


def _simulated(report: Report, costs: Costs) -> None:
    """Toward a million series and ten million queries on up to 256 cores."""
    for queries in (LARGE, 10 * LARGE):
        load = Workload(TOWARD_ROWS, LARGE, (Asked("deferred", queries),))
        for cores in CLUSTERS:
            model = Model(costs, load, cores)
            run = simulate(model, epochs=120, warm=20, max_seconds=30.0)
            name = f"toward_{queries // LARGE}m_queries_{cores}_cores"
            age = run.quantile("age", 0.5) if run.stable else math.nan
            report.figures[name] = (None if math.isnan(age) else age, "s old")
        most = max(carried(costs, load, cores) for cores in CLUSTERS)
        report.figures[f"toward_{queries // LARGE}m_queries_most_rows"] = (most, "rows/s")


def carried(costs: Costs, load: Workload, cores: int) -> float:
    """The most rows a second that some epoch carries with room to spare."""
    low, high = 0.0, 64.0
    for _ in range(30):
        middle = (low + high) / 2.0
        fits = Model(costs, load.times(rows=middle), cores).shortest() is not None
        low, high = (middle, high) if fits else (low, middle)
    return load.rows * low


class Recorded(Made):
    """Rows of somebody else's, so many of their ticks at a time; series are numbered anew."""

    def __init__(self, load: Workload, directory: Path, columns: Columns) -> None:
        super().__init__(load, directory, 1)
        self.zones = pa.array(columns.zone)
        self.columns = columns
        self.tick = ticks_of(columns.ts, round(load.tick * SECOND))
        self.edges = np.append(np.flatnonzero(np.diff(self.tick, prepend=-1)), len(columns))

    def page(self, ticks: int, segments: int = 1) -> int:
        """Write the rows of the next ticks that have any."""
        first, last = self.edges[[self.ticks, min(self.ticks + ticks, len(self.edges) - 1)]]
        self.ticks = min(self.ticks + ticks, len(self.edges) - 1)
        for part in np.array_split(np.arange(first, last), segments):
            found = self.columns
            self._write(found.sid[part].astype(np.int64), found.ts[part], found.value[part])
        return int(last - first)


def recorded_trials(columns: Columns) -> list[Trial]:
    """Latest values, deferred cells and windows by zone over somebody else's rows."""
    tick = tick_for(columns.ts)
    seen = np.unique(ticks_of(columns.ts, tick))
    pages = [(int(n), 1) for n in np.diff(np.linspace(0, len(seen), 11).astype(int))]
    if min(n for n, _ in pages) < 1:
        raise SourceFailure(
            "too few instants to measure with",
            f"{len(seen)} ticks of {tick / SECOND:g} s, at least 10 are needed",
            "give rows of a longer time",
        )
    zones = len(set(columns.zone))
    wide = tick / SECOND * 3.0
    asked = {
        "latest": Asked("latest", 500),
        "deferred": Asked("deferred", 10_000),
        "windows": Asked("window", 100, groups=zones, window=8.0 * wide, slide=wide),
    }
    rows = len(columns) / len(seen) / (tick / SECOND)
    series = len(columns.series)
    return [
        Trial(name, Workload(rows, series, (one,), tick / SECOND), 1, tuple(pages), len(WARM))
        for name, one in asked.items()
    ]
