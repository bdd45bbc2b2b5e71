"""Streamgauge as a whole: selections registered as one script, rows through an engine.

The form is `local` or `spark`.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import streamgauge as sg
from bench.harness import MASTER, SHARDS, Outcome, Task
from bench.peers.ours import POLL_SECONDS, steady
from bench.selections import Prepared, alerts, as_script
from streamgauge.results.change_log import commits


def installed() -> bool:
    """It always is."""
    return True


def run(task: Task) -> Outcome:
    """Register everything, take all rows, stop; figures come from the commits."""
    prepared = Prepared.read(task.prepared)
    script = as_script(alerts(prepared.table(), task.queries))
    home = tempfile.mkdtemp(dir=Path.cwd())
    master = MASTER if task.form == "spark" else None
    gauge = sg.connect(
        home, engine=task.form, master=master, shards=SHARDS, max_rows=prepared.batch
    )
    gauge.sql(
        "CREATE STREAM readings (ts TIME, a FLOAT, b FLOAT, row INT) "
        f"FROM FILES '{prepared.parquet}' FORMAT parquet TIME ts FUTURE ANY;"
    )
    begun = time.perf_counter()
    gauge.sql(script)
    registered = time.perf_counter() - begun
    gauge.sql(f"ADVANCE STREAM readings TO '{prepared.end}';")
    gauge.start()
    first = _first_answer(gauge, task.seconds) - begun
    gauge.drain(timeout=task.seconds)
    gauge.stop()
    outcome = steady(gauge.home)
    told = sum(record["answers"] for record in commits(gauge.home))
    seconds = {"plan_seconds": registered, "first_answer_seconds": first}
    outcome.facts |= {"pairs": float(told), **seconds}
    return outcome


def _first_answer(gauge: sg.Gauge, seconds: float) -> float:
    """When the first epoch with answers was committed."""
    deadline = time.perf_counter() + seconds
    while not any(record["answers"] for record in commits(gauge.home)):
        if time.perf_counter() > deadline or not gauge.running:
            break
        time.sleep(POLL_SECONDS)
    return time.perf_counter()
