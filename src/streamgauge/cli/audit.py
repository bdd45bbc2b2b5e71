"""The command `audit`: how often bars held where the auditor looked."""

from __future__ import annotations

import math
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from streamgauge.audit.report import Audited, Report, read
from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.options import console, home_option, open_home
from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import instant_text

LIMIT = 50
TITLES = ("query", "promised", "held", "bar", "compared", "missed", "worst", "evidence", "state")


@click.command(short_help="How often bars held, where audited.")
@home_option
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=LIMIT,
    show_default=True,
    help="Show at most so many queries; 0 for all.",
)
@json_option
def audit(home: Path, limit: int, as_json: bool) -> None:
    """Show what the auditor found: how often bars held the truth, and alarms.

    Evidence is a power of ten: 3 says that what was seen has a chance of one in a thousand, at
    most, while the promise is kept.
    """
    report = read(open_home(home).home)
    if as_json:
        say_json(report.as_dict())
        return
    shown = report.queries[:limit] if limit else report.queries
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in TITLES:
        table.add_column(title, no_wrap=True)
    for each in shown:
        table.add_row(*_cells(each))
    terminal = console()
    if shown:
        terminal.print(table)
    for alarm in report.alarms:
        where = alarm.query or "all queries"
        terminal.print(Text(f"alarm at {instant_text(alarm.at)}, {where}: {alarm.text}", "red"))
    click.echo(_summary(report))


def _cells(each: Audited) -> list[str | Text]:
    state = Text("alarm", "red") if each.alarm else Text("now" if each.now else "quiet", "green")
    return [
        each.name if each.name.isprintable() else ascii(each.name),
        f"{100 * each.promised:.4g}%",
        _share(each.held),
        _bar(each.held),
        f"{each.comparisons:,}",
        f"{each.misses:,}",
        f"{each.worst:.3g}",
        _evidence(each.evidence),
        state,
    ]


def _share(held: Answer) -> str:
    return "-" if held.value is None else f"{100 * held.value:.4g}%"


def _bar(held: Answer) -> str:
    return "-" if held.value is None else f"{100 * held.low:.4g}-{100 * held.high:.4g}%"


def _evidence(log10: float) -> str:
    if math.isinf(log10):
        return "certain" if log10 > 0.0 else "none"
    return f"{log10:.1f}"


def _summary(report: Report) -> str:
    if not report.begun:
        return "no auditor has run on this home; serve and run take --audit N"
    held = f", {_share(report.held)} held ({_bar(report.held)})" if report.held.value else ""
    return (
        f"{len(report.queries)} queries audited, {report.waiting} wait, {len(report.skipped)} "
        f"cannot be{held}, {len(report.alarms)} alarms at a false-alarm rate of "
        f"{report.false_alarm:g}, as of epoch {report.epoch}"
    )
