"""Running statements from a terminal and saying what came of them."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from streamgauge.cli.draw import number
from streamgauge.cli.in_force import settle_records
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.script import Script
from streamgauge.execute.show import note_of
from streamgauge.gauge import Gauge
from streamgauge.log.journal import Journal

ROWS = 50
_DATABASE = re.compile(r"\bFROM\s+JDBC\b", re.I)


def run_statements(
    gauge: Gauge, text: str, *, name: str | None, wait: float | None, root: Path | None = None
) -> tuple[list[Outcome], str]:
    """Run statements all or none; what came of each, and whether the changes are in force."""
    after = Journal(gauge.home).last()
    trial = gauge.trial()
    if _DATABASE.search(text):
        click.echo("reading a database: Spark starts, which takes some seconds", err=True)
    outcomes = Script(gauge, trial, root=root).run(text, name)
    left = gauge.take(trial)
    return outcomes, settle_records(gauge.home, left, after, wait) if left else ""


def say(terminal: Console, outcomes: list[Outcome], settled: str) -> None:
    """Print what statements did and show."""
    for outcome in outcomes:
        if outcome.did:
            terminal.print(str(outcome), soft_wrap=True)
        elif isinstance(outcome.shown, str):
            terminal.print(outcome.shown, soft_wrap=True)
        elif outcome.shown is not None:
            terminal.print(drawn(outcome.shown))
            terminal.print(count_of(outcome.shown), style="dim")
            if note := note_of(outcome.shown):
                terminal.print(note, soft_wrap=True)
    if settled:
        terminal.print(settled)


def drawn(rows: pa.Table, limit: int = ROWS) -> Table:
    """The first rows of a table, drawn."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for field in rows.schema:
        numeric = pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
        table.add_column(field.name, overflow="fold", justify="right" if numeric else "left")
    for row in rows.slice(0, limit).to_pylist():
        table.add_row(*(cell(row[name]) for name in rows.column_names))
    return table


def count_of(rows: pa.Table, limit: int = ROWS) -> str:
    """How many rows there are, and how many of them are drawn."""
    n = rows.num_rows
    return f"{n:,} rows" if n <= limit else f"{limit:,} of {n:,} rows"


def cell(value: Any) -> str:
    """A value as a person reads it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value)


def as_json(outcome: Outcome) -> dict[str, Any]:
    """One outcome as JSON says it."""
    shown = outcome.shown
    if isinstance(shown, pa.Table):
        rows = [{k: _plain(v) for k, v in row.items()} for row in shown.to_pylist()]
        found = {"shows": "rows", "columns": shown.column_names, "rows": rows}
        return {**found, "note": note} if (note := note_of(shown)) else found
    if shown is not None:
        return {"shows": "text", "text": shown}
    return {"did": outcome.did, "names": list(outcome.names), "changed": outcome.changes}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return cell(value)
    # JSON has no word for what is not finite.
    return None if isinstance(value, float) and value - value != 0.0 else value
