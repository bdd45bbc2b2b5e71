"""Commands that change what is asked: register, alter, pause, resume, drop."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from streamgauge.cli.as_json import json_option, say_json, wants_json
from streamgauge.cli.forms import query_of
from streamgauge.cli.in_force import Change, settle
from streamgauge.cli.options import home_option, open_home
from streamgauge.cli.project import queries_of
from streamgauge.cli.reading import chosen, expected_registry
from streamgauge.cli.table import Table
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import BindError
from streamgauge.log.journal import Journal
from streamgauge.plan.query import Query

JSON_KEYS = (
    "name", "stream", "select", "answer", "series", "weights", "window", "where", "group_by",
    "contract", "history",
)  # fmt: skip

# A table of TOML begins with a bracket too, but then comes a name.
_JSON_BEGINNING = re.compile(r'\s*(\{|\[\s*([{"\]\d]|$))')

wait_option = click.option(
    "--wait",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Wait until the change is in force, and fail with 8 if it is not by then. "
    "By default 10 s when a job is running, without failing.",
)
file_argument = click.argument("file", type=click.File("r", encoding="utf-8"))
names_argument = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.command(short_help="Register the queries of a file.")
@file_argument
@home_option
@wait_option
@json_option
@click.pass_context
def register(ctx: click.Context, file: Any, home: Path, wait: float | None, as_json: bool) -> None:
    """Register the queries of a FILE (.json, .toml, or - for standard input).

    All or none. JSON: a list of queries as `show --json` prints them. TOML: [[queries]] as in a
    project file. Works while a job runs on the home; thousands at once are fine.
    """
    queries = read_queries(file.name, file.read())
    _submit(ctx, home, wait, "register", queries)


@click.command(short_help="Replace queries by those of a file.")
@file_argument
@home_option
@wait_option
@json_option
@click.pass_context
def alter(ctx: click.Context, file: Any, home: Path, wait: float | None, as_json: bool) -> None:
    """Replace registered queries by those of the same names in a FILE (.json, .toml or -)."""
    queries = read_queries(file.name, file.read())
    _submit(ctx, home, wait, "alter", queries)


@click.command(short_help="Stop checking queries.")
@names_argument
@home_option
@wait_option
@json_option
@click.pass_context
def pause(
    ctx: click.Context, names: tuple[str, ...], home: Path, wait: float | None, as_json: bool
) -> None:
    """Stop checking queries; they keep what they remember. A NAME may be a pattern: 'heat-*'."""
    _submit_names(ctx, home, wait, "pause", names)


@click.command(short_help="Check paused queries again.")
@names_argument
@home_option
@wait_option
@json_option
@click.pass_context
def resume(
    ctx: click.Context, names: tuple[str, ...], home: Path, wait: float | None, as_json: bool
) -> None:
    """Check paused queries again. A NAME may be a pattern: 'heat-*'."""
    _submit_names(ctx, home, wait, "resume", names)


@click.command(short_help="Forget queries.")
@names_argument
@home_option
@wait_option
@json_option
@click.pass_context
def drop(
    ctx: click.Context, names: tuple[str, ...], home: Path, wait: float | None, as_json: bool
) -> None:
    """Forget queries. A NAME may be a pattern: 'heat-*'."""
    _submit_names(ctx, home, wait, "drop", names)


def _submit(
    ctx: click.Context, home: Path, wait: float | None, do: str, queries: list[Query]
) -> None:
    gauge = open_home(home)
    act = {"register": gauge.register, "alter": gauge.alter}[do]
    names = tuple(query.name for query in queries)
    _finish(ctx, gauge, wait, (do, names), lambda: act(*queries))


def _submit_names(
    ctx: click.Context, home: Path, wait: float | None, do: str, patterns: tuple[str, ...]
) -> None:
    gauge = open_home(home)
    act = {"pause": gauge.pause, "resume": gauge.resume, "drop": gauge.drop}[do]
    names = tuple(chosen(expected_registry(gauge.home), patterns))
    _finish(ctx, gauge, wait, (do, names), lambda: act(*names))


def _finish(
    ctx: click.Context,
    gauge: Gauge,
    wait: float | None,
    change: tuple[str, tuple[str, ...]],
    act: Callable[[], object],
) -> None:
    after = Journal(gauge.home).last()
    act()
    outcome = settle(gauge.home, Change(*change, after=after), wait)
    if wants_json(ctx):
        say_json(outcome.as_dict())
    else:
        click.echo(str(outcome))


def read_queries(name: str, text: str) -> list[Query]:
    """Queries of a JSON or TOML text; what it is shows in its name, or in its first sign."""
    as_json = name.endswith(".json") or (
        not name.endswith(".toml") and _JSON_BEGINNING.match(text) is not None
    )
    queries = _from_json(name, text) if as_json else _from_toml(name, text)
    if not queries:
        raise BindError(
            f"{name} holds no query", f"{len(text)} signs were read", "write [[queries]] tables"
        )
    return queries


def _from_toml(name: str, text: str) -> list[Query]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BindError(f"{name} is not TOML", str(error), "mend the file at that place") from None
    return queries_of(Table(data, name, ("queries",)).data.get("queries", []))


def _from_json(name: str, text: str) -> list[Query]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise BindError(f"{name} is not JSON", str(error), "mend the file at that place") from None
    if isinstance(data, dict):
        data = data.get("queries", [data])
    if not isinstance(data, list):
        raise BindError(f"{name} holds no list of queries", f"got {data!r}", "write [{...}, ...]")
    return [_query(item, f"queries[{place}]") for place, item in enumerate(data)]


def _query(item: Any, place: str) -> Query:
    """A query in the form that is stored and shown, or in the form of project files."""
    if not isinstance(item, dict) or isinstance(item.get("select"), str):
        return query_of(item, place)
    table = Table(item, place, JSON_KEYS)
    table.place = f"query {table.need('name')!r}"
    table.need("stream")
    try:
        return Query.from_dict(item)
    except (KeyError, TypeError, ValueError) as error:
        raise BindError(
            f"cannot read {table.place}",
            f"{type(error).__name__}: {error}",
            "take the form that `streamgauge show NAME --json` prints under query",
        ) from error
