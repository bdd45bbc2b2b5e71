"""The command `run`: a project file becomes a running gauge."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource
from rich.console import Console
from rich.live import Live
from rich.text import Text

from streamgauge.cli.attend import attended, audit_option, control_options, webhook_option
from streamgauge.cli.launch import Launch, watch
from streamgauge.cli.options import (
    checkpoint_option,
    console,
    functions_option,
    home_option,
    keep_option,
    memory_option,
    roots_option,
    timeout_option,
)
from streamgauge.cli.project import FILE, NO_PROJECT, Project, bring, load_project
from streamgauge.cli.reading import expected_registry
from streamgauge.cli.vitals import Vitals
from streamgauge.control.control_topic import ControlTopic
from streamgauge.engine.job import MAX_ROWS
from streamgauge.gauge import Gauge, connect
from streamgauge.log import lock
from streamgauge.log.home import QUERY_TIMEOUT

LIVE_SECONDS = 0.25
PLAIN_SECONDS = 5.0


@click.command(short_help="Run a project file until Ctrl-C.")
@click.argument("project", type=click.Path(exists=True, path_type=Path), required=False)
@home_option
@click.option("--engine", type=click.Choice(["spark", "local"]), help="[default: spark]")
@click.option("--master", metavar="URL", help="Spark master. [default: all local cores]")
@checkpoint_option
@keep_option
@memory_option
@timeout_option
@functions_option
@roots_option
@click.option("--once", is_flag=True, help="Answer all that is there now, then exit.")
@audit_option(0)
@control_options
@webhook_option
@click.option("--prune", is_flag=True, help="Drop queries that are not in the project.")
@click.pass_context
def run(
    ctx: click.Context,
    project: Path | None,
    home: Path,
    engine: str | None,
    master: str | None,
    checkpoint: str | None,
    keep_answers: str | None,
    memory: str | None,
    query_timeout: str | None,
    allow_functions: tuple[str, ...],
    data_roots: tuple[Path, ...],
    once: bool,
    audit: int,
    control: str | None,
    replies: str | None,
    allow_webhooks: tuple[str, ...],
    prune: bool,
) -> None:
    """Run a PROJECT file (or the streamgauge.toml of a directory) until Ctrl-C or SIGTERM.

    Streams, windows and queries of the file are declared; what is declared already stays, a query
    whose text changed is altered. Stopping loses nothing: the next run goes on where this one was.
    Without a PROJECT file a home that is there is run as it is.
    """
    alone = project is None and not Path(FILE).exists() and (home / "gauge.json").exists()
    if alone and prune:
        raise click.UsageError("--prune needs a PROJECT: without one it would drop everything")
    loaded = NO_PROJECT if alone else load_project(project or Path(FILE))
    asked = ctx.get_parameter_source("home") != ParameterSource.DEFAULT
    home = home if asked or loaded.home is None else loaded.home
    engine = engine or loaded.engine or "spark"
    terminal = console()
    lock.refuse_if_held(home)
    master = master or loaded.master
    loaded = loaded.said(
        checkpoint=checkpoint,
        keep_answers=keep_answers,
        memory=memory,
        query_timeout=query_timeout,
    )
    loaded = replace(
        loaded,
        functions=(*loaded.functions, *allow_functions),
        data_roots=(*loaded.data_roots, *map(str, data_roots)),
    )
    gauge = _connected(loaded, home, engine, master)
    brought = bring(loaded, gauge, expected_registry(gauge.home), prune=prune)
    terminal.print(f"home {home}, {len(loaded.streams)} streams, {brought}")
    vitals = Vitals(gauge)
    try:
        launch = Launch(gauge, terminal, engine, master, loaded.settings)
        said = attended(
            gauge, audit, control=control, replies=replies, allow_webhooks=allow_webhooks
        )
        with launch.running(), said as topic:
            if once:
                if topic is not None:
                    topic.wait()
                gauge.drain(timeout=math.inf)
            else:
                _show(gauge, vitals, terminal, topic)
    finally:
        vitals.read()
        terminal.print(f"stopped: {vitals.line()}", soft_wrap=True)


def _connected(project: Project, home: Path, engine: str, master: str | None) -> Gauge:
    return connect(
        home,
        engine=engine,
        master=master,
        shards=project.shards,
        max_rows=MAX_ROWS if project.max_rows is None else project.max_rows,
        settings=project.settings or None,
        checkpoint=project.checkpoint,
        keep_answers=project.keep_answers,
        memory=project.memory,
        query_timeout=project.query_timeout or QUERY_TIMEOUT,
        allow_functions=project.functions,
        data_roots=project.data_roots,
    )


def _show(gauge: Gauge, vitals: Vitals, terminal: Console, topic: ControlTopic | None) -> None:
    """A line that renews itself on a terminal; a line every few seconds elsewhere."""
    if not terminal.is_terminal:
        watch(gauge, lambda: _print_line(vitals, terminal), every=PLAIN_SECONDS, topic=topic)
        return
    terminal.print("running; Ctrl-C stops it and loses nothing")
    live = Live(console=terminal, auto_refresh=False, transient=True)
    with live:
        watch(gauge, lambda: _renew(vitals, live), every=LIVE_SECONDS, topic=topic)


def _print_line(vitals: Vitals, terminal: Console) -> None:
    vitals.read()
    terminal.print(vitals.line(), soft_wrap=True)


def _renew(vitals: Vitals, live: Live) -> None:
    vitals.read()
    live.update(Text(vitals.line()), refresh=True)
