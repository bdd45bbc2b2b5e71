"""State of operators that this release cannot read: made again from kept history, and told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.checks.work import canonical, same_answers
from streamgauge.engine import shard
from streamgauge.engine import state as wire
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import write_whole
from streamgauge.kernel.time import SECOND
from streamgauge.kernel.wire import Packed, pack
from streamgauge.log.commits import read_commit, state_files
from streamgauge.server.logs import Chronicle

pytestmark = pytest.mark.slow
DECLARED = (
    "CREATE STREAM s (ts TIME, k STRING, v FLOAT) FROM FILES '{rows}' TIME ts KEY k KEEP {keep}"
)
ASKED = {
    "kinds": "SELECT k, APPROX_COUNT_DISTINCT(v) FROM s [SINCE '1970-01-01'] GROUP BY k "
    "EVERY 1 SECOND WITHIN 10 PERCENT",
    "sums": "SELECT k, SUM(v) FROM s [RANGE 20 SECONDS] GROUP BY k EVERY 1 SECOND",
    "newest": "SELECT AVG(v) FROM s [PARTITION BY k ROWS 1] EVERY 1 SECOND",
    "rows": "SELECT DISTINCT k FROM s [RANGE 20 SECONDS]",
}


def begun(root: Path, keep: str = "1 HOUR") -> sg.Gauge:
    """Rows of thirty seconds, answered."""
    rows = root / "rows"
    rows.mkdir(parents=True)
    gauge = sg.connect(root / "home", engine="local", shards=2)
    gauge.sql(DECLARED.format(rows=rows, keep=keep))
    for name, text in ASKED.items():
        gauge.sql(f"CREATE QUERY {name} AS {text}")
    step(gauge, root, 0, 30)
    return gauge


def step(gauge: sg.Gauge, root: Path, first: int, last: int) -> None:
    ticks = [tick for tick in range(first, last) for _ in range(4)]
    table = pa.table(
        {
            "ts": pa.array([t * SECOND for t in ticks], pa.timestamp("us", "UTC")),
            "k": [f"k{n % 5}" for n in range(len(ticks))],
            "v": [float(n % 9) for n in range(len(ticks))],
        }
    )
    pq.write_table(table, root / "rows" / f"{first}.parquet")
    gauge.step()


def changed(gauge: sg.Gauge, change: Callable[[Packed], None], *shards: int) -> None:
    """Let another release have written the state, of some shards or of all."""
    home = gauge.home
    for k in shards or range(home.shards):
        (path,) = state_files(home, home.committed(), k)
        packed = wire.read_arrays(home, home.committed(), k)
        change(packed)
        write_whole(path, pack(packed))
    shard.forget(home)


def as_the_first_counts(packed: Packed) -> None:
    """Distinct counts by codes of values, as the first version of their banks kept them."""
    for held in packed.values["streams"]["s"]["inputs"].values():
        for piece in held["pieces"]:
            for _, names in piece.get("panes", {}).get("banks", ()):
                names.remove("held")


def foreign(packed: Packed) -> None:
    """State of techniques that nobody knows."""
    for held in packed.values["streams"]["s"]["inputs"].values():
        for piece in held["pieces"]:
            piece["key"] = '["of tomorrow"]' if "sum" in piece["key"] else piece["key"]
    for item in packed.values.get("operators", ()):
        item[0] = "of tomorrow/" + item[0]


def rebuilt(gauge: sg.Gauge) -> dict[str, str]:
    found: dict[str, str] = {}
    for receipt in read_commit(gauge.home, gauge.home.committed())["shards"]:
        found |= receipt["rebuilt"]
    return found


def later(gauge: sg.Gauge, *names: str) -> list[pa.Table]:
    return [canonical(gauge.answers(name, since_epoch=1)) for name in names]


def test_distinct_counts_of_the_first_release_are_counted_again(tmp_path: Path) -> None:
    gauge, other = begun(tmp_path / "one"), begun(tmp_path / "other")
    changed(gauge, as_the_first_counts)
    assert not gauge.latest("kinds"), "what it answered is not known before it begins anew"
    for one, root in ((gauge, "one"), (other, "other")):
        step(one, tmp_path / root, 30, 40)
    assert rebuilt(gauge) == {"kinds": "the state of a distinct count is of an earlier release"}
    assert not rebuilt(other)
    for one, two in zip(later(gauge, *ASKED), later(other, *ASKED), strict=True):
        same_answers(one, two)
    step(gauge, tmp_path / "one", 40, 41)
    assert not rebuilt(gauge), "told once"


def test_coverage_says_what_history_does_not_reach(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gauge = begun(tmp_path, "5 SECONDS")
    changed(gauge, as_the_first_counts)
    chronicle = Chronicle(gauge)
    step(gauge, tmp_path, 30, 40)
    chronicle.read()
    assert [r.message for r in caplog.records].count("state rebuilt") == 1
    found = gauge.answers("kinds", since_epoch=1)
    assert min(found["coverage"].to_pylist()) < 0.5
    assert not any(found["contract_met"].to_pylist())
    assert set(gauge.answers("sums", since_epoch=1)["coverage"].to_pylist()) == {1.0}
    assert "%" in gauge.note("kinds")


def test_state_of_techniques_that_nobody_knows_stops_nobody(tmp_path: Path) -> None:
    gauge, other = begun(tmp_path / "one"), begun(tmp_path / "other")
    changed(gauge, foreign)
    for one, root in ((gauge, "one"), (other, "other")):
        step(one, tmp_path / root, 30, 40)
    assert set(rebuilt(gauge).values()) == {"no technique of this release has such state"}
    assert "rows" in rebuilt(gauge)
    for one, two in zip(
        later(gauge, "kinds", "newest"), later(other, "kinds", "newest"), strict=True
    ):
        same_answers(one, two)
    assert gauge.rows("rows").num_rows == other.rows("rows").num_rows == 5


@pytest.mark.parametrize("lost", [(0, 1), (0,), (1,)])
def test_lost_state_is_not_half_kept_by_a_rescale(tmp_path: Path, lost: tuple[int, ...]) -> None:
    gauge, other = begun(tmp_path / "one"), begun(tmp_path / "other")
    changed(gauge, as_the_first_counts, *lost)
    gauge.rescale(3)
    for one, root in ((gauge, "one"), (other, "other")):
        step(one, tmp_path / root, 30, 40)
    assert set(rebuilt(gauge)) == {"kinds"}
    for one, two in zip(later(gauge, *ASKED), later(other, *ASKED), strict=True):
        same_answers(one, two)


def test_damaged_state_is_no_old_state(tmp_path: Path) -> None:
    gauge = begun(tmp_path)
    (path,) = state_files(gauge.home, gauge.home.committed(), 0)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    write_whole(path, bytes(data))
    shard.forget(gauge.home)
    with pytest.raises(StateTooOld, match="check --repair"):
        step(gauge, tmp_path, 30, 40)
