"""Workload `connectors`: rows from Kafka through ten thousand standing queries to Kafka.

A real broker, on the machine that does all else, holds the rows as JSON in four partitions. One
line copies them from topic to topic by plain Structured Streaming; ours takes them through ten
thousand averages of nine series each and delivers every answer once. Then rows are paced at half
of the rate that was reached, and the time from an instant to its answer in the topic is taken.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from bench.check import Checked, check
from bench.data import Card, Sizes, generate, load, prepare
from bench.harness import Group, Outcome, Steps, Task, in_turns, middle, ratios, run_tasks
from bench.kafka_broker import Broker
from bench.peers.kafka_delay import AROUND_SECONDS
from bench.peers.kafka_ours import ANSWERS
from bench.queries import calibrate
from bench.report import Bar, Line, Report, short
from bench.topics import count_committed, drop_topics, fill
from streamgauge.engine.spark.jars import fetch

NAME = "connectors"
WANTED_SHARE = 0.6
QUICK = Sizes(rows=400_000, batch=100_000, queries=1_000)
FULL = Sizes(rows=8_000_000, batch=1_000_000)


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes."""

    sizes: Sizes
    repetitions: int
    paced_seconds: float


QUICK_EXTENT = Extent(QUICK, 1, 10.0)
FULL_EXTENT = Extent(FULL, 2, 60.0)


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Fill a topic, run both lines in turns, check what came out, pace rows for the delay."""
    extent = QUICK_EXTENT if quick else FULL_EXTENT
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        # A release of the connector that is older than Spark will do for a comparison.
        fetch("kafka", nearest=True, tell=console.print)
        with Broker(directory) as broker:
            bench = _Connectors(extent, directory, broker.address, console)
            return bench.run(data, quick=quick)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class _Connectors:
    """One run: the steps in order."""

    def __init__(self, extent: Extent, directory: Path, address: str, console: Console) -> None:
        self.extent = extent
        self.directory = directory
        self.home = directory / "home"
        self.address = address
        self.console = console
        self.delivered: list[int] = []
        self.steps = Steps(console, 2 * extent.repetitions + 3)

    def run(self, data: Path | None, *, quick: bool) -> Report:
        origin = str(data) if data else f"generated, {self.extent.sizes.n_series} series"
        with self.steps.shown():
            card = self._prepare(data, origin)
            ours = Task(
                "kafka_ours", card.directory, queries=self.extent.sizes.queries,
                form=self.address, home=str(self.home),
            )  # fmt: skip
            copy = Task("kafka_copy", card.directory, form=self.address)
            groups: list[Group] = [{"ours": ours}, {"copy": copy}]
            found = in_turns(groups, self.extent.repetitions, self._measure)
            with self.steps.step("check") as said:
                checked = check(card, self.home, n_queries=ours.queries, n_windows=0)
                said.append(f"{checked.answers} answers of {checked.queries} queries")
            delay = self._paced(ours, found["ours"])
        return self._report(card, origin, quick, found, checked, delay)

    def _prepare(self, data: Path | None, origin: str) -> Card:
        sizes = self.extent.sizes
        what = f"reading {data}" if data else f"generating {short(sizes.rows)} rows"
        with self.steps.step(f"{what} into a topic") as said:
            columns = load(data) if data else generate(sizes.rows, sizes.n_series)
            card = prepare(columns, self.directory / "prepared", sizes, origin=origin)
            card = calibrate(card)
            said.append(f"{fill(self.address, 'rows', card)} records")
        return card

    def _measure(self, group: Group) -> list[Outcome]:
        with self.steps.step(", ".join(group)) as said:
            if "ours" in group:
                drop_topics(self.address, ANSWERS)
                shutil.rmtree(self.home, ignore_errors=True)
            else:
                drop_topics(self.address, "copied")
            outcomes = run_tasks(list(group.values()))
            if "ours" in group and not outcomes[0].missing:
                self.delivered.append(count_committed(self.address, ANSWERS))
            said += [o.missing or f"{short(o.rate)} rows/s" for o in outcomes]
        return outcomes

    def _paced(self, ours: Task, measured: list[Outcome]) -> Outcome:
        """The delay of answers at half of the rate that was reached."""
        rates = [outcome.rate for outcome in measured if outcome.rate]
        if not rates:
            return Outcome(missing="no rate to take half of")
        pace = int(min(rates) / 2)
        seconds = self.extent.paced_seconds + AROUND_SECONDS
        task = replace(ours, peer="kafka_delay", batches=pace, seconds=seconds, home="")
        with self.steps.step(f"{short(pace)} rows a second") as said:
            drop_topics(self.address, ANSWERS)
            (outcome,) = run_tasks([task])
            said.append(outcome.missing or f"p99 {outcome.facts['delay_p99']:.2f} s")
        outcome.facts["pace"] = pace
        return outcome

    def _report(
        self,
        card: Card,
        origin: str,
        quick: bool,
        found: dict[str, list[Outcome]],
        checked: Checked,
        delay: Outcome,
    ) -> Report:
        ours, copy = found["ours"], found["copy"]
        lines = [
            Line("ours", f"ours, {short(self.extent.sizes.queries)} queries", ours),
            Line("copy", "Spark, topic to topic", copy),
        ]
        report = Report(NAME, quick, origin, lines)
        report.about = f"batches of {short(card.batch)} records, four partitions; {origin}"
        taken = [int(outcome.facts.get("taken", 0)) for outcome in ours]
        given = [int(outcome.facts.get("given", 0)) for outcome in ours]
        share = ratios(ours, copy)
        report.figures["share_of_cpu_rate"] = (ratios(ours, copy, "cpu_rate"), "")
        report.figures["answers_delivered"] = (float(sum(self.delivered)), "")
        for name, unit in (("pace", "rows/s"), ("delay_p50", "s"), ("delay_p99", "s")):
            report.figures[name] = (delay.facts.get(name), unit)
        lost = sum(max(0, card.rows - n) for n in taken)
        doubled = sum(max(0, n - card.rows) for n in taken)
        astray = sum(abs(a - b) for a, b in zip(given, self.delivered, strict=False))
        astray += sum(given[len(self.delivered) :])
        report.bars = {
            "share_of_copy": Bar(middle(share), WANTED_SHARE),
            "records_lost": Bar(lost, 0, at_least=False),
            "records_doubled": Bar(doubled, 0, at_least=False),
            "answers_lost_or_doubled": Bar(astray, 0, at_least=False),
        }
        report.right = not (lost or doubled or astray or checked.wrong)
        report.checked = (
            f"{taken} of {card.rows} records taken, {given} answers given, "
            f"{self.delivered} in the topic; {checked.answers} answers of {checked.queries} "
            f"queries worked out again, {len(checked.wrong)} queries wrong"
        )
        return report
