"""Streamgauge on a panel: standing queries registered, all rows taken, answers read back."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import streamgauge as sg
from bench.deferral_data import Panel
from bench.deferral_rules import Score, scored
from streamgauge.kernel.time import SECOND
from streamgauge.log.home import Home
from streamgauge.plan.over import Over
from streamgauge.results.change_log import epoch_answers, epochs_after

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

STREAM = "panel"
BATCH = 100_000
COLUMNS = ("query", "group", "as_of", "value", "low", "high", "basis")


@dataclass(frozen=True, slots=True)
class Told:
    """Answers of one cell in the order of time: ticks, values and bars; which are interrupted."""

    tick: Ints
    value: Floats
    low: Floats
    high: Floats
    silent: npt.NDArray[np.bool_]

    def score(self, panel: Panel, path: Floats, epsilon: float) -> Score:
        """Score the answers against the path they are of."""
        places = np.searchsorted(panel.ticks, self.tick)
        return scored(path, places, self.value, epsilon)


NOTHING = Told(np.empty(0, np.int64), *(np.empty(0) for _ in range(3)), np.empty(0, np.bool_))


def question(
    name: str, panel: Panel, epsilon: float, p: float, *, peak: bool = False, regime: str = ""
) -> sg.Query:
    """Average of all series of a panel, or its sliding maximum."""
    length = panel.window * panel.tick / SECOND
    return sg.Query(
        name,
        STREAM,
        sg.avg("value"),
        series=panel.series,
        contract=sg.Contract.absolute(epsilon, confidence=p),
        over=Over("max", sg.Range(length)) if peak else None,
        regime=regime,
    )


def answered(panel: Panel, queries: Sequence[sg.Query], **declared: Any) -> dict[str, Told]:
    """Answers of queries over a panel by the local engine, by name."""
    directory = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    try:
        gauge = taken(panel, queries, directory, **declared)
        return told(gauge.home, panel.tick)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def taken(
    panel: Panel,
    queries: Sequence[sg.Query],
    directory: Path,
    tables: Mapping[str, pa.Table] | None = None,
    **declared: Any,
) -> sg.Gauge:
    """A gauge that has taken all rows of a panel, epoch by epoch."""
    gauge = opened(panel, queries, directory, BATCH, tables, **declared)
    while gauge.step():
        pass
    return gauge


def opened(
    panel: Panel,
    queries: Sequence[sg.Query],
    directory: Path,
    batch: int,
    tables: Mapping[str, pa.Table] | None = None,
    **declared: Any,
) -> sg.Gauge:
    """A gauge over the rows of a panel, so many to an epoch, that has taken none yet."""
    panel.write(directory / "rows", batch)
    gauge = sg.connect(directory / "home", engine="local", max_rows=batch)
    gauge.stream(
        STREAM,
        source=sg.files(directory / "rows"),
        time="ts",
        key="series",
        tick=panel.tick / SECOND,
        future=None,
        **declared,
    )
    for name, table in (tables or {}).items():
        pq.write_table(table, directory / f"{name}.parquet")
        gauge.create_table(name, directory / f"{name}.parquet")
    gauge.register(*queries)
    gauge.advance(STREAM, int(panel.ticks[-1] + 1) * panel.tick)
    return gauge


def told(home: Home, tick: int, among: pa.Array | None = None) -> dict[str, Told]:
    """All answers of a home by name and group; of some groups where they are listed."""
    tables = []
    for epoch in epochs_after(home, 0):
        table = epoch_answers(home, epoch).select(COLUMNS)
        tables.append(table if among is None else table.filter(pc.is_in(table["group"], among)))
    if not tables:
        return {}
    table = pa.concat_tables(tables)
    keys = pc.binary_join_element_wise(
        table["query"].cast(pa.string()), pc.fill_null(table["group"].cast(pa.string()), ""), " "
    )
    coded = keys.combine_chunks().dictionary_encode()
    codes = coded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(coded.dictionary) + 1))
    when = table["as_of"].cast(pa.int64()).to_numpy()[order] // tick
    numbers = [table[name].to_numpy()[order] for name in ("value", "low", "high")]
    silent = pc.equal(table["basis"].cast(pa.string()), "interrupted")
    numbers.append(silent.to_numpy(zero_copy_only=False)[order])
    return {
        key.strip(): Told(when[a:b], *(column[a:b] for column in numbers))
        for key, a, b in zip(coded.dictionary.to_pylist(), edges, edges[1:], strict=False)
    }
