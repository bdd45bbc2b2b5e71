"""Workload `server`: rows pushed over HTTP while many follow the answers; nothing may be lost.

The server, with its job, runs in one process, the clients in another, on one machine. Each row has
the instant of its lot, a tick of 250 ms. An answer for a tick is published when a later row closes
it: the delay from push to answer has that wait in it, the delay from close to answer has not.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bench.harness import ROOT, Outcome, Steps, cpu_seconds, last_words
from bench.report import Bar, Line, Report
from bench.server_load import Load, Seen, run_load
from streamgauge.kernel.errors import EngineFailure

NAME = "server"
WANTED_ROWS = 20_000
# A little more than is wanted, since the last lot ends when it is acknowledged.
OFFERED_ROWS = 20_400
STOP_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes."""

    seconds: float
    warm_up: float
    subscribers: int


QUICK = Extent(5.0, 2.0, 200)
FULL = Extent(60.0, 5.0, 200)


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Serve, follow, push, and compare what was sent with what came out."""
    extent = QUICK if quick else FULL
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        what = f"{extent.subscribers} subscribers, {OFFERED_ROWS} rows a second"
        with Steps(console, 1).shown() as steps, steps.step(what):
            seen, told, cpu = _measured(directory / "home", extent)
        return _report(extent, quick, seen, told, cpu)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _measured(home: Path, extent: Extent) -> tuple[Seen, dict[str, Any], float | None]:
    """One run: what the clients saw, what the server counted, its processor time."""
    home.parent.mkdir(parents=True, exist_ok=True)
    log = home.parent / f"{home.name}.log"
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.served", str(home)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            if not address:
                raise _failed(log)
            offered = (OFFERED_ROWS, extent.seconds, extent.subscribers, extent.warm_up)
            token = (home / "token").read_text(encoding="ascii").strip()
            load = Load(address, token, *offered)
            before = cpu_seconds(process.pid)
            seen = asyncio.run(run_load(load))
            after = cpu_seconds(process.pid)
            said, _ = process.communicate("", timeout=STOP_SECONDS)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0 or not said.strip():
        raise _failed(log)
    spent = None if before is None or after is None else after - before
    return seen, json.loads(said), spent


def _failed(log: Path) -> EngineFailure:
    return EngineFailure(
        "the server of the workload ended early", last_words(log), "run it again alone"
    )


def _report(
    extent: Extent, quick: bool, seen: Seen, told: dict[str, Any], cpu: float | None
) -> Report:
    report = Report(NAME, quick=quick, origin="generated")
    report.about = (
        f"{extent.subscribers} subscribers, {extent.seconds:g} s, requests of 1 to 100 rows"
    )
    # Processor time is counted from the start, so that of the warm-up is taken out by its rows.
    steady = None if cpu is None or not seen.rows else cpu * seen.measured / seen.rows
    outcome = Outcome(seen.measured, seen.seconds, steady)
    report.lines.append(Line("pushed", "rows pushed and acknowledged", [outcome]))
    from_push, from_close = seen.delays()
    for name, values, unit in (
        ("push_to_answer", from_push, "s"),
        ("close_to_answer", from_close, "s"),
        ("push_to_acknowledged", seen.acknowledged, "s"),
    ):
        for share in (50, 99):
            report.figures[f"{name}_p{share}"] = (_quantile(values, share), unit)
    report.figures["requests_per_second"] = (len(seen.acknowledged) / seen.seconds, "1/s")
    events = sum(map(len, seen.received))
    report.figures["events_per_second"] = (events / seen.seconds, "1/s")
    report.figures["epochs"] = (told["epochs"], "")
    report.figures["files"] = (told["files"], "")
    lost = seen.rows - min(told["landed"], told["counted"] + 1)
    doubled = max(told["landed"], told["counted"] + 1) - seen.rows
    report.bars = {
        "rows_per_second": Bar(outcome.rate, WANTED_ROWS),
        "rows_lost": Bar(lost, 0, at_least=False),
        "rows_doubled": Bar(doubled, 0, at_least=False),
        "requests_refused": Bar(seen.refused + told["dead"], 0, at_least=False),
        "answers_lost": Bar(seen.missed(), 0, at_least=False),
    }
    report.right = lost == 0 and doubled == 0 and seen.missed() == 0
    report.checked = (
        f"{seen.rows} rows acknowledged, {told['landed']} landed, "
        f"{int(told['counted']) + 1} counted by a query; "
        f"{len(seen.instants)} answers to each of {len(seen.received)} subscribers"
    )
    return report


def _quantile(values: Sequence[float], share: int) -> float | None:
    return float(np.percentile(values, share)) if len(values) else None
