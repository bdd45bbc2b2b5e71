"""A crash at every durable step of an epoch whose rows are sent: after a restart, the same bytes.

Nothing is lost and nothing comes twice, whichever of three shards was at work, whether state was
written whole or as changes, and whatever attempts that did not count have left.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine import commit as commit_module
from streamgauge.engine import lander as lander_module
from streamgauge.engine import local as local_module
from streamgauge.engine import shard as shard_module
from streamgauge.engine import state_files
from streamgauge.engine.lander import Lander
from streamgauge.kernel import files as files_module
from streamgauge.kernel.files import read_json
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log.commits import answer_files, files_of, row_files
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from tests.crashing import Killed, dying

pytestmark = pytest.mark.slow
SHARDS, PAGES, ROWS = 3, 4, 300
NOON = instant("2026-01-31T12:00:00Z")
SCHEMA = sg.Schema.of(ts="time", k="string", v="float")
STATEMENTS = """
CREATE QUERY sums AS SELECT k, SUM(v), COUNT(*) FROM s [RANGE 4 SECONDS] GROUP BY k EVERY 1 SECOND;
CREATE QUERY kinds AS SELECT k, APPROX_COUNT_DISTINCT(v) FROM s [RANGE 4 SECONDS] GROUP BY k
  EVERY 2 SECONDS WITHIN 10 PERCENT CONFIDENCE 95%;
CREATE QUERY high AS SELECT k, v FROM t WHERE v > 90;
"""
POINTS = {
    "a page is written": (Journal, "append"),
    "a snapshot is written": (Lander, "_write_snapshot"),
    "packets are made": (local_module, "scan"),
    "answers are written": (shard_module, "write_block"),
    "rows are written": (shard_module, "write_rows"),
    "changes of state are written": (state_files, "write_whole"),
    "a shard ran": (local_module.shard, "run"),
    "a commit is put": (commit_module, "put_json"),
    "a commit is a file": (files_module, "write_new"),
    "old state is removed": (commit_module, "_forget_state"),
    "lost attempts are removed": (commit_module, "_forget_attempts"),
    "an epoch is committed": (local_module, "commit"),
}
# Points that each shard passes in each page.
OFTEN = ("answers are written", "changes of state are written", "a shard ran")
CASES = [
    *((point, call) for point in POINTS for call in (1, 2, 3)),
    *(pytest.param(p, n, marks=pytest.mark.nightly) for p in OFTEN for n in range(4, 12)),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, dice = tmp_path_factory.mktemp("source"), np.random.default_rng(2)
    for page in range(PAGES):
        at = NOON + np.sort(dice.integers(3 * page * SECOND, (3 * page + 3) * SECOND, ROWS))
        table = pa.table(
            {
                "ts": pa.array(at, pa.timestamp("us", tz="UTC")),
                "k": [f"key-{key}" for key in dice.integers(0, 40, ROWS)],
                "v": dice.integers(0, 400, ROWS) / 4,
            }
        )
        pq.write_table(table, folder / f"{page}.parquet", row_group_size=100)
    return folder


def life(root: Path, source: Path) -> Home:
    """A gauge that runs to the end, a file in a page."""
    gauge = sg.connect(root, engine="local", shards=SHARDS, max_rows=ROWS, exchange=True)
    for name in "st":
        gauge.stream(name, sg.files(source), time="ts", key="k", schema=SCHEMA)
    if not gauge._expected.queries:
        gauge.sql(STATEMENTS)
    while gauge.step():
        pass
    gauge.stop()
    return gauge.home


def given(home: Home) -> list[bytes]:
    """The bytes of all that was answered, in its order."""
    epochs = range(1, home.committed() + 1)
    return [
        path.read_bytes()
        for epoch in epochs
        for path in (*answer_files(home, epoch), *row_files(home, epoch))
    ]


@pytest.fixture(scope="module")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    home = life(tmp_path_factory.mktemp("undisturbed") / "home", source)
    journal = Journal(home)
    sent = [number for number in range(1, journal.last() + 1) if journal.page(number).scans]
    assert len(sent) >= PAGES - 1, "rows are sent"
    assert home.committed() >= PAGES
    found = given(home)
    assert len(found) > 2 * PAGES
    return found


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """State is written as changes, as where there are many groups."""
    monkeypatch.setattr(state_files, "SMALL", 1 << 10)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("point", "call"), CASES)
def test_killed_and_started_again(
    point: str,
    call: int,
    after: bool,
    source: Path,
    expected: list[bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where, name = POINTS[point]
    with monkeypatch.context() as patch:
        patch.setattr(lander_module, "SNAPSHOT_EVERY", 1)
        patch.setattr(where, name, dying(getattr(where, name), call, after=after))
        with pytest.raises(Killed):
            life(tmp_path, source)
    shard_module._RUNNING.clear()
    home = life(tmp_path, source)
    assert given(home) == expected
    assert left_over(home) == set()


def left_over(home: Home) -> set[str]:
    """Files of answers and of state that no commit lists."""
    told = (read_json(home.commit(epoch)) for epoch in range(1, home.committed() + 1))
    listed = set().union(*map(files_of, told))
    there = (path for part in ("answers", "state") for path in (home.root / part).rglob("*"))
    return {home.file_of(path) for path in there if path.is_file()} - listed
