"""The command `demo`: a synthetic plant, some thousand standing queries, live answers."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live

from streamgauge.cli.in_force import Change
from streamgauge.cli.launch import Launch, watch
from streamgauge.cli.options import console
from streamgauge.cli.panorama import Panorama, Row
from streamgauge.cli.plant_questions import STREAM, WATCH, portfolios, sensor_names, windowed
from streamgauge.cli.plant_questions import watch as watch_query
from streamgauge.cli.reading import expected_registry
from streamgauge.cli.vitals import Vitals
from streamgauge.gauge import Gauge, connect
from streamgauge.kernel.errors import MissingRuntime
from streamgauge.log import lock
from streamgauge.log.journal import Journal
from streamgauge.plan.query import Query
from streamgauge.sources.declare import plant as plant_source
from streamgauge.sources.plant import Plant

SENSORS = 1000
SPEED = 60.0
EXPECTED_GAP = "10 s"
MORE = 500
MORE_AFTER_SECONDS = 20.0
LIVE_SECONDS = 0.25
PLAIN_SECONDS = 2.0


@click.command(short_help="Show live answers of a synthetic plant.")
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the gauge. [default: a temporary one, removed at the end]",
)
@click.option("--seconds", type=click.FloatRange(min=0), metavar="N", help="End after N seconds.")
@click.option("--queries", type=click.IntRange(min=1), default=3000, show_default=True)
@click.option("--engine", type=click.Choice(["spark", "local"]), default="spark", show_default=True)
@click.option("--plain", is_flag=True, help="Print lines instead of a live view.")
def demo(home: Path | None, seconds: float | None, queries: int, engine: str, plain: bool) -> None:
    """Show live answers of a synthetic plant: 1,000 sensors, some thousand standing queries."""
    terminal = console()
    with _place(home) as place:
        lock.refuse_if_held(place)
        gauge = connect(place, engine=engine)
        names = _declare(gauge, queries)
        terminal.print(
            f"{SENSORS:,} sensors, each once a second, {SPEED:g} times as fast as the clock; "
            f"{len(expected_registry(gauge.home).queries):,} standing queries; Ctrl-C ends it"
        )
        vitals = Vitals(gauge)
        panorama = Panorama(vitals, _rows())
        try:
            launch = Launch(gauge, terminal, engine)
            with launch.running():
                launch.wait_for_answers()
                later = _Later(gauge, portfolios(names, MORE, first=queries), _delay(seconds))
                _show(panorama, later, terminal, seconds=seconds, plain=plain)
        finally:
            if vitals.read() or vitals.epochs:
                _summary(panorama, terminal, kept=home)


@contextmanager
def _place(home: Path | None) -> Iterator[Path]:
    """The home; a temporary one goes when all went well, and stays to be looked at otherwise."""
    if home is not None:
        yield home
        return
    made = Path(tempfile.mkdtemp(prefix="streamgauge-demo-"))
    failed = True
    try:
        yield made
        failed = False
    except (KeyboardInterrupt, SystemExit, MissingRuntime):
        failed = False
        raise
    finally:
        if failed:
            click.echo(f"the home of the demo is kept: {made}", err=True)
        else:
            shutil.rmtree(made, ignore_errors=True)


def _declare(gauge: Gauge, queries: int) -> list[str]:
    """Declare the plant and the questions that are not asked yet; give the sensors' names."""
    plant = Plant(n_sensors=SENSORS)
    gauge.stream(
        STREAM,
        plant_source(n_sensors=SENSORS, seed=plant.seed, speed=SPEED),
        time="ts",
        key="series",
        expected_gap=EXPECTED_GAP,
    )
    names = sensor_names(plant)
    asked = [watch_query(plant, names), *windowed(), *portfolios(names, queries)]
    known = expected_registry(gauge.home).queries
    fresh = [query for query in asked if query.name not in known]
    if fresh:
        gauge.register(*fresh)
    return names


def _rows() -> list[Row]:
    return [
        (WATCH, ()),
        ("portfolio-00000", ()),
        ("heat", ("site-00",)),
        ("portfolio-00001", ()),
        ("spread", ("temp",)),
        ("portfolio-00002", ()),
        ("heat", ("site-01",)),
        ("portfolio-00003", ()),
        ("peak", ("power",)),
        ("portfolio-00004", ()),
        ("mean", ("site-00", "flow")),
        ("rows", ()),
    ]


def _delay(seconds: float | None) -> float:
    return MORE_AFTER_SECONDS if seconds is None else min(MORE_AFTER_SECONDS, seconds / 3)


@dataclass(slots=True)
class _Later:
    """Queries that are registered while the demo runs, and when they took hold."""

    gauge: Gauge
    queries: list[Query]
    delay: float
    begin: float = field(default_factory=time.monotonic)
    change: Change | None = None
    at: int = 0
    done: bool = False

    def step(self) -> str | None:
        """Register when it is time, see whether it took hold; what there is to say."""
        if self.done or time.monotonic() - self.begin < self.delay:
            return None
        if self.change is None:
            return self._register()
        committed, journal = self.gauge.home.committed(), Journal(self.gauge.home)
        for number in range(self.change.after + 1, committed + 1):
            if self.change.inside(journal.page(number)):
                self.done = True
                epochs = number - self.at
                plural = "" if epochs == 1 else "s"
                n = len(self.queries)
                return f"registered {n:,} more queries; in force after {epochs} epoch{plural}"
        return None

    def _register(self) -> str | None:
        known = expected_registry(self.gauge.home).queries
        self.queries = [query for query in self.queries if query.name not in known]
        self.done = not self.queries
        if self.done:
            return None
        names = tuple(query.name for query in self.queries)
        self.change = Change("register", names, after=Journal(self.gauge.home).last())
        self.at = self.gauge.home.committed()
        self.gauge.register(*self.queries)
        return f"registering {len(names):,} more queries while data flows"


def _show(
    panorama: Panorama, later: _Later, terminal: Console, *, seconds: float | None, plain: bool
) -> None:
    gauge = panorama.vitals.gauge

    def look() -> None:
        panorama.look()
        panorama.notice = later.step() or panorama.notice

    if plain or not terminal.is_terminal:

        def tell() -> None:
            look()
            for line in panorama.block():
                terminal.print(line, soft_wrap=True)

        watch(gauge, tell, every=PLAIN_SECONDS, seconds=seconds)
        return
    with Live(console=terminal, screen=True, auto_refresh=False) as live:

        def draw() -> None:
            look()
            live.update(panorama.draw(*terminal.size), refresh=True)

        watch(gauge, draw, every=LIVE_SECONDS, seconds=seconds)


def _summary(panorama: Panorama, terminal: Console, *, kept: Path | None) -> None:
    vitals = panorama.vitals
    if terminal.is_terminal and panorama.newest:
        terminal.print(panorama.draw(*terminal.size))
    terminal.print(
        f"\n{vitals.epochs:,} epochs, {vitals.rows:,} rows, {vitals.answers:,} answers of "
        f"{vitals.queries:,} standing queries, {panorama.interrupted:,} of them with a bar that an "
        "outage widened"
    )
    if kept is not None:
        terminal.print(f"look at it:    streamgauge ls --home {kept}")
    terminal.print("your own data: streamgauge run examples/plant, a project file to start from")
    terminal.print("all commands:  streamgauge --help")
