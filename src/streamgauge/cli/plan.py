"""The command `plan`: what `run` would change, before it does."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
from click.core import ParameterSource
from rich.text import Text

from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.options import console, home_option
from streamgauge.cli.project import FILE, brought, load_project, rehearse
from streamgauge.cli.rehearsal import Rehearsal
from streamgauge.execute.outcome import Outcome
from streamgauge.gauge import connect
from streamgauge.plan.registry import Registry

LISTED = 20
SIGNS = {"registered": "+", "created": "+", "altered": "~", "resized": "~", "refreshed": "~",
         "replaced": "~", "dropped": "-"}  # fmt: skip
STYLES = {"+": "green", "~": "yellow", "-": "red"}


@click.command(short_help="Show what run would change.")
@click.argument("project", type=click.Path(exists=True, path_type=Path), default=FILE)
@home_option
@click.option("--prune", is_flag=True, help="Drop queries that are not in the project.")
@json_option
@click.pass_context
def plan(ctx: click.Context, project: Path, home: Path, prune: bool, as_json: bool) -> None:
    """Show what `run` of a PROJECT would register, alter and drop; change nothing.

    Statements that do not fit are all listed, with their file and line; the exit code is then that
    of the first.
    """
    loaded = load_project(project)
    asked = ctx.get_parameter_source("home") != ParameterSource.DEFAULT
    home = home if asked or loaded.home is None else loaded.home
    with tempfile.TemporaryDirectory() as none:
        # Looking must not make a home.
        there = (home / "gauge.json").exists()
        gauge = connect(home if there else none, engine="local", allow_functions=loaded.functions)
        before = gauge.trial().registry
        rehearsal = rehearse(loaded, gauge, prune=prune)
    if as_json:
        say_json(_as_dict(rehearsal, before))
    else:
        _say(rehearsal, before, home, there)
    if rehearsal.refused:
        ctx.exit(rehearsal.refused[0].error.exit_code)


def _as_dict(rehearsal: Rehearsal, before: Registry) -> dict[str, object]:
    made = [item for item in rehearsal.outcomes if item.changes]
    return {
        "changes": [{"did": item.did, "names": list(item.names)} for item in made],
        "refused": [{"place": r.place, **r.error.as_dict()} for r in rehearsal.refused],
        "summary": str(brought(rehearsal, before)),
    }


def _say(rehearsal: Rehearsal, before: Registry, home: Path, there: bool) -> None:
    terminal = console()
    for outcome in rehearsal.outcomes:
        if outcome.changes:
            for line in _lines(outcome):
                terminal.print(line, soft_wrap=True)
    for refused in rehearsal.refused:
        terminal.print(Text(f"! {refused.place}: {refused.error}", style="red"), soft_wrap=True)
    made = "" if there else " (not made yet)"
    refusals = f", {len(rehearsal.refused)} refused" if rehearsal.refused else ""
    terminal.print(f"home {home}{made}, {brought(rehearsal, before)}{refusals}", soft_wrap=True)


def _lines(outcome: Outcome) -> list[Text]:
    verb, _, kind = outcome.did.partition(" ")
    sign = SIGNS.get(verb, " ")
    lines = [
        Text(f"{sign} {kind or 'query'} {name}", style=STYLES.get(sign, ""))
        for name in outcome.names[:LISTED]
    ]
    more = len(outcome.names) - len(lines)
    return [*lines, Text(f"{sign} and {more:,} more")] if more else lines
