"""Compiling the kernels ahead, on two cores, while Spark starts.

Kernels are kept on disk, so this happens once per release. Without it the workers of Spark would
compile the same kernels side by side, after Spark has started.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge import gauge as package
from streamgauge.cli.plant_questions import (
    STREAM,
    STREAMS,
    SUMMARY,
    TEXTS,
    created,
    deferred,
    sensor_names,
    windowed,
    zones,
)
from streamgauge.gauge import Gauge, connect
from streamgauge.kernel.jit import cache_root, fingerprint
from streamgauge.sources.declare import plant as plant_source
from streamgauge.sources.plant import START, Plant, PlantWriter
from streamgauge.streams.schema import TYPES

SENSORS = 20
TICKS = 130
# Rows a tick that are more than a promising query of the demo may look at.
CROWD = 600
# What every job that asks of latest values and windows needs, and what else the demo asks.
FIRST = (("latest",), ("windows",))
LATER = tuple(TEXTS)


def mark(kind: str) -> Path | None:
    """File beside the kernels that says that those of a kind are there; None without a cache."""
    root = cache_root()
    return None if root is None else root / f"warm-{kind}-{fingerprint(Path(package.__file__))}"


def is_compiled(kind: str) -> bool:
    """Whether nothing of a kind is to be compiled ahead: it is on disk, or cannot be kept there."""
    done = mark(kind)
    return done is None or done.exists()


@contextmanager
def warming(
    batches: Sequence[Sequence[str]] = FIRST, *, nice: int = 0
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that compile, one per batch of kinds; none when there is nothing to do.

    Parameters
    ----------
    batches
        Kinds of queries; those of a batch are compiled one after the other.
    nice
        How far they stand back behind what else runs.
    """
    task = "import sys; from streamgauge.cli import warm; warm.compile_all(sys.argv[1:])"
    processes = []
    for batch in batches:
        left = [kind for kind in batch if not is_compiled(kind)]
        if left:
            command = ["nice", "-n", str(nice), sys.executable, "-c", task, *left]
            processes.append(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def compile_all(kinds: Sequence[str]) -> None:
    """Compile what queries of some kinds need, one after the other."""
    for kind in kinds:
        compile_kernels(kind)


def compile_kernels(kind: str) -> None:
    """Answer a few questions of a small plant, which compiles what they need."""
    plant = Plant(n_sensors=SENSORS)
    with tempfile.TemporaryDirectory(prefix="streamgauge-warm-") as home:
        gauge = connect(home, engine="local", shards=1)
        source = plant_source(n_sensors=SENSORS)
        gauge.stream(STREAM, source, time="ts", key="series", expected_gap="10 s")
        gauge.sql(";\n".join((*STREAMS.values(), SUMMARY)))
        _ask(gauge, kind, sensor_names(plant))
        _write(gauge, "pumps", _bounds())
        _write(gauge, "orders", _orders())
        writer = PlantWriter(plant, str(gauge.home.incoming(STREAM)))
        for _ in range(2):
            writer.write(TICKS)
            gauge.step()
    done = mark(kind)
    if done is not None:
        done.touch()


def _ask(gauge: Gauge, kind: str, names: list[str]) -> None:
    if kind == "latest":
        gauge.register(*zones(names, 2))
    elif kind == "windows":
        gauge.register(*windowed())
    else:
        own = deferred(names, 2) if kind == "deferred" else {}
        gauge.sql(created({**TEXTS[kind], **own}))


def _write(gauge: Gauge, stream: str, rows: pa.Table) -> None:
    directory = gauge.home.incoming(stream)
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, directory / "first.parquet")


def _bounds() -> pa.Table:
    values = [float(tick % 7) for tick in range(TICKS)]
    texts, widths = ["a"] * TICKS, [1.0] * TICKS
    columns = {"pump": texts, "valve": texts, "ts": _times(TICKS, 1), "value": values}
    return pa.table({**columns, "width": widths})


def _orders() -> pa.Table:
    n = CROWD * 12
    items = np.arange(n) % 100
    columns = {"shop": ["a"] * n, "ts": _times(n, CROWD), "item": items}
    return pa.table({**columns, "amount": 1.0 + np.sqrt(items)})


def _times(n: int, a_second: int) -> pa.Array:
    return pa.array(START + np.arange(n) * 1_000_000 // a_second).cast(TYPES["time"])
