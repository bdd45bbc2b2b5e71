"""The command `sinks`: where answers are delivered, how far, and what hinders it."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.options import console, home_option, open_home
from streamgauge.log import lock
from streamgauge.sinks.report import Progress, read

COLORS = {"current": "green", "behind": "yellow", "failing": "red"}


@click.command(short_help="List sinks, how far each is, and what hinders it.")
@home_option
@json_option
def sinks(home: Path, as_json: bool) -> None:
    """List the sinks of a home: how far each is, epochs that wait, and the last error."""
    gauge = open_home(home)
    known = read(gauge.home, gauge.registry().sinks)
    running = lock.held(gauge.home.root)
    if as_json:
        say_json({"running": running, "sinks": [progress.as_dict() for progress in known]})
        return
    if known:
        console().print(_listed(known))
    for progress in known:
        if progress.failure:
            told = progress.failure
            tries = f"tried {progress.tries} times"
            click.echo(f"{progress.standing.sink.name}: {_plain(told['message'])}, {tries}")
            for part in ("detail", "hint"):
                if told.get(part):
                    click.echo(f"  {part}: {_plain(told[part])}")
    failing = sum(progress.state == "failing" for progress in known)
    asleep = "" if running else ", no job runs"
    click.echo(f"{len(known)} sinks, {failing} failing{asleep}")


def _listed(known: list[Progress]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("sink", "on", "delivers", "state", "epoch", "waiting", "delivered"):
        table.add_column(title, justify="right" if title in ("epoch", "waiting") else "left")
    for progress in known:
        sink = progress.standing.sink
        table.add_row(
            Text(_plain(sink.name)),
            Text(_plain(sink.words)),
            Text(_plain(str(sink.to))),
            Text(progress.state, COLORS[progress.state]),
            str(progress.epoch),
            str(progress.waiting),
            str(progress.delivered),
        )
    return table


def _plain(text: str) -> str:
    return text if text.isprintable() else ascii(text)
