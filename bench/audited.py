"""Homes whose series walk at random, to be audited, and bars stored narrower than they may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg
from streamgauge.engine import shard
from streamgauge.results.blocks import Block, write_block

START = 1_767_225_600_000_000
SECOND = 1_000_000
STREAM = "plant"
SCHEMA = {"s": "string", "ts": "time", "v": "float", "part": "float"}


class Walk:
    """A home on the local engine, one page of ticks at a time.

    `v` is a random walk of each series, `part` a fair coin of each row, `u0`, `u1`, ... are items
    drawn at random.
    """

    def __init__(
        self, path: Path, seed: int, *, series: int = 8, ticks: int = 64, items: int = 0
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.files = path / "files"
        self.files.mkdir(parents=True)
        self.at = np.zeros(series)
        self.ticks, self.items, self.pages = ticks, items, 0
        self.page()
        self.gauge = sg.connect(path / "home", engine="local")
        schema = sg.Schema.of(**SCHEMA, **{f"u{i}": "int" for i in range(items)})
        self.gauge.stream(STREAM, sg.files(str(self.files)), key="s", time="ts", schema=schema)

    def page(self) -> None:
        """Land rows of the next ticks."""
        n, shape = len(self.at), (self.ticks, len(self.at))
        path = self.at + np.cumsum(self.rng.normal(size=shape), axis=0)
        self.at = path[-1]
        first = START + self.pages * self.ticks * SECOND
        ts = np.repeat(first + SECOND * np.arange(self.ticks), n)
        columns = {
            "s": [f"s{i}" for i in range(n)] * self.ticks,
            "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
            "v": path.ravel(),
            "part": self.rng.integers(0, 2, path.size).astype(float),
        }
        columns |= {f"u{i}": self.rng.integers(0, 10**6, path.size) for i in range(self.items)}
        pq.write_table(pa.table(columns), self.files / f"{self.pages:06d}.parquet")
        self.pages += 1

    @contextmanager
    def audited(self, at_once: int = 8, **more: Any) -> Iterator[sg.Auditor]:
        """An auditor that steps by hand; whatever it left behind stays there."""
        auditor = sg.Auditor(self.gauge, at_once, **more)
        auditor.open()
        try:
            yield auditor
        finally:
            auditor.close()

    def turn(self, auditor: sg.Auditor | None, pages: int) -> None:
        """Land pages, answer them and have them audited."""
        for _ in range(pages):
            self.page()
            while self.gauge.step():
                pass
            while auditor is not None and auditor.step():
                pass


def deferred(walk: Walk) -> None:
    """One mean by a timer, one by watch."""
    owed = sg.Contract.absolute(4.0, confidence=0.9)
    walk.gauge.register(
        *(
            sg.Query(regime, STREAM, sg.avg("v"), series=("s0",), contract=owed, regime=regime)
            for regime in ("timer", "watch")
        )
    )


def sketches(walk: Walk) -> None:
    """Different items of each column, from sketches."""
    owed = sg.Contract.relative(0.1, confidence=0.95)
    window, often = sg.Range("8 s"), sg.every("8 s")
    names = [f"u{i}" for i in range(walk.items)]
    walk.gauge.register(
        *(
            sg.Query(name, STREAM, sg.distinct(name), window=window, answer=often, contract=owed)
            for name in names
        )
    )


def sampled(walk: Walk) -> None:
    """How many coins show heads, where a half of them may be looked at."""
    walk.gauge.sql(
        "CREATE SUMMARY kinds ON plant(v) WITH GRANULARITY 8 SECONDS AND COLLAPSE(2, 1) BUCKETS 1;"
        "CREATE QUERY coins AS SELECT COUNT(*) FROM plant [RANGE 8 SECONDS] WHERE part > 0.5 "
        "EVERY 8 SECONDS BUDGET PROBES 4"
    )


def narrowing(times: float) -> Callable[..., int]:
    """What stores bars as if the error were so many times smaller than it is."""

    def write(path: Path, block: Block, *, epoch: int) -> int:
        low = block.value - (block.value - block.low) / times
        high = block.value + (block.high - block.value) / times
        return write_block(path, replace(block, low=low, high=high), epoch=epoch)

    return write


@contextmanager
def narrowed(times: float) -> Iterator[None]:
    """Store such bars until the end of the block."""
    setattr(shard, "write_block", narrowing(times))  # noqa: B010
    try:
        yield
    finally:
        setattr(shard, "write_block", write_block)  # noqa: B010
