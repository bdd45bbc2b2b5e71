"""Streamgauge on Spark: the same windows as standing queries, one for each aggregate.

Forms: exact (avg, max), p95 (avg, max and the 95th percentile within 1 % of its value).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamgauge as sg
from bench.harness import MASTER, SHARDS, Outcome, Task, cpu_seconds
from bench.hops import LENGTH, SHARE, SLIDE, Hops
from bench.peers.ours import steady, wait_for
from streamgauge.results.change_log import commits

WARM_UP = 2


def installed() -> bool:
    """It always is."""
    return True


def queries(form: str) -> list[sg.Query]:
    """The queries of a form."""
    asked = {"avg": sg.avg("value"), "max": sg.maximum("value")}
    if form == "p95":
        asked["p95"] = sg.quantile("value", SHARE)
    return [
        sg.Query(
            name,
            "rows",
            select,
            window=sg.Range(f"{LENGTH} s", slide=f"{SLIDE} s"),
            group_by=("key",),
            answer=sg.on_close(),
            contract=sg.Contract.relative(0.01) if name == "p95" else sg.Contract.exact(),
        )
        for name, select in asked.items()
    ]


def run(task: Task) -> Outcome:
    """Register, take all rows, stop; figures come from the commits."""
    hops = Hops.read(task.prepared)
    home = task.home or tempfile.mkdtemp(dir=Path.cwd())
    gauge = sg.connect(
        home, engine="spark", master=MASTER, shards=SHARDS, max_rows=hops.batch * task.files
    )
    gauge.stream("rows", source=sg.files(hops.path("rows")), key="key", time="ts")
    gauge.register(*queries(task.form))
    gauge.start()
    warm = wait_for(lambda: gauge.home.committed() >= WARM_UP, task.seconds, gauge)
    epoch, spent = gauge.home.committed(), cpu_seconds()
    gauge.drain(timeout=task.seconds)
    total = cpu_seconds()
    gauge.stop()
    outcome = steady(gauge.home)
    if warm and spent is not None and total is not None:
        rows = sum(record["rows"] for record in commits(gauge.home, after=epoch))
        outcome.cpu_seconds = (total - spent) * outcome.rows / rows if rows else None
    return outcome
