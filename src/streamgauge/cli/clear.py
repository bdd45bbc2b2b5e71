"""The command `clear`: put small files together, and clear away what is old."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import click

from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.options import home_option, open_home
from streamgauge.engine import upkeep
from streamgauge.engine.job import MAX_ROWS
from streamgauge.engine.lander import Lander
from streamgauge.engine.upkeep import kept_for
from streamgauge.log.clearing import followers
from streamgauge.log.home import Home
from streamgauge.log.lock import holding


@dataclass(frozen=True, slots=True)
class Size:
    """What a home takes on the disk."""

    files: int
    bytes: int

    @classmethod
    def of(cls, home: Home) -> Size:
        """Count files and their bytes."""
        sizes = [path.stat().st_size for path in home.root.rglob("*") if path.is_file()]
        return cls(len(sizes), sum(sizes))


@click.command(short_help="Clear away old answers; put small files together.")
@home_option
@click.option("--keep", metavar="DURATION", help="Keep answers and pages of that long: '7 days'.")
@json_option
def clear(home: Path, keep: str | None, as_json: bool) -> None:
    """Make a home that does not run smaller: nothing that can still be asked for is lost.

    Small files of rows are put together. With --keep, answers, commits and pages that are older
    than that go, counted from the newest epoch. What an alert, the auditor or a sink has not read
    yet stays, and so do rows that a stream keeps for new queries.
    """
    opened = open_home(home).home
    with holding(opened.root):
        before = Size.of(opened)
        lander = Lander(
            opened, max_rows=MAX_ROWS, keep_answers=None if keep is None else kept_for(keep)
        )
        together = sum(lander.upkeep.compact_all(n, lander.finished(n)) for n in lander.held)
        epochs = 0
        while turn := lander.upkeep.clear(lander.edges(), lander.snapshot_at, enough=1):
            epochs += turn
        after = Size.of(opened)
    waiting = _waiting(opened) if keep is not None else {}
    if as_json:
        sizes = {"before": asdict(before), "after": asdict(after)}
        say_json({"epochs": epochs, "files": together, "waiting": waiting, **sizes})
        return
    click.echo(f"{epochs:,} epochs cleared away, {together:,} small files put together")
    click.echo(
        f"files {before.files:,} -> {after.files:,}, bytes {before.bytes:,} -> {after.bytes:,}"
    )
    for name, epoch in waiting.items():
        click.echo(
            f"{name} has read up to epoch {epoch:,}: what follows stays until it has read it"
        )


def _waiting(home: Home) -> dict[str, int]:
    """Who keeps more from going than the newest pages, which stay anyhow."""
    edge = home.committed() - upkeep.NEWEST_PAGES
    return {name: place for name, place in followers(home).items() if place < edge}
