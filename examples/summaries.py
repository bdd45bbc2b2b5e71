"""Summaries with contracts: percentiles, distinct users and top pages of a web service.

Run it with `python examples/summaries.py`. It needs no Java and leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg

N = 40_000
START = 1_767_225_600_000_000  # 2026-01-01 in microseconds


def requests() -> pa.Table:
    """Two minutes of requests to five hosts."""
    rng = np.random.default_rng(7)
    times = START + np.sort(rng.integers(0, 120_000_000, N))
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "host": [f"host-{i}" for i in rng.integers(0, 5, N)],
            "user": [f"user-{i}" for i in rng.zipf(1.2, N) % 20_000],
            "page": [f"/page/{i}" for i in np.minimum(rng.zipf(1.8, N), 999)],
            "latency": rng.lognormal(3.0, 1.0, N),
        }
    )


MINUTE = sg.Range("1 minute")
EACH = sg.every("1 minute")
ASKED = [
    sg.Query(
        "slow", "requests", sg.quantile("latency", 0.95), window=MINUTE, group_by="host",
        answer=EACH, contract=sg.Contract.relative(0.01),
    ),
    sg.Query(
        "middle", "requests", sg.median("latency"), window=MINUTE, answer=EACH,
        contract=sg.Contract.rank(0.01, confidence=0.99),
    ),
    sg.Query(
        "users", "requests", sg.distinct("user"), window=MINUTE, answer=EACH,
        contract=sg.Contract.relative(0.05, confidence=0.95),
    ),
    sg.Query("users_exactly", "requests", sg.distinct("user"), window=MINUTE, answer=EACH),
    sg.Query(
        "pages", "requests", sg.top_k("page", 3), window=MINUTE, answer=EACH,
        contract=sg.Contract.rank(0.01),
    ),
]  # fmt: skip

with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "requests").mkdir()
    pq.write_table(requests(), Path(folder) / "requests" / "first.parquet")
    with sg.connect(Path(folder) / "home", engine="local") as gauge:
        source = sg.files(Path(folder) / "requests")
        gauge.stream("requests", source=source, key="host", time="ts")
        gauge.register(*ASKED)
        gauge.start()
        gauge.drain()
        print(gauge.explain("middle"))
        print()
        for answer in gauge.subscribe(since_epoch=0, timeout=0):
            print(answer)
