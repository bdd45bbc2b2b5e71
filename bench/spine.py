"""Workload `spine`: ten thousand averages checked each second and a thousand grouped windows.

A thousand series tick once a second of event time. Ten thousand standing queries average nine
series each, exactly, and answer when the average has moved; a thousand more are grouped windows
that answer every minute. Beside it, in the same run: a bare Spark scan of the same files, plain
Structured Streaming at the same granularity, and what else one would pick.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from bench.check import Checked, check
from bench.data import Card, Sizes, generate, load, prepare
from bench.harness import Group, Outcome, Spread, Steps, Task, in_turns, ratios, run_tasks
from bench.peers.plain import FORMS
from bench.queries import calibrate, windowed
from bench.report import Bar, Line, Report, short

NAME = "spine"
LARGE = 4
FEW = 100
QUICK = Sizes(rows=1_500_000, batch=250_000, checks=5_000, ticks=12, slices=4)
FULL = Sizes(rows=24_000_000, batch=1_000_000, ticks=60, slices=20)


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes."""

    sizes: Sizes
    repetitions: int
    together: bool
    forms: tuple[str, ...]
    ticks: int
    each: tuple[int, ...]
    others: tuple[str, ...]
    box: float


QUICK_EXTENT = Extent(QUICK, 1, True, FORMS[:1], 8, (), (), 20.0)
FULL_EXTENT = Extent(FULL, 3, False, FORMS, 40, (10, 50), ("pathway", "bytewax", "flink"), 40.0)


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Prepare the rows, run everything in turns, check the answers."""
    extent = QUICK_EXTENT if quick else FULL_EXTENT
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        return _Spine(extent, directory, console).run(data, quick=quick)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class _Spine:
    """One run: the steps in order."""

    def __init__(self, extent: Extent, directory: Path, console: Console) -> None:
        self.extent = extent
        self.directory = directory
        self.console = console
        self.home = directory / "home"
        self.steps = Steps(console, 0)

    def run(self, data: Path | None, *, quick: bool) -> Report:
        extent = self.extent
        origin = str(data) if data else f"generated, {extent.sizes.n_series} series"
        card = self._prepare(data, origin)
        turns, once = self._turns(card), self._once(card)
        self.steps.total = extent.repetitions * len(turns) + len(once) + 1
        with self.steps.shown():
            found = in_turns(turns, extent.repetitions, self._measure)
            found |= in_turns(once, 1, self._measure)
            checked = self._check(card)
        tasks = {name: task for group in (*turns, *once) for name, task in group.items()}
        lines = [
            Line(name, _title(tasks[name], card), found[name])
            for name in sorted(tasks.keys() - {"registration"}, key=_order)
        ]
        report = Report(NAME, quick, origin, lines)
        report.about = (
            f"{short(self.extent.sizes.queries)} averages, {short(len(windowed(card)))} windows, "
            f"batches of {short(card.batch)} rows; {origin}"
        )
        report.right = not checked.wrong
        report.checked = _verdict(checked)
        _figures(report, card, found, checked)
        _set_bars(report, found)
        return report

    def _prepare(self, data: Path | None, origin: str) -> Card:
        sizes = self.extent.sizes
        what = f"reading {data}" if data else f"generating {short(sizes.rows)} rows"
        self.console.print(f"{what} ...", markup=False, highlight=False)
        columns = load(data) if data else generate(sizes.rows, sizes.n_series)
        card = prepare(columns, self.directory / "prepared", sizes, origin=origin)
        card = calibrate(card)
        self.console.print(
            f"{short(card.rows)} rows of {len(card.series)} series in {card.files} batches, "
            f"tick {card.tick / 1e6:g} s, answers on a change of {card.epsilon:g}",
            markup=False,
            highlight=False,
        )
        return card

    def _turns(self, card: Card) -> list[Group]:
        """What is run interleaved; a quick run spares itself processes, and so Java starts."""
        ours = Task("ours", card.directory, queries=self.extent.sizes.queries, home=str(self.home))
        scan = Task("scan", card.directory)
        few = replace(ours, queries=FEW, home="")
        registration = replace(ours, peer="registration", home="")
        if self.extent.together:
            held = {"ours": ours, "ours_few": few, "registration": registration}
            return [held, {"scan": scan, **self._plain(card)}]
        groups = [{"ours": ours}, {"scan": scan}, {"ours_few": few}]
        if card.files >= LARGE * 4:
            groups.append({"ours_large": replace(ours, files=LARGE, home="")})
            groups.append({"scan_large": replace(scan, files=LARGE)})
        return [*groups, {"registration": registration}]

    def _plain(self, card: Card) -> Group:
        extent = self.extent
        plain = Task("plain", card.directory, batches=extent.ticks, seconds=extent.box)
        plain = replace(plain, queries=extent.sizes.queries)
        return {f"plain_{form}": replace(plain, form=form) for form in extent.forms}

    def _once(self, card: Card) -> list[Group]:
        """What is run once, for a bounded time."""
        extent, queries = self.extent, self.extent.sizes.queries
        tasks: Group = {} if extent.together else self._plain(card)
        for n in extent.each:
            tasks[f"each_{n}"] = Task("each", card.directory, queries=n, seconds=extent.box)
        for peer in extent.others:
            tasks[peer] = Task(peer, card.directory, queries=queries, seconds=extent.box)
        tasks["limit"] = Task("limit", card.directory, queries=queries)
        return [{name: task} for name, task in tasks.items()]

    def _measure(self, group: Group) -> list[Outcome]:
        with self.steps.step(", ".join(group)) as said:
            if any(task.home for task in group.values()):
                shutil.rmtree(self.home, ignore_errors=True)
            outcomes = run_tasks(list(group.values()))
            said += map(_said, outcomes)
        return outcomes

    def _check(self, card: Card) -> Checked:
        with self.steps.step("check") as said:
            checked = check(card, self.home, n_queries=self.extent.sizes.queries)
            said.append(_verdict(checked))
        return checked


def _said(outcome: Outcome) -> str:
    if outcome.missing:
        return f"N/A, {outcome.missing}"
    if outcome.rate is None:
        return ", ".join(f"{name} {short(value)}" for name, value in outcome.facts.items())
    return f"{short(outcome.rate)} rows/s"


def _verdict(checked: Checked) -> str:
    if checked.wrong:
        some = ", ".join(checked.wrong[:3])
        return f"WRONG answers of {len(checked.wrong)} of {checked.queries} queries: {some}"
    return f"checked: {checked.queries} queries, {checked.answers} answers, all right"


ORDER = ("ours", "scan", "plain", "each", "pathway", "bytewax", "flink", "limit")


def _order(name: str) -> tuple[bool, int, int, str]:
    """Ours first, then the others from near to far; what runs at another size comes last."""
    place = [name.startswith(peer) for peer in ORDER].index(True)
    return name.endswith("_large"), place, len(name), name


def _title(task: Task, card: Card) -> str:
    size = f", {short(card.batch * task.files)} rows" if task.files > 1 else ""
    return {
        "ours": f"ours, {short(task.queries)} queries{size}",
        "scan": f"Spark scan{size}",
        "plain": f"Spark per tick, {task.form}",
        "each": f"Spark, {task.queries} jobs",
        "pathway": "Pathway",
        "bytewax": "Bytewax",
        "flink": "PyFlink",
        "limit": "limit (Numba)",
    }[task.peer]


def _fact(outcomes: list[Outcome], name: str) -> Spread | None:
    return Spread.of([outcome.facts.get(name) for outcome in outcomes])


def _figures(
    report: Report,
    card: Card,
    found: dict[str, list[Outcome]],
    checked: Checked,
) -> None:
    ours, scan, registered = found["ours"], found["scan"], found["registration"]
    figures = report.figures
    for name in ("answers_per_second", "late", "state_bytes"):
        figures[name] = _fact(ours, name), {"late": "rows", "state_bytes": "bytes"}.get(name, "1/s")
    per_query = [o.facts["state_bytes"] / o.facts["queries"] for o in ours if not o.missing]
    figures["state_bytes_per_query"] = Spread.of(per_query), "bytes"
    figures["answered_share"] = checked.share, "of checks"
    figures["epsilon"] = card.epsilon, "value"
    figures["register_all"] = _fact(ours, "register_seconds"), "s"
    drift = [o.facts["clock_seconds"] / o.seconds for o in ours if not o.missing]
    figures["clock_over_commits"] = Spread.of(drift), "ratio"
    shards = [o.facts["shard_seconds"] / o.seconds for o in ours if not o.missing]
    figures["shard_share"] = Spread.of(shards), "of epoch"
    figures["scan_share_cpu"] = ratios(ours, scan, "cpu_rate"), "ratio"
    if "ours_large" in found:
        large, scanned = found["ours_large"], found["scan_large"]
        figures["scan_share_large"] = ratios(large, scanned), "ratio"
        figures["scan_share_large_cpu"] = ratios(large, scanned, "cpu_rate"), "ratio"
    figures["cost_100_to_10000_cpu"] = ratios(found["ours_few"], ours, "cpu_rate"), "ratio"
    figures["registration_seconds"] = _fact(registered, "seconds"), "s"
    figures["registration_call_seconds"] = _fact(registered, "call_seconds"), "s"
    figures["registration_epochs_from_call"] = _fact(registered, "epochs_from_call"), "epochs"


def _set_bars(report: Report, found: dict[str, list[Outcome]]) -> None:
    ours = found["ours"]
    rate = Spread.of([outcome.rate for outcome in ours])
    plain = [o.rate for name, runs in found.items() if name.startswith("plain_") for o in runs]
    best = max((value for value in plain if value is not None), default=None)
    share = ratios(ours, found["scan"])
    cost = ratios(found["ours_few"], ours)
    epochs = _fact(found["registration"], "epochs")
    report.bars = {
        "scan_share": Bar(share.value if share else None, 0.5),
        "versus_plain_spark": Bar(rate.value / best if rate and best else None, 20.0),
        "cost_100_to_10000": Bar(cost.value if cost else None, 1.5, at_least=False),
        "registration_epochs": Bar(epochs.high if epochs else None, 2.0, at_least=False),
    }
