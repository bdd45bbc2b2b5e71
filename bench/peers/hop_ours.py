"""Streamgauge on Spark: the same windows as standing queries, one for each aggregate.

Forms: exact (avg, max), p95 (avg, max and the 95th percentile within 1 % of its value).
"""

from __future__ import annotations

import streamgauge as sg
from bench.harness import Outcome, Task
from bench.hops import LENGTH, SHARE, SLIDE, Hops
from bench.peers.ours import drained, fresh_gauge


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
    gauge = fresh_gauge(task, hops.batch)
    gauge.stream("rows", source=sg.files(hops.path("rows")), key="key", time="ts")
    gauge.register(*queries(task.form))
    return drained(gauge, task.seconds)
