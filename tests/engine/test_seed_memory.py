"""What queries keep as their streams grow: nothing, all rows, a window, or a row for each group."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.engine import state as wire
from streamgauge.kernel.time import SECOND
from streamgauge.streams.schema import Schema
from streamgauge.work.relations.operator import ViewOperator
from streamgauge.work.selections.operator import SelectionOperator
from tests.engine.stage import START, Stage

pytestmark = pytest.mark.slow

N_PAGES = 6
ROWS = 2000
KEYS = 10
PLAIN = Schema.of(ts="time", k="int", v="int")
SIGNED = Schema.of(op="string", ts="time", k="int", v="int")


def page(number: int, seed: int, *, signed: bool = False) -> pa.Table:
    """Rows of two hundred seconds, ten a second; of changes, half of the rows are taken back."""
    dice = np.random.default_rng(1000 * seed + number)
    times = START + (number * ROWS + np.arange(ROWS)) * SECOND // 10
    columns = {
        "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        "k": pa.array(dice.integers(0, KEYS, ROWS)),
        "v": pa.array(dice.integers(0, 10**6, ROWS)),
    }
    if not signed:
        return pa.table(columns)
    half = {name: column.slice(0, ROWS // 2) for name, column in columns.items()}
    some = {name: column.slice(0, ROWS // 4) for name, column in columns.items()}
    later = pa.array(times[ROWS // 2 : 3 * ROWS // 4], pa.timestamp("us", tz="UTC"))
    came = pa.table({"op": ["+"] * (ROWS // 2), **half})
    went = pa.table({"op": ["-"] * (ROWS // 4), **some, "ts": later})
    return pa.concat_tables([came, went.select(came.column_names)])


def kept(stage: Stage) -> int:
    """Rows and groups in the state of all shards."""
    home, total = stage.gauge.home, 0
    for shard in range(home.shards):
        for operator in wire.read_state(home, home.committed(), shard).operators.values():
            if isinstance(operator, SelectionOperator):
                total += len(operator.known.waiting)
                continue
            assert isinstance(operator, ViewOperator)
            total += sum(len(store) for store in operator.state.stores.values())
            total += sum(len(folded.given) for folded in operator.state.held.values())
    return total


JOIN = "SELECT a.k, b.v FROM s [{0}] AS a, other [{0}] AS b WHERE a.v = b.v"
MIN = "SELECT k, MIN(v) AS least FROM {} GROUP BY k HAVING MIN(v) >= 0"
SHAPES = {
    "selection": ("SELECT k, v FROM s WHERE v > 500000", "bounded", 30),
    "join of all rows": (JOIN.format("RANGE UNBOUNDED"), "unbounded", None),
    "self-join of all rows": (
        "SELECT a.k, b.k FROM s [RANGE UNBOUNDED] AS a, s [RANGE UNBOUNDED] AS b WHERE a.v = b.v",
        "unbounded", None,
    ),
    "join of windows": (JOIN.format("RANGE 20 SECONDS"), "window", 2 * 250),
    "least value": (MIN.format("s"), "groups", KEYS + 30),
    "least value of what comes and goes": (MIN.format("moves"), "unbounded", None),
    "average": (
        "SELECT k, AVG(v) AS mean FROM s GROUP BY k HAVING COUNT(*) > 1", "groups", KEYS + 30,
    ),
    "difference of whole streams": (
        "SELECT k FROM s EXCEPT SELECT k FROM other WHERE v > 999000", "groups", 4 * KEYS + 60,
    ),
    "all rows as a relation": ("SELECT k, v FROM s [RANGE UNBOUNDED]", "unbounded", None),
    "both streams": ("SELECT k, v FROM s UNION ALL SELECT k, v FROM other", "bounded", 60),
    "groups since an instant": (
        "SELECT k, COUNT(*) AS n FROM s [SINCE '2026-01-01'] GROUP BY k HAVING COUNT(*) > 1",
        "groups", KEYS + 30,
    ),
    "different keys": ("SELECT DISTINCT k FROM s", "groups", KEYS + 30),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_kept_is_what_explain_says(tmp_path: Path, shape: str) -> None:
    text, kind, most = SHAPES[shape]
    stage = Stage(tmp_path)
    for name, schema, changes in (
        ("s", PLAIN, None),
        ("other", PLAIN, None),
        ("moves", SIGNED, "op"),
    ):
        if name in text:
            stage.stream(name, schema, keep="1 minute", changes=changes)
    stage.gauge.sql(f"CREATE QUERY q AS {text}")
    streams = list(stage.gauge.trial().registry.streams)
    assert f"memory {kind}:" in stage.gauge.explain("q")
    sizes = []
    for number in range(N_PAGES):
        stage.page(
            **{n: page(number, k, signed=n == "moves") for k, n in enumerate(streams)}
        )  # fmt: skip
        sizes.append(kept(stage))
    if most is None:
        growth = np.diff(sizes)
        assert growth.min() > 0.9 * growth.max() > 0.2 * ROWS, sizes
    else:
        assert 0 < max(sizes) <= most, sizes
