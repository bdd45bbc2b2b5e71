"""The command `alerts`: what is raised, by which answer, and what waits to be delivered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from streamgauge.alerts.crossing import RAISED, Crossing
from streamgauge.alerts.report import Report, read
from streamgauge.alerts.watcher import watched
from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.options import console, home_option, open_home
from streamgauge.plan.alert import StandingAlert

GROUPS = 20


@click.command(short_help="List alerts, what is raised, and deliveries.")
@home_option
@click.option("--raised", is_flag=True, help="Only alerts that are raised.")
@json_option
def alerts(home: Path, raised: bool, as_json: bool) -> None:
    """List the alerts of a home with what is raised, and what waits to be delivered."""
    gauge = open_home(home)
    report = read(gauge.home)
    known = [
        standing
        for name, standing in sorted(gauge.registry().alerts.items())
        if not raised or _standing(report.of(name))
    ]
    looking = watched(gauge.home)
    if as_json:
        say_json(
            {
                "watched": looking,
                "alerts": [_as_dict(standing, report) for standing in known],
                "deliveries": [target.as_dict() for target in report.targets],
            }
        )
        return
    if known:
        console().print(_listed(known, report))
    for target in report.targets:
        if target.waiting:
            why = f", tried {target.tries} times: {target.reason}" if target.tries else ""
            click.echo(f"{target.waiting} wait for {_plain(target.target)}{_plain(why)}")
    click.echo(_summary(len(known), report, looking))


def _standing(crossings: tuple[Crossing, ...]) -> list[Crossing]:
    return [crossing for crossing in crossings if crossing.state == RAISED]


def _as_dict(standing: StandingAlert, report: Report) -> dict[str, Any]:
    alert = standing.alert
    return {
        "name": alert.name,
        "query": alert.query or None,
        "group": list(alert.group),
        "condition": alert.words,
        "targets": [str(target) for target in alert.targets],
        "version": standing.version,
        "states": [crossing.as_dict() for crossing in report.of(alert.name)],
    }


def _listed(known: list[StandingAlert], report: Report) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("alert", "on", "when", "state", "group", "since", "answer", "delivers"):
        table.add_column(title)
    for standing in known:
        alert = standing.alert
        found = _standing(report.of(alert.name))
        about = [alert.name, alert.query or "audit", alert.words]
        targets = ", ".join(map(str, alert.targets))
        if not found:
            table.add_row(*map(_cell, about), Text("calm", "green"), "", "", "", _cell(targets))
        for number, crossing in enumerate(found[:GROUPS]):
            first = [*map(_cell, about)] if not number else [Text()] * 3
            where = ", ".join(map(str, crossing.group))
            table.add_row(
                *first,
                Text("raised", "red"),
                _cell(where),
                _cell(crossing.at[11:19]),
                _cell(_answer(crossing)),
                _cell("" if number else targets),
            )
        if len(found) > GROUPS:
            table.add_row(*[Text()] * 4, _cell(f"and {len(found) - GROUPS} more"))
    return table


def _answer(crossing: Crossing) -> str:
    answer = crossing.answer
    if answer is None:
        return crossing.because
    ends = ("unbounded" if answer[end] is None else f"{answer[end]:.6g}" for end in ("low", "high"))
    return f"{answer['value']:.6g} in [{', '.join(ends)}]"


def _summary(n: int, report: Report, looking: bool) -> str:
    asleep = "" if looking else ", nobody watches"
    return (
        f"{n} alerts, {report.standing} raised, {report.delivered} delivered, "
        f"{report.waiting} waiting{asleep}"
    )


def _plain(text: str) -> str:
    return text if text.isprintable() else ascii(text)


def _cell(text: str) -> Text:
    return Text(_plain(text))
