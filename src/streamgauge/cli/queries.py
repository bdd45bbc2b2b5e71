"""Commands that show what is asked: ls, show, explain, streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from streamgauge.cli import draw
from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.options import console, home_option, open_home
from streamgauge.cli.reading import expected_registry, latest, listed, matching
from streamgauge.cli.said import drawn
from streamgauge.cli.watching import newest
from streamgauge.contracts.answer import Answer
from streamgauge.gauge import Gauge
from streamgauge.kernel.time import duration_text, instant_text
from streamgauge.log.journal import Journal
from streamgauge.plan.registry import Listed, streams_of
from streamgauge.plan.shadows import is_shadow
from streamgauge.plan.view import View
from streamgauge.streams.stream import Stream

LIMIT = 50
COLUMNS = ("name", "stream", "question", "cadence", "status", "version", "newest answer")
# What goes first where the terminal is narrower than this.
SPARED = ("stream", "cadence", "version")
WIDE = 120
QUESTION_LEAST = 16
STYLES = {"running": "green", "paused": "yellow", "suspended": "red", "waiting": "cyan"}


@click.command(short_help="List queries with their newest answers.")
@click.argument("pattern", required=False)
@home_option
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=LIMIT,
    show_default=True,
    help="Show at most so many; 0 for all.",
)
@json_option
def ls(pattern: str | None, home: Path, limit: int, as_json: bool) -> None:
    """List queries with their newest answers.

    A PATTERN may have *, ? and [...]; without them it fits anywhere in a name.
    """
    gauge = open_home(home)
    queries = listed(gauge)
    names = [name for name in matching(queries, pattern) if not is_shadow(name)]
    shown = names[:limit] if limit else names
    newest = latest(gauge) if shown else {}
    rows = [(queries[name], newest.get(name, [])) for name in shown]
    if as_json:
        say_json(
            {
                "epoch": gauge.home.committed(),
                "total": len(names),
                "queries": [_as_dict(item, answers) for item, answers in rows],
            }
        )
        return
    _print_queries(rows)
    count = f"{len(shown):,} of {len(names):,} queries" if names else "no queries"
    more = ", more with --limit" if len(shown) < len(names) else ""
    click.echo(f"{count}{more}, as of epoch {gauge.home.committed()}")


def _as_dict(item: Listed, answers: list[Answer]) -> dict[str, Any]:
    standing = item.standing
    return {
        "name": standing.name,
        "stream": ", ".join(streams_of(standing.asked)),
        "question": str(standing.asked),
        "cadence": str(standing.asked.answer),
        "status": item.status,
        "why": None if standing.suspended is None else str(standing.suspended),
        "version": standing.version,
        "epoch": standing.epoch,
        "query": standing.asked.as_dict(),
        "latest": [answer.as_dict() for answer in answers],
    }


def _print_queries(rows: list[tuple[Listed, list[Answer]]]) -> None:
    """A table with as many columns as there is room for."""
    if not rows:
        return
    terminal = console()
    cells = [_cells(item, answers) for item, answers in rows]
    titles = [title for title in COLUMNS if terminal.width >= WIDE or title not in SPARED]
    taken = sum(
        2 + max(len(title), *(len(row[title]) for row in cells)) if title != "question" else 2
        for title in titles
    )
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in titles:
        # Rich would shorten all columns alike; the question is the one that can spare it.
        room = max(terminal.width - taken, QUESTION_LEAST) if title == "question" else None
        table.add_column(title, no_wrap=True, max_width=room)
    for row in cells:
        table.add_row(*(row[title] for title in titles))
    terminal.print(table)


def _cells(item: Listed, answers: list[Answer]) -> dict[str, str | Text]:
    query = item.standing.asked
    return {
        "name": query.name,
        "stream": ", ".join(streams_of(query)),
        "question": _question(item),
        "cadence": str(query.answer),
        "status": Text(item.status, style=STYLES.get(item.status, "")),
        "version": str(item.standing.version),
        "newest answer": draw.newest(answers),
    }


def _question(item: Listed) -> str:
    """What is asked, without what other columns say."""
    query = item.standing.asked
    text = str(query).split(f", {query.answer}, ", maxsplit=1)[0]
    if isinstance(query, View):
        return " ".join(text.split())
    return text.replace(f" of {query.stream}", "").replace(f" from {query.stream}", "")


@click.command(short_help="Show all about one query.")
@click.argument("name")
@home_option
@json_option
def show(name: str, home: Path, as_json: bool) -> None:
    """Show all about one query."""
    gauge = open_home(home)
    expected_registry(gauge.home).query(name)
    item = listed(gauge)[name]
    answers = latest(gauge, name).get(name, [])
    if as_json:
        plan, note = gauge.explain(name), gauge.note(name)
        say_json({**_as_dict(item, answers), "plan": plan, "note": note})
        return
    standing = item.standing
    rows = [
        ("asks", str(standing.asked)),
        ("status", f"{item.status}, version {standing.version}, since epoch {standing.epoch}"),
        ("as JSON", json.dumps(standing.asked.as_dict())),
    ]
    grid = Table.grid(padding=(0, 2))
    for title, text in rows:
        grid.add_row(Text(title, style="bold"), text)
    terminal = console()
    terminal.print(Text(name, style="bold"))
    terminal.print(grid)
    terminal.print(Text("\nplan", style="bold"))
    terminal.print(gauge.explain(name), soft_wrap=True)
    if isinstance(standing.asked, View):
        found = newest(gauge, name)
        terminal.print(Text(f"\nrows now ({found.num_rows:,})", style="bold"))
        terminal.print(drawn(found))
        if note := gauge.note(name):
            terminal.print(note, soft_wrap=True)
        return
    terminal.print(Text(f"\nnewest answers ({len(answers)})", style="bold"))
    for answer in answers:
        terminal.print(str(answer), soft_wrap=True)
    if note := gauge.note(name):
        terminal.print(note, soft_wrap=True)


@click.command(short_help="Show the plan of a query.")
@click.argument("name")
@home_option
@json_option
def explain(name: str, home: Path, as_json: bool) -> None:
    """Show the plan of a query: what it reads, what it shares, who spends the error."""
    plan = open_home(home).explain(name)
    if as_json:
        say_json({"name": name, "plan": plan})
    else:
        click.echo(plan)


@click.command(short_help="List the streams.")
@home_option
@json_option
def streams(home: Path, as_json: bool) -> None:
    """List the streams, how far they have come, and their dead letters."""
    gauge = open_home(home)
    registry = expected_registry(gauge.home)
    reached = _reached(gauge)
    rows = [(stream, gauge.count_dead_letters(stream.name)) for stream in registry.streams.values()]
    if as_json:
        say_json(
            [
                {
                    **stream.as_dict(),
                    "reached": instant_text(reached[stream.name])
                    if stream.name in reached
                    else None,
                    "dead_letters": dead,
                }
                for stream, dead in rows
            ]
        )
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("name", "source", "time", "key", "tick", "late rows", "reached", "dead letters"):
        table.add_column(title)
    for stream, dead in rows:
        at = reached.get(stream.name)
        table.add_row(*_stream_cells(stream), "-" if at is None else instant_text(at), f"{dead:,}")
    if rows:
        console().print(table)
    click.echo(f"{len(rows)} streams, as of epoch {gauge.home.committed()}")


def _reached(gauge: Gauge) -> dict[str, int]:
    epoch = gauge.home.committed()
    return Journal(gauge.home).page(epoch).peaks if epoch else {}


def _stream_cells(stream: Stream) -> list[str]:
    source = stream.source_dict()
    late = {
        "drop": "dropped",
        "allow": f"waited for {duration_text(stream.late.allowed)}",
        "revise": f"revise {duration_text(stream.late.reach)} back",
    }[stream.late.policy]
    place = f"{source['format']} in {source['path']}" if "path" in source else source["kind"]
    tick = duration_text(stream.tick)
    return [stream.name, place, stream.time, ", ".join(stream.key) or "-", tick, late]
