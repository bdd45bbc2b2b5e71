"""The command `check`: look through a data directory, and repair it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.options import functions_option, home_option
from streamgauge.kernel.errors import StateTooOld
from streamgauge.repair.check import check_home
from streamgauge.repair.finding import Finding, HomeReport

SILENT_SECONDS = 2.0


class _Progress:
    """Says on standard error how far a look is, once it takes longer than a moment."""

    def __init__(self) -> None:
        self.next = time.monotonic() + SILENT_SECONDS

    def __call__(self, files: int) -> None:
        if time.monotonic() >= self.next:
            self.next = time.monotonic() + SILENT_SECONDS
            end = "\r" if sys.stderr.isatty() else "\n"
            click.echo(f"{files:,} files checked{end}", err=True, nl=False)


@click.command(short_help="Find and repair damaged files of a data directory.")
@home_option
@click.option("--repair", is_flag=True, help="Repair what loses nothing; the job must not run.")
@functions_option
@json_option
@click.pass_context
def check(
    ctx: click.Context, home: Path, repair: bool, allow_functions: tuple[str, ...], as_json: bool
) -> None:
    """Look through a data directory: journal, changes, answers, state, rows, spools.

    Each problem is printed with its file, what it means, and what --repair does about it. Answers
    and state are computed again from the journal; damaged changes are moved to damaged/ in the
    data directory; leftovers of crashes are removed. What a repair would lose is left as it is.

    Exits with 0 when nothing is wrong (any more), else with 6.
    """
    report = check_home(home, repair=repair, allow_functions=allow_functions, tell=_Progress())
    if as_json:
        say_json(report.as_dict())
    else:
        for finding in report.findings:
            _say(finding, repair)
        click.echo(_summary(report, repair))
    if not report.sound:
        ctx.exit(StateTooOld.exit_code)


def _say(finding: Finding, repair: bool) -> None:
    kind = "leftover" if finding.harmless else "damage"
    status = "repaired" if finding.repaired else kind
    click.secho(f"{status}: ", fg="green" if finding.repaired else "red", nl=False)
    click.echo(f"{finding.path} ({finding.what})")
    click.echo(f"  problem: {finding.problem}")
    click.echo(f"  means: {finding.means}")
    if finding.failure:
        click.echo(f"  not repaired: {finding.failure}")
    elif finding.repair:
        click.echo(f"  {'done' if repair else '--repair'}: {finding.repair}")
    else:
        click.echo(f"  to do: {finding.advice}")


def _summary(report: HomeReport, repair: bool) -> str:
    damaged = sum(not finding.harmless for finding in report.findings)
    told = f"{report.files:,} files checked, {damaged:,} damaged"
    leftovers = len(report.findings) - damaged
    if leftovers:
        told += f", {leftovers:,} leftovers of crashes"
    if repair:
        told += f", {sum(finding.repaired for finding in report.findings):,} repaired"
    return told
