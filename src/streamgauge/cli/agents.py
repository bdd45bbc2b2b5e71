"""The command `agents`: who feeds the streams, and what the filters beside them let through."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.options import console, home_option, open_home

LIMIT = 50


@click.command(short_help="List agents and the bounds of their objects.")
@click.argument("stream", required=False)
@home_option
@click.option("--objects", "of_objects", is_flag=True, help="List objects with their bounds.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=LIMIT,
    show_default=True,
    help="Show at most so many; 0 for all.",
)
@click.option("--forget", metavar="AGENT", help="Wait no longer for an agent of STREAM.")
@json_option
def agents(
    stream: str | None,
    home: Path,
    of_objects: bool,
    limit: int,
    forget: str | None,
    as_json: bool,
) -> None:
    """List the agents of all streams, or of STREAM, and what they sent of what they read."""
    gauge = open_home(home)
    if forget is not None:
        if stream is None:
            raise click.UsageError("--forget needs the STREAM of the agent")
        gauge.forget_agent(stream, forget)
        click.echo(f"{forget} is forgotten as soon as the job that runs has read this")
        return
    found = gauge.objects(stream) if of_objects else gauge.agents(stream)
    rows = found.to_pylist()
    shown = rows[:limit] if limit else rows
    if as_json:
        say_json([{name: _plain(value) for name, value in row.items()} for row in shown])
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in found.column_names:
        table.add_column(title)
    for row in shown:
        table.add_row(*(_cell(value) for value in row.values()))
    if shown:
        console().print(table)
    click.echo(_summary(gauge.agents(stream).to_pylist(), len(rows), of_objects))


def _summary(every: list[dict[str, Any]], n_rows: int, of_objects: bool) -> str:
    heard = sum(row["state"] == "heard" for row in every)
    readings = sum(row["readings"] or 0 for row in every)
    updates = sum(row["updates"] or 0 for row in every)
    spared = f", {1 - updates / readings:.1%} of {readings:,} readings spared" if readings else ""
    objects = f"{n_rows} objects of " if of_objects else ""
    better = sum(row["advice"] == "aggregate" for row in every)
    advice = f", {better} would send less with one value per query" if better else ""
    return f"{objects}{len(every)} agents, {heard} heard{spared}{advice}"


def _plain(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.strftime("%H:%M:%S")
    if isinstance(value, list):
        return "/".join(text if text.isprintable() else ascii(text) for text in value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return value if value.isprintable() else ascii(value)
