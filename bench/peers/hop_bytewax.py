"""Bytewax: `fold_window` over a sliding window, avg and max by key."""

from __future__ import annotations

import importlib
import importlib.util
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.harness import Outcome, Task, cpu_seconds
from bench.hops import LENGTH, SLIDE, Hops

ROWS = 60_000


def installed() -> bool:
    """Whether the package can be imported."""
    return importlib.util.find_spec("bytewax") is not None


def run(task: Task) -> Outcome:
    """Push the first rows through; the start is part of the time."""
    testing = importlib.import_module("bytewax.testing")
    table = Hops.read(task.prepared).head(ROWS)
    items = list(
        zip(
            table["key"].to_pylist(),
            zip(table["ts"].to_pylist(), table["value"].to_pylist(), strict=True),
            strict=True,
        )
    )
    found: list[Any] = []
    flow = _flow(testing, items, found)
    begun, spent = time.perf_counter(), cpu_seconds()
    testing.run_main(flow)
    seconds, total = time.perf_counter() - begun, cpu_seconds()
    return Outcome(
        rows=len(items),
        seconds=seconds,
        cpu_seconds=None if spent is None or total is None else total - spent,
        facts={"answers_per_second": len(found) / seconds},
        note="start included",
    )


def _flow(testing: Any, items: list[Any], found: list[Any]) -> Any:
    op = importlib.import_module("bytewax.operators")
    win: Any = importlib.import_module("bytewax.operators.windowing")
    dataflow = importlib.import_module("bytewax.dataflow")
    flow = dataflow.Dataflow("hops")
    rows = op.input("rows", flow, testing.TestingSource(items, batch_size=1000))
    clock = win.EventClock(
        ts_getter=lambda pair: pair[0], wait_for_system_duration=timedelta(seconds=0)
    )
    windower = win.SlidingWindower(
        length=timedelta(seconds=LENGTH),
        offset=timedelta(seconds=SLIDE),
        align_to=datetime(2026, 1, 1, tzinfo=UTC),
    )

    def fold(state: tuple[float, int, float], pair: Any) -> tuple[float, int, float]:
        return state[0] + pair[1], state[1] + 1, max(state[2], pair[1])

    def merge(one: Any, two: Any) -> Any:
        return one[0] + two[0], one[1] + two[1], max(one[2], two[2])

    out = win.fold_window(
        "fold", rows, clock, windower, lambda: (0.0, 0, float("-inf")), fold, merge
    )
    op.output("out", out.down, testing.TestingSink(found))
    return flow
