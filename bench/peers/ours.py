"""Streamgauge on Spark: all standing queries in one job."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamgauge as sg
from bench.data import Card
from bench.harness import MASTER, SHARDS, WARM_UP, Outcome, Task, cpu_seconds
from bench.queries import declare, portfolio, windowed
from streamgauge.log.home import Home
from streamgauge.results.change_log import commits

POLL_SECONDS = 0.02


def installed() -> bool:
    """It always is."""
    return True


def fresh_gauge(task: Task, batch: int) -> sg.Gauge:
    """A gauge on a fresh home that takes so many rows of each file."""
    home = task.home or tempfile.mkdtemp(dir=Path.cwd())
    rows = batch * task.files
    return sg.connect(home, engine="spark", master=MASTER, shards=SHARDS, max_rows=rows)


def open_gauge(task: Task, card: Card) -> sg.Gauge:
    """A gauge on a fresh home with the stream declared."""
    gauge = fresh_gauge(task, card.batch)
    declare(gauge, card)
    return gauge


def run(task: Task) -> Outcome:
    """Register everything, take all rows, stop; figures come from the commits."""
    card = Card.read(task.prepared)
    gauge = open_gauge(task, card)
    queries = [*portfolio(card, task.queries), *windowed(card)]
    begun = time.perf_counter()
    gauge.register(*queries)
    registered = time.perf_counter() - begun
    outcome = drained(gauge, task.seconds)
    outcome.facts["register_seconds"] = registered
    outcome.facts["queries"] = len(queries)
    return outcome


def drained(gauge: sg.Gauge, seconds: float) -> Outcome:
    """Start a gauge, let it take all rows and stop it."""
    gauge.start()
    warm = wait_for(lambda: gauge.home.committed() >= WARM_UP, seconds, gauge)
    epoch, spent = gauge.home.committed(), cpu_seconds()
    gauge.drain(timeout=seconds)
    total = cpu_seconds()
    gauge.stop()
    outcome = steady(gauge.home)
    if warm and spent is not None and total is not None:
        rows = sum(record["rows"] for record in commits(gauge.home, after=epoch))
        # The sample lies behind the warm-up; scaled, it goes with the rows of the steady part.
        outcome.cpu_seconds = (total - spent) * outcome.rows / rows if rows else None
    return outcome


def wait_for(reached: Callable[[], bool], seconds: float, gauge: sg.Gauge) -> bool:
    """Wait until something holds while the job runs."""
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline or not gauge.running:
            return False
        time.sleep(POLL_SECONDS)
    return True


def steady(home: Home) -> Outcome:
    """Figures of the epochs after the warm-up."""
    records = [record for record in commits(home) if record["rows"]]
    after = records[WARM_UP:]
    if not after:
        return Outcome(missing=f"only {len(records)} epochs")
    seconds = sum(record["seconds"] for record in after)
    given = sum(record["answers"] for record in after)
    return Outcome(
        rows=sum(record["rows"] for record in after),
        seconds=seconds,
        first_seconds=records[0]["seconds"],
        facts={
            "epochs": len(after),
            "clock_seconds": _clock(home, records[WARM_UP - 1], after[-1]),
            "shard_seconds": _slowest_shards(after),
            "answers_per_second": given / seconds,
            "answers": given,
            "late": sum(record["late"] for record in records),
            "state_bytes": after[-1]["state_bytes"],
        },
    )


def _clock(home: Home, first: dict[str, Any], last: dict[str, Any]) -> float:
    """Seconds between two commits by the age of their files: a second witness."""
    times = [home.commit(record["epoch"]).stat().st_mtime for record in (first, last)]
    return times[1] - times[0]


def _slowest_shards(records: list[dict[str, Any]]) -> float:
    """Seconds of the steady part that the slower shard of each epoch took."""
    return float(sum(max(shard["seconds"] for shard in record["shards"]) for record in records))
