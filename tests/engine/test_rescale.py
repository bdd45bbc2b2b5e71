"""Another number of shards from a page on: crashes around it, readers, homes of old formats."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.checks.work import canonical, same_answers
from streamgauge.engine import commit as commit_module
from streamgauge.engine import local as local_module
from streamgauge.engine import rescaling, state_files
from streamgauge.engine import shard as shard_module
from streamgauge.engine.kept import kept
from streamgauge.engine.lander import Lander
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.files import write_json
from streamgauge.log import inbox
from streamgauge.log.commits import home_after, read_commit
from streamgauge.log.home import BY_TEXT, Home
from streamgauge.log.journal import Journal
from streamgauge.repair.check import check_home
from tests.crashing import Killed, dying
from tests.engine.test_crashes_exchange import given, left_over, source

pytestmark = pytest.mark.slow

__all__ = ["source"]
SCHEMA = sg.Schema.of(ts="time", k="string", v="float")
STATEMENTS = """
CREATE QUERY sums AS SELECT k, SUM(v), COUNT(*) FROM s [RANGE 4 SECONDS] GROUP BY k EVERY 1 SECOND;
CREATE QUERY kinds AS SELECT k, APPROX_COUNT_DISTINCT(v) FROM s [RANGE 4 SECONDS] GROUP BY k
  EVERY 2 SECONDS WITHIN 10 PERCENT CONFIDENCE 95%;
CREATE QUERY newest AS SELECT AVG(v) FROM t [PARTITION BY k ROWS 1] EVERY 1 SECOND;
CREATE QUERY top AS SELECT MAX(v) FROM s [RANGE 3 SECONDS] EVERY 1 SECOND;
CREATE QUERY high AS SELECT k, v FROM t WHERE v > 90;
CREATE QUERY pairs AS SELECT DISTINCT k FROM t [RANGE 2 SECONDS];
"""
BEFORE, FROM, TO = 2, 2, 3
LEFT = "the record is left"
POINTS = {
    LEFT: (inbox, "write_json"),
    "a page is written": (Journal, "append"),
    "a snapshot is written": (Lander, "_write_snapshot"),
    "the inbox is cleared": (inbox, "remove"),
    "packets are made": (local_module, "scan"),
    "a shard read the state of all": (shard_module, "gathered"),
    "a shard kept what it owns": (shard_module, "settle"),
    "state of an old shard is read": (rescaling.wire, "read_state"),
    "answers are written": (shard_module, "write_block"),
    "rows are written": (shard_module, "write_rows"),
    "state is written": (state_files, "write_whole"),
    "a shard ran": (local_module.shard, "run"),
    "a commit is put": (commit_module, "put_json"),
    "old state is removed": (commit_module, "_forget_state"),
    "lost attempts are removed": (commit_module, "_forget_attempts"),
    "an epoch is committed": (local_module, "commit"),
}
CASES = [(point, call) for point in POINTS for call in (1, 2) if (point, call) != (LEFT, 2)]


def opened(root: Path, source: Path, shards: int = FROM) -> sg.Gauge:
    gauge = sg.connect(root, engine="local", shards=shards, max_rows=300, exchange=True)
    for name in "st":
        gauge.stream(name, sg.files(source), time="ts", key="k", schema=SCHEMA)
    if not gauge._expected.queries:
        gauge.sql(STATEMENTS)
    return gauge


def rescaled(gauge: sg.Gauge) -> None:
    """Go on with other shards, to the end."""
    gauge.rescale(TO)
    while gauge.step():
        pass


def life(root: Path, source: Path, *shards: int) -> sg.Gauge:
    """A gauge that runs to the end, on other shards after two epochs and after three."""
    gauge = opened(root, source)
    while gauge.step():
        for number in shards[gauge.home.committed() - BEFORE :][:1]:
            if gauge.home.committed() >= BEFORE:
                gauge.rescale(number)
    gauge.stop()
    return gauge


@pytest.fixture(scope="module")
def never(source: Path, tmp_path_factory: pytest.TempPathFactory) -> sg.Gauge:
    return life(tmp_path_factory.mktemp("never") / "home", source)


@pytest.fixture(scope="module")
def undisturbed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> sg.Gauge:
    return life(tmp_path_factory.mktemp("undisturbed") / "home", source, TO)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("point", "call"), CASES)
def test_killed_around_the_page_of_a_rescale(
    point: str,
    call: int,
    after: bool,
    source: Path,
    undisturbed: sg.Gauge,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where, name = POINTS[point]
    gauge = opened(tmp_path, source)
    while gauge.home.committed() < BEFORE:
        gauge.step()
    with monkeypatch.context() as patch:
        patch.setattr("streamgauge.engine.lander.SNAPSHOT_EVERY", 1)
        patch.setattr(where, name, dying(getattr(where, name), call, after=after))
        with pytest.raises(Killed):
            rescaled(gauge)
    shard_module._RUNNING.clear()
    again = opened(tmp_path, source)
    if again._expected.shards != TO:
        # The record was never acknowledged.
        assert (point, call, after) == (LEFT, 1, False)
        again.rescale(TO)
    while again.step():
        pass
    again.stop()
    assert given(again.home) == given(undisturbed.home)
    assert left_over(again.home) == set()


@pytest.mark.parametrize("shards", [(TO,), (16, 1), (1, 5)])
def test_readers_read_on(
    shards: tuple[int, ...], source: Path, never: sg.Gauge, tmp_path: Path
) -> None:
    gauge = life(tmp_path, source, *shards)
    told = [len(read_commit(gauge.home, e)["shards"]) for e in range(1, gauge.home.committed() + 1)]
    assert told == [FROM] * BEFORE + [*shards, *[shards[-1]] * 9][: len(told) - BEFORE]
    assert [Journal(gauge.home).page(n).shards for n in (1, 2, 3)] == [0, 0, shards[0]]
    same_answers(canonical(gauge.answers()), canonical(never.answers()))
    assert gauge.latest() == never.latest()
    for name in ("sums", "kinds", "pairs"):
        assert [(p.what, p.count) for p in kept(gauge.home, name)] == [
            (p.what, p.count) for p in kept(never.home, name)
        ]
    assert sorted(gauge.rows("pairs").to_pylist(), key=str) == sorted(
        never.rows("pairs").to_pylist(), key=str
    )
    assert f"groups over {shards[-1]} shards" in gauge.explain("kinds")
    again = sg.connect(tmp_path, engine="local", shards=7)
    assert (again.home.shards, home_after(again.home, told.index(shards[0]) + 1).shards) == (
        FROM,
        shards[0],
    )


def test_a_rescaled_home_is_whole_and_can_be_mended(
    source: Path, never: sg.Gauge, tmp_path: Path
) -> None:
    gauge = life(tmp_path, source, TO)
    home = gauge.home
    assert not check_home(home.root).findings
    newest = home.committed()
    answers = next(p for p in given_files(home, BEFORE + 1))
    state = home.root / read_commit(home, newest)["shards"][TO - 1]["state"][-1]
    for damaged in ((answers, state), (home.commit(newest),), (home.commit(BEFORE),)):
        for path in damaged:
            path.write_bytes(b"damaged")
        report = check_home(home.root, repair=True)
        assert [finding.repaired for finding in report.findings] == [True] * len(damaged)
        assert not check_home(home.root).findings
    same_answers(canonical(gauge.answers()), canonical(never.answers()))
    assert gauge.latest() == never.latest()


def given_files(home: Home, epoch: int) -> list[Path]:
    return [home.root / name for r in read_commit(home, epoch)["shards"] for name in r["files"]]


def test_a_home_of_the_first_format_is_rescaled_as_well(
    source: Path, never: sg.Gauge, tmp_path: Path
) -> None:
    write_json(tmp_path / "gauge.json", {"format": BY_TEXT, "shards": FROM})
    gauge = life(tmp_path, source, 3, 2)
    assert gauge.home.form == BY_TEXT
    same_answers(canonical(gauge.answers()), canonical(never.answers()))


@pytest.mark.parametrize("shards", [0, -1, 4097, True, 2.0])
def test_numbers_that_cannot_be_are_refused(shards: int, tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path, engine="local", shards=1)
    with pytest.raises(BindError, match=r"a number from 1 to 4096 is needed"):
        gauge.rescale(shards)
    assert not inbox.names(gauge.home)
