"""Command that runs a home on another number of shards."""

from __future__ import annotations

from pathlib import Path

import click

from streamgauge.cli.changes import wait_option
from streamgauge.cli.in_force import settle_records
from streamgauge.cli.options import home_option, open_home
from streamgauge.log.journal import Journal


@click.command(short_help="Run on another number of shards.")
@click.option("--shards", type=int, required=True, help="How many there are to be.")
@home_option
@wait_option
def rescale(shards: int, home: Path, wait: float | None) -> None:
    """Run on another number of shards from the next epoch on.

    Answers stay as they are: each query goes on with what it remembers. Works while a job runs.
    """
    gauge = open_home(home)
    after = Journal(gauge.home).last()
    trial = gauge.trial()
    trial.apply({"do": "rescale", "shards": shards})
    left = gauge.take(trial)
    click.echo(f"rescale to {shards} shards: {settle_records(gauge.home, left, after, wait)}")
