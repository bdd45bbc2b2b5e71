"""The command `serve`: a gauge over HTTP."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from streamgauge.cli.attend import AUDITED, attended, audit_option, control_options, webhook_option
from streamgauge.cli.launch import Launch, watch
from streamgauge.cli.options import (
    checkpoint_option,
    console,
    functions_option,
    home_option,
    keep_option,
    memory_option,
    open_home,
    roots_option,
    timeout_option,
)
from streamgauge.cli.signals import clean_signals
from streamgauge.gauge import Gauge, connect
from streamgauge.log import lock
from streamgauge.log.home import QUERY_TIMEOUT
from streamgauge.server import logs
from streamgauge.server.owner_token import NAME, owner_token
from streamgauge.server.prometheus import dashboard
from streamgauge.server.serving import Server
from streamgauge.server.settings import LISTEN, Settings
from streamgauge.server.telemetry import Telemetry

WATCH_SECONDS = 1.0
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
ADDRESS = f"{LISTEN.scheme}://{LISTEN.host}:{LISTEN.port}"


@click.command(short_help="Run a home and serve it over HTTP.")
@home_option
@click.option("--listen", default=ADDRESS, show_default=True, metavar="URL", help="Where.")
@click.option("--tokens", type=FILE, metavar="FILE", help="Lines: token role [name].")
@click.option("--cert", type=FILE, metavar="FILE", help="Certificate of an https address.")
@click.option("--key", type=FILE, metavar="FILE", help="Its private key.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0.01),
    default=Settings().rate,
    show_default=True,
    help="Requests a second that one token is good for.",
)
@click.option("--engine", type=click.Choice(["spark", "local"]), help="[default: spark]")
@click.option("--master", metavar="URL", help="Spark master. [default: all local cores]")
@checkpoint_option
@keep_option
@memory_option
@timeout_option
@functions_option
@roots_option
@click.option("--no-job", is_flag=True, help="Serve a home whose job runs elsewhere.")
@audit_option(AUDITED)
@control_options
@webhook_option
@click.option("--log", "log", type=click.Choice(["json", "text"]), help="Events on standard error.")
@click.option("--otel", metavar="URL", help="Push the figures there by OTLP over HTTP.")
@click.option("--grafana", is_flag=True, help="Print a Grafana dashboard and exit.")
def serve(
    home: Path,
    listen: str,
    tokens: Path | None,
    cert: Path | None,
    key: Path | None,
    rate: float,
    engine: str | None,
    master: str | None,
    checkpoint: str | None,
    keep_answers: str | None,
    memory: str | None,
    query_timeout: str | None,
    allow_functions: tuple[str, ...],
    data_roots: tuple[Path, ...],
    no_job: bool,
    audit: int,
    control: str | None,
    replies: str | None,
    allow_webhooks: tuple[str, ...],
    log: str | None,
    otel: str | None,
    grafana: bool,
) -> None:
    """Run the job of a home, made if it is not there, and serve it until Ctrl-C or SIGTERM.

    Streams, queries, answers and live feeds are under /v1, described by /v1/openapi.json; figures
    for Prometheus are at /metrics, and a page for people at /. Where the job runs here, alerts are
    delivered and some answers audited. An address that other machines reach needs --tokens.
    """
    if grafana:
        click.echo(dashboard())
        return
    if no_job and (engine or master or checkpoint or keep_answers or memory or control):
        raise click.UsageError("--no-job starts no engine: leave the options of a job out")
    settings = Settings.of(listen, tokens=tokens, cert=cert, key=key)
    settings = replace(settings, rate=rate)
    terminal = console()
    if no_job:
        gauge = open_home(home, allow_functions, data_roots)
        with clean_signals(), _served(gauge, settings, terminal, log, otel):
            threading.Event().wait()
        return
    lock.refuse_if_held(home)
    engine = engine or "spark"
    gauge = connect(
        home,
        engine=engine,
        master=master,
        checkpoint=checkpoint,
        keep_answers=keep_answers,
        memory=memory,
        query_timeout=query_timeout or QUERY_TIMEOUT,
        allow_functions=allow_functions,
        data_roots=data_roots,
    )
    launch = Launch(gauge, terminal, engine, master)
    with (
        launch.running(),
        attended(
            gauge, audit, control=control, replies=replies, allow_webhooks=allow_webhooks
        ) as topic,
        _served(gauge, settings, terminal, log, otel),
    ):
        watch(gauge, lambda: None, every=WATCH_SECONDS, topic=topic)


@click.command(short_help="Print the token of a data directory.")
@home_option
def token(home: Path) -> None:
    """Print the token that a server without --tokens asks for before it changes anything.

    The first start of the server makes it. Its file has mode 0600, so only its owner can print it.
    """
    click.echo(owner_token(open_home(home).home.root))


@contextmanager
def _served(
    gauge: Gauge, settings: Settings, terminal: Console, log: str | None, otel: str | None
) -> Iterator[None]:
    """Serve a gauge, write its events and push its figures until the end of the block."""
    first = not (gauge.home.root / NAME).exists()
    with ExitStack() as stack:
        if log is not None:
            stack.callback(logs.silence, logs.write(log, sys.stderr))
            stack.enter_context(logs.Chronicle(gauge))
        server = stack.enter_context(Server(gauge, settings))
        if otel is not None:
            stack.enter_context(Telemetry(server.app.state.figures, otel))
        terminal.print(f"serving {gauge.home.root} at {server.address}; Ctrl-C stops it")
        if first and server.token is not None:
            terminal.print(f"open {server.page} to change queries", soft_wrap=True)
            terminal.print(f"print it again: streamgauge token --home {gauge.home.root}")
        yield
