"""Workload `page`: the list of ten thousand queries in a real browser, while answers come.

Three processes on one machine: the server with its job (`page_served.py`), Chromium, and the one
that drives it (`page_look.py`). A frame is the time between two callbacks of
`requestAnimationFrame`; the page is scrolled by wheel meanwhile.
"""

from __future__ import annotations

import importlib.util
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

from bench.harness import ROOT, Steps, last_words
from bench.report import Bar, Report
from streamgauge.kernel.errors import EngineFailure, MissingRuntime

NAME = "page"
FRAME_MS = 100.0
STOP_SECONDS = 60.0
LOOK_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a run goes."""

    queries: int
    seconds: float


QUICK = Extent(1_000, 2.0)
FULL = Extent(10_000, 20.0)


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Serve many queries, look at their list, and tell how long its frames take."""
    extent = QUICK if quick else FULL
    chromium = _chromium()
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        what = f"{extent.queries} queries, scrolled for {extent.seconds:g} s"
        with Steps(console, 1).shown() as steps, steps.step(what):
            seen = _looked(directory, extent, chromium)
        return _report(extent, quick, seen)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _chromium() -> str:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None or importlib.util.find_spec("playwright") is None:
        raise MissingRuntime(
            "no browser to look at the page with",
            f"chromium is {found or 'absent'}; playwright is one of the developer tools",
            "run make install and tools/find_browser.sh",
        )
    return found


def _looked(directory: Path, extent: Extent, chromium: str) -> dict[str, Any]:
    """What the browser saw of a server that runs as long."""
    log = directory / "log.txt"
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    home = str(directory / "home")
    with log.open("wb") as errors:
        server = subprocess.Popen(
            [sys.executable, "-m", "bench.page_served", home, str(extent.queries)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            text=True,
        )  # fmt: skip
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            if not address:
                raise _failed(log)
            look = subprocess.run(
                [sys.executable, "-m", "bench.page_look", address, str(extent.seconds), chromium],
                env=environment, stdout=subprocess.PIPE, stderr=errors, text=True,
                timeout=LOOK_SECONDS,
            )  # fmt: skip
            server.communicate("", timeout=STOP_SECONDS)
        finally:
            server.kill()
            server.wait()
    if look.returncode != 0:
        raise _failed(log)
    seen: dict[str, Any] = json.loads(look.stdout)
    return seen


def _failed(log: Path) -> EngineFailure:
    return EngineFailure(
        "the page of the workload could not be looked at", last_words(log), "run it again alone"
    )


def _report(extent: Extent, quick: bool, seen: dict[str, Any]) -> Report:
    report = Report(NAME, quick=quick, origin="generated")
    report.about = f"{extent.queries} queries, scrolled by wheel for {extent.seconds:g} s"
    frames = seen["frames"]
    late = _quantile(frames, 95)
    report.figures = {
        "first_list_shown": (seen["first_ms"], "ms"),
        "frame_p50": (_quantile(frames, 50), "ms"),
        "frame_p95": (late, "ms"),
        "frame_max": (_quantile(frames, 100), "ms"),
        "frames": (len(frames), ""),
        "board_bytes": (seen["board_bytes"], "B"),
        "board_time": (seen["board_ms"], "ms"),
        "board_time_max": (seen["board_most_ms"], "ms"),
        "page_heap": (seen["heap_bytes"], "B"),
        "page_nodes": (seen["nodes"], ""),
        "rows_drawn": (seen["rows"], ""),
        "epochs_meanwhile": (seen["epochs"], ""),
        "changes_drawn": (seen["changes"], ""),
    }
    report.bars = {"frame_p95": Bar(late, FRAME_MS, at_least=False)}
    # A list that is still says nothing: answers have to come, and all queries have to be listed.
    report.right = seen["total"] == extent.queries and seen["epochs"] > 0 and seen["changes"] > 0
    report.checked = (
        f"{seen['total']} of {extent.queries} queries listed, {seen['rows']} drawn at once; "
        f"{seen['epochs']} epochs committed while {len(frames)} frames were drawn"
    )
    return report


def _quantile(values: Sequence[float], share: int) -> float | None:
    return float(np.percentile(values, share)) if len(values) else None
