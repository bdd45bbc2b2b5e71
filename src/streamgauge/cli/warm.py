"""Compiling the kernels ahead, on two cores, while Spark starts.

Kernels are kept on disk, so this happens once per release. Without it the workers of Spark would
compile the same kernels side by side, after Spark has started.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba

from streamgauge.cli.plant_questions import STREAM, portfolios, sensor_names, windowed
from streamgauge.gauge import connect
from streamgauge.plan.query import Query
from streamgauge.sources.declare import plant as plant_source
from streamgauge.sources.plant import Plant, PlantWriter

SENSORS = 20
TICKS = 130


def mark(kind: str) -> Path:
    """File beside the kernels that says that those of a kind are there."""
    return Path(getattr(numba.config, "CACHE_DIR", "") or tempfile.gettempdir()) / f"warm-{kind}"


@contextmanager
def warming() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that compile, one per kind of query; none when there is nothing to do."""
    task = "import sys; from streamgauge.cli import warm; warm.compile_kernels(sys.argv[1])"
    command = [sys.executable, "-c", task]
    kinds = [kind for kind in _questions([]) if not mark(kind).exists()]
    processes = [
        subprocess.Popen([*command, kind], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for kind in kinds
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def _questions(names: list[str]) -> dict[str, list[Query]]:
    return {"latest": portfolios(names, 2) if names else [], "windows": windowed()}


def compile_kernels(kind: str) -> None:
    """Answer a few questions of a small plant, which compiles what they need."""
    plant = Plant(n_sensors=SENSORS)
    with tempfile.TemporaryDirectory(prefix="streamgauge-warm-") as home:
        gauge = connect(home, engine="local", shards=1)
        source = plant_source(n_sensors=SENSORS)
        gauge.stream(STREAM, source, time="ts", key="series", expected_gap="10 s")
        gauge.register(*_questions(sensor_names(plant))[kind])
        writer = PlantWriter(plant, str(gauge.home.incoming(STREAM)))
        for _ in range(2):
            writer.write(TICKS)
            gauge.step()
    mark(kind).touch()
