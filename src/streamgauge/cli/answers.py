"""Commands that read answers and dead letters: answers, dead-letters, export."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click
from rich.table import Table

from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.options import console, home_option, open_home
from streamgauge.cli.reading import expected_registry, last_answers
from streamgauge.contracts.answer import Answer
from streamgauge.contracts.row_change import RowChange
from streamgauge.engine.waiting import Reasons
from streamgauge.gauge import Gauge
from streamgauge.plan.view import View
from streamgauge.results.change_log import as_answers
from streamgauge.results.row_blocks import as_row_changes

LAST = 20

last_option = click.option(
    "--last", type=click.IntRange(min=0), metavar="N", help=f"The last N only. [default: {LAST}]"
)
since_option = click.option(
    "--since-epoch", type=click.IntRange(min=0), metavar="E", help="All that came after epoch E."
)


@click.command(short_help="Show answers; --follow goes on.")
@click.argument("name", required=False)
@home_option
@click.option("--follow", "-f", is_flag=True, help="Go on with answers as they come.")
@last_option
@since_option
@click.option(
    "--idle",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="With --follow: end after so long without an answer.",
)
@json_option
def answers(
    name: str | None,
    home: Path,
    follow: bool,
    last: int | None,
    since_epoch: int | None,
    idle: float | None,
    as_json: bool,
) -> None:
    """Show the newest answers, of one query or of all.

    With --json one list; with --follow one JSON object per line.
    """
    gauge = open_home(home)
    upto = gauge.home.committed()
    found: list[Answer] | list[RowChange]
    if name is not None and _answers_rows(gauge, name):
        found = _changes(gauge, name, last, since_epoch, upto)
    else:
        found = _found(gauge, name, last, since_epoch, upto)
    if name is not None and not found:
        # What a dropped query has answered stays to be read.
        expected_registry(gauge.home).query(name)
    if as_json and not follow:
        say_json([answer.as_dict() for answer in found])
        return
    _print(found, as_json=as_json)
    _tell_unusable(gauge, found)
    if follow and name is not None and _answers_rows(gauge, name):
        _print(gauge.subscribe_rows(name, since_epoch=upto, timeout=idle), as_json=as_json)
    elif follow:
        _print(gauge.subscribe(name, since_epoch=upto, timeout=idle), as_json=as_json)
    elif name is not None and (note := gauge.note(name)):
        click.echo(note, err=True)
    elif name is None and not found:
        _say_why(gauge)


def _say_why(gauge: Gauge) -> None:
    """Say of each query why it has no answer yet."""
    reasons = Reasons(gauge.home)
    queries = expected_registry(gauge.home).queries
    for name, standing in list(queries.items())[:LAST]:
        click.echo(f"{name}: {reasons.of(standing)}", err=True)
    if not queries:
        click.echo("no answers yet: no query is registered", err=True)


def _found(
    gauge: Gauge, name: str | None, last: int | None, since: int | None, upto: int
) -> list[Answer]:
    if last is None and since is not None:
        given = as_answers(gauge.answers(name, since_epoch=since))
        # An epoch committed meanwhile would come again with --follow.
        return [answer for answer in given if answer.epoch <= upto]
    n = LAST if last is None else last
    return last_answers(gauge.home, name, n, since=since or 0, upto=upto) if n else []


def _answers_rows(gauge: Gauge, name: str) -> bool:
    standing = expected_registry(gauge.home).queries.get(name)
    return standing is not None and isinstance(standing.asked, View)


def _changes(
    gauge: Gauge, name: str, last: int | None, since: int | None, upto: int
) -> list[RowChange]:
    """Rows that came and went, oldest first."""
    table = gauge.row_changes(name, since_epoch=since or 0)
    n = table.num_rows if last is None and since is not None else LAST if last is None else last
    given = as_row_changes(table.slice(max(table.num_rows - n, 0)))
    return [change for change in given if change.epoch <= upto]


def _tell_unusable(gauge: Gauge, found: Iterable[Answer | RowChange]) -> None:
    """Say which streams behind some answers have rows that could not be used."""
    known = expected_registry(gauge.home).queries
    asked = {answer.query for answer in found} & known.keys()
    for stream in sorted({name for query in asked for name in known[query].asked.streams}):
        n = gauge.count_dead_letters(stream)
        if n:
            text = f"stream {stream}: {n:,} dead letters; see streamgauge dead-letters {stream}"
            click.echo(text, err=True)


def _print(found: Iterable[Answer | RowChange], *, as_json: bool) -> None:
    for answer in found:
        click.echo(json.dumps(answer.as_dict(), ensure_ascii=False) if as_json else str(answer))


@click.command("dead-letters", short_help="Show rows that could not be used.")
@click.argument("stream")
@home_option
@last_option
@json_option
def dead_letters(stream: str, home: Path, last: int | None, as_json: bool) -> None:
    """Show rows of a STREAM that could not be used: where they were, and why."""
    gauge = open_home(home)
    expected_registry(gauge.home).stream(stream)
    found = gauge.dead_letters(stream)
    n = LAST if last is None else last
    rows = found.slice(max(found.num_rows - n, 0)).to_pylist()
    if as_json:
        say_json({"stream": stream, "total": found.num_rows, "rows": rows})
        return
    if rows:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for title in found.column_names:
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*(str(row[title]) for title in found.column_names))
        console().print(table)
    click.echo(f"{len(rows):,} of {found.num_rows:,} dead letters of {stream}")


@click.command(short_help="Write answers as parquet.")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@home_option
@since_option
@json_option
def export(directory: Path, home: Path, since_epoch: int | None, as_json: bool) -> None:
    """Write all answers to a DIRECTORY as parquet, one file per epoch, each once."""
    written = open_home(home).export(directory, since_epoch=since_epoch or 0)
    if as_json:
        say_json({"directory": str(directory), "written": [path.name for path in written]})
    else:
        click.echo(f"{len(written):,} files written to {directory}")
