"""What a preference costs where nothing is overloaded: whole engine, with and without it.

The same rows go through the local engine in turns, once with a plain query and once with the same
query that has a preference and a budget it never reaches. Answers must be equal.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import streamgauge as sg
from bench.deferral_report import Sections
from bench.promise_data import Store, Stores, zipf
from bench.report import Bar, short
from streamgauge.kernel.time import MINUTE

FILES = 4
AMPLE = 1_000_000
# Rows of a query of one stream, in those of a join.
LONGER = 8
STREAMS = ("store1", "store2")


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and what makes it one with a preference."""

    name: str
    text: str
    preference: str
    compared: tuple[str, ...]
    of_rows: bool = True

    def statement(self, promising: bool) -> str:
        """The statement that registers it."""
        more = f" {self.preference} BUDGET PROBES {AMPLE}" if promising else ""
        return f"CREATE QUERY q AS {self.text}{more};"


ASKED = (
    Asked(
        "join",
        "SELECT a.item, a.ts AS t1, b.ts AS t2 "
        "FROM store1 [RANGE 1 MINUTE] a, store2 [RANGE 1 MINUTE] b WHERE a.item = b.item",
        "WITH PREFERENCE DESC COUNT(a.item), COUNT(b.item) FADE FACTOR 0.8",
        ("as_of", "count", "item", "t1", "t2"),
    ),
    Asked(
        "selection",
        "SELECT ISTREAM(item, value) FROM store1 [ROWS UNBOUNDED] WHERE item BETWEEN 100 AND 250",
        "WITH PREFERENCE DESC COUNT(item)",
        ("as_of", "count", "item", "value"),
    ),
    Asked(
        "aggregate",
        "SELECT SUM(value) FROM store1 [RANGE 1 MINUTE] WHERE item BETWEEN 100 AND 250",
        "WITH PREFERENCE DESC COUNT(item) * value",
        ("as_of", "value"),
        of_rows=False,
    ),
)


def no_overload(report: Sections, rows: int, repetitions: int) -> int:
    """Rows a second of each query, plain and with a preference, interleaved; the best counts."""
    scratch = Path(tempfile.mkdtemp(prefix="streamgauge-bench-"))
    shown: list[list[str]] = []
    wrong = 0
    try:
        for asked in ASKED:
            # One match a row or so: what is given should not hide what is done for it. A query of
            # one stream is so quick that a run of as many rows would be mostly chance.
            more = 1 if asked.name == "join" else LONGER
            stores = zipf(rows * more, items=2000, power=0.5)
            folder = scratch / asked.name
            for name, side in zip(STREAMS, stores.sides, strict=True):
                written(folder / name, side)
            wrong += _compared(report, folder, stores, repetitions, asked, shown)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    report.table(
        f"no overload, local engine, rows a second: best of {repetitions}, and the median ratio",
        ["query", "plain", "with preference", "ratio", "answers", ""],
        shown,
    )
    return wrong


def written(directory: Path, store: Store) -> None:
    """Rows of a store as parquet, in files of one page each."""
    directory.mkdir(parents=True)
    table = pa.table(
        {
            "ts": pa.array(store.ts).cast(pa.timestamp("us", "UTC")),
            "item": store.item,
            "value": store.value,
        }
    )
    size = -(-table.num_rows // FILES)
    for number in range(FILES):
        part = table.slice(number * size, size)
        pq.write_table(part, directory / f"{number:03d}.parquet")


def _compared(
    report: Sections,
    scratch: Path,
    stores: Stores,
    repetitions: int,
    asked: Asked,
    shown: list[list[str]],
) -> int:
    """Add the bar and the line of one query; 1 where its answers differ."""
    took: dict[bool, list[float]] = {False: [], True: []}
    answers: dict[bool, pa.Table] = {}
    # The first of each loads kernels and counts for nothing.
    for turn in range(repetitions + 1):
        for promising in (False, True) if turn % 2 else (True, False):
            seconds, answers[promising] = _run(scratch, asked, promising, stores)
            if turn:
                took[promising].append(seconds)
    equal = alike(answers[False], answers[True])
    rows = stores.rows if asked.name == "join" else len(stores.sides[0].ts)
    rates = {promising: rows / min(own) for promising, own in took.items()}
    # Runs side by side are compared, for the machine's pace drifts by more than what is sought.
    pairs = zip(took[False], took[True], strict=True)
    share = float(np.median([plain / ours for plain, ours in pairs]))
    report.bars[f"no_overload_{asked.name}"] = Bar(share, 0.95)
    shown.append([
        asked.name, f"{short(rates[False])}", f"{short(rates[True])}", f"{share:.3f}",
        f"{answers[False].num_rows:,}", "equal" if equal else "DIFFER",
    ])  # fmt: skip
    return int(not equal)


def _run(scratch: Path, asked: Asked, promising: bool, stores: Stores) -> tuple[float, pa.Table]:
    home = tempfile.mkdtemp(dir=scratch)
    gauge = sg.connect(home, engine="local", shards=1)
    used: Sequence[str] = STREAMS if asked.name == "join" else STREAMS[:1]
    for name in used:
        gauge.sql(
            f"CREATE STREAM {name} (ts TIME, item INT, value FLOAT) "
            f"FROM FILES '{scratch / name}' FORMAT parquet TIME ts FUTURE ANY;"
        )
        gauge.sql(
            f"CREATE SUMMARY of_{name} ON {name}(item) "
            "WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4);"
        )
    gauge.sql(asked.statement(promising))
    last = max(int(side.ts[-1]) for side in stores.sides) + 2 * MINUTE
    for name in used:
        gauge.advance(name, last)
    begun = time.process_time()
    while gauge.step():
        pass
    took = time.process_time() - begun
    answers = _given(gauge, asked)
    gauge.stop()
    shutil.rmtree(home, ignore_errors=True)
    return took, answers


def _given(gauge: sg.Gauge, asked: Asked) -> pa.Table:
    """What was answered, in an order that does not depend on how it was worked out."""
    table = gauge.row_changes("q") if asked.of_rows else gauge.answers("q")
    table = table.select(list(asked.compared))
    return table.take(pc.sort_indices(table, [(name, "ascending") for name in asked.compared]))


def alike(one: pa.Table, other: pa.Table) -> bool:
    """Whether answers are the same; sums may have been added up in another order."""
    if one.num_rows != other.num_rows:
        return False
    for name in one.column_names:
        if pa.types.is_floating(one[name].type):
            left, right = one[name].to_numpy(), other[name].to_numpy()
            if not np.allclose(left, right, rtol=1e-9, atol=0.0, equal_nan=True):
                return False
        elif not one[name].equals(other[name]):
            return False
    return True
