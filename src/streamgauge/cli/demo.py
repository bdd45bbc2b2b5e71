"""The command `demo`: a plant, some thousand standing queries, a page that shows them, a story."""

from __future__ import annotations

import shutil
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from streamgauge.cli.attend import attended
from streamgauge.cli.launch import Launch, watch
from streamgauge.cli.options import console
from streamgauge.cli.plant_questions import (
    STREAM,
    STREAMS,
    SUMMARY,
    TEXTS,
    alerts,
    created,
    deferred,
    sensor_names,
    windowed,
    zones,
)
from streamgauge.cli.plant_questions import watch as watch_query
from streamgauge.cli.reading import expected_registry
from streamgauge.cli.scenery import Client, Orders, Pumps
from streamgauge.cli.story import Plot
from streamgauge.cli.vitals import Vitals
from streamgauge.cli.warm import LATER, is_compiled, warming
from streamgauge.gauge import Gauge, connect
from streamgauge.kernel.errors import MissingRuntime, SourceFailure
from streamgauge.log import lock
from streamgauge.server.serving import Server
from streamgauge.server.settings import LISTEN, Settings
from streamgauge.server.story import Story
from streamgauge.sources.declare import plant as plant_source
from streamgauge.sources.plant import Plant

SENSORS = 1000
SPEED = 30.0
EXPECTED_GAP = "10 s"
DEFERRED = 40
# All that can be audited have had their turn after a minute or so.
AUDITED, STAY = 24, 20
PLAIN_SECONDS = 5.0
# Seconds before each act of a story that plays by itself, and ports that are tried.
PAUSE = 8.0
PORTS = 20
ADDRESS = f"{LISTEN.scheme}://{LISTEN.host}:{LISTEN.port}"


@click.command(short_help="Show live answers of a synthetic plant on a page.")
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the gauge. [default: a temporary one, removed at the end]",
)
@click.option("--seconds", type=click.FloatRange(min=0), metavar="N", help="End after N seconds.")
@click.option("--queries", type=click.IntRange(min=1), default=3000, show_default=True)
@click.option("--engine", type=click.Choice(["spark", "local"]), default="spark", show_default=True)
@click.option("--listen", default=ADDRESS, show_default=True, metavar="URL", help="Where.")
@click.option("--open", "opened", is_flag=True, help="Open the page in a browser.")
@click.option("--auto", is_flag=True, help="Play the story by itself, as --seconds does.")
@click.option("--plain", is_flag=True, help="Tell each act of the story in lines, too.")
def demo(
    home: Path | None,
    seconds: float | None,
    queries: int,
    engine: str,
    listen: str,
    opened: bool,
    auto: bool,
    plain: bool,
) -> None:
    """Show live answers of a synthetic plant on a page: 1,000 sensors, some thousand queries.

    Everything runs here: the job, the server, agents beside sources, alerts that leave mails in
    the home, and the auditor. The page tells a story in four acts that wait for your click.
    """
    terminal = console()
    settings = Settings.of(listen)
    with _place(home) as place:
        lock.refuse_if_held(place)
        gauge = connect(place, engine=engine)
        asking = Asking(gauge, queries)
        asking.begin(everything=engine == "local")
        vitals = Vitals(gauge)
        try:
            with ExitStack() as stack:
                show = Show(asking, settings)
                stack.callback(show.server.stop)
                terminal.print(f"the page: {show.server.page}", style="bold", soft_wrap=True)
                launch = Launch(gauge, terminal, engine)
                stack.enter_context(launch.running())
                launch.wait_for_answers()
                stack.enter_context(show.alive())
                if opened:
                    webbrowser.open(show.server.page)
                if auto or seconds is not None:
                    show.story.play_all(PAUSE)
                terminal.print(
                    f"{len(gauge.registry().queries):,} standing queries are answered at "
                    f"{show.server.page}; Ctrl-C ends it",
                    soft_wrap=True,
                )
                lines = Lines(vitals, show, terminal, plain)
                watch(gauge, lines, every=PLAIN_SECONDS, seconds=seconds)
        finally:
            if vitals.read() or vitals.epochs:
                _summary(vitals, terminal, kept=home)


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


class Asking:
    """Declares what the demo asks; what needs kernels that are not compiled yet is asked later.

    Parameters
    ----------
    gauge
        Whom.
    queries
        Zones to ask from the beginning.
    """

    def __init__(self, gauge: Gauge, queries: int) -> None:
        self.gauge = gauge
        self.queries = queries
        self.plant = Plant(n_sensors=SENSORS)
        self.names = sensor_names(self.plant)
        self.later = list(LATER)

    def begin(self, *, everything: bool) -> None:
        """Declare the streams, and ask what can be answered at once."""
        source = plant_source(n_sensors=SENSORS, seed=self.plant.seed, speed=SPEED)
        self.gauge.stream(STREAM, source, time="ts", key="series", expected_gap=EXPECTED_GAP)
        known = expected_registry(self.gauge.home)
        missing = [text for name, text in STREAMS.items() if name not in known.streams]
        if missing:
            self.gauge.sql(";\n".join((*missing, SUMMARY)))
        asked = [
            watch_query(self.plant, self.names),
            *windowed(),
            *zones(self.names, self.queries),
        ]
        fresh = [query for query in asked if query.name not in known.queries]
        if fresh:
            self.gauge.register(*fresh)
        for kind in LATER:
            # Without Spark the first epoch compiles what it needs by itself.
            if everything or is_compiled(kind):
                self.ask(kind, self.gauge.sql)

    def ask(self, kind: str, run: Callable[[str], object]) -> None:
        """Ask what needs some kernels, and have it watched."""
        self.later.remove(kind)
        known = expected_registry(self.gauge.home)
        own = deferred(self.names, DEFERRED) if kind == "deferred" else {}
        asked = {**TEXTS[kind], **own}
        fresh = {name: text for name, text in asked.items() if name not in known.queries}
        told = alerts(kind, self.gauge.home.root / "mail")
        texts = [text for name, text in told.items() if name not in known.alerts]
        if fresh or texts:
            run(";\n".join(([created(fresh)] if fresh else []) + texts))


class Show:
    """The page with its story, and what moves behind it.

    Parameters
    ----------
    asking
        What is asked.
    settings
        Where the page is; a port that is taken is passed over.
    """

    def __init__(self, asking: Asking, settings: Settings) -> None:
        gauge = asking.gauge
        self.asking = asking
        self.client = Client()
        self.pumps, self.orders = Pumps(gauge), Orders(self.client)
        plot = Plot(gauge, asking.names, asking.queries, self.client, self.pumps, self.orders)
        self.story = Story(plot.acts(), opening="The job is starting; answers come in a moment.")
        self.server = listening(gauge, settings, self.story)
        self.client.address, self.client.token = self.server.address, self.server.token

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Let everything move until the end of the block; the job runs by now."""
        with ExitStack() as stack:
            stack.enter_context(attended(self.asking.gauge, AUDITED, stay=STAY))
            stack.enter_context(self.pumps)
            stack.enter_context(self.orders)
            stack.callback(self.story.close)
            stack.enter_context(warming([self.asking.later], nice=5))
            self.story.opening = ""
            yield

    def look(self) -> None:
        """Ask what has become possible."""
        for kind in list(self.asking.later):
            if is_compiled(kind):
                self.asking.ask(kind, self.client.run)


def listening(gauge: Gauge, settings: Settings, story: Story | None) -> Server:
    """A server on the first free port from the one that is asked for."""
    asked = settings.listen
    for port in range(asked.port, asked.port + PORTS):
        place = replace(asked, port=port)
        try:
            return Server(gauge, replace(settings, listen=place), story=story).start()
        except SourceFailure:
            if asked.port == 0 or port == asked.port + PORTS - 1:
                raise
    raise AssertionError


class Lines:
    """What the terminal says while people look at the page: a line now and then.

    Parameters
    ----------
    vitals
        How the job goes.
    show
        What is shown.
    terminal
        Where lines go.
    plain
        Whether what the story says is among them.
    """

    def __init__(self, vitals: Vitals, show: Show, terminal: Console, plain: bool) -> None:
        self.vitals = vitals
        self.show = show
        self.terminal = terminal
        self.plain = plain
        self._told: dict[str, int] = {}

    def __call__(self) -> None:
        """Say what is new."""
        self.show.look()
        fresh = self.vitals.read()
        for act in self.show.story.as_dict()["acts"] if self.plain else ():
            known = self._told.get(act["name"], 0)
            for text in act["told"][known:]:
                self.terminal.print(f"  {act['title']}: {text}", soft_wrap=True)
            self._told[act["name"]] = len(act["told"])
        if fresh:
            self.terminal.print(self.vitals.line(), soft_wrap=True)


def _summary(vitals: Vitals, terminal: Console, *, kept: Path | None) -> None:
    terminal.print(
        f"\n{vitals.epochs:,} epochs, {vitals.rows:,} rows, {vitals.answers:,} answers of "
        f"{vitals.queries:,} standing queries"
    )
    if kept is not None:
        terminal.print(f"look at it:    streamgauge serve --home {kept}")
    terminal.print("your own data: streamgauge run examples/plant, a project file to start from")
    terminal.print("all commands:  streamgauge --help")
