"""The command `doctor`: is everything here that a gauge needs, and how to mend what is not."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.examine import Finding, examine
from streamgauge.cli.options import console, home_option
from streamgauge.kernel.errors import MissingRuntime

MARKS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(short_help="Check what a gauge needs; tell how to mend it.")
@home_option
@json_option
@click.pass_context
def doctor(ctx: click.Context, home: Path, as_json: bool) -> None:
    """Check Java, PySpark and packages, memory, disk, ports and the home; tell how to mend them.

    Exits with 0 when nothing fails, else with 7.
    """
    findings = examine(home)
    failed = [finding for finding in findings if finding.status == "fail"]
    if as_json:
        say_json({"ok": not failed, "checks": [finding.as_dict() for finding in findings]})
    else:
        _print(findings)
        warned = sum(finding.status == "warn" for finding in findings)
        passed = len(findings) - warned - len(failed)
        click.echo(f"{passed} ok, {warned} warnings, {len(failed)} failures")
    if failed:
        ctx.exit(MissingRuntime.exit_code)


def _print(findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in findings:
        table.add_row(
            Text(finding.status, style=MARKS[finding.status]), finding.name, finding.found
        )
        if finding.status != "ok":
            table.add_row("", "", f"wanted: {finding.wanted}")
            for system, command in finding.fix.items():
                table.add_row("", "", f"{system}: {command}" if system else f"fix: {command}")
    console().print(table)
