"""A crash at every step between landing and commit: after a restart, the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.engine import commit as commit_module
from streamgauge.engine import lander as lander_module
from streamgauge.engine import local as local_module
from streamgauge.engine import shard as shard_module
from streamgauge.engine import state_files
from streamgauge.engine.lander import Lander
from streamgauge.log import inbox
from streamgauge.log.journal import Journal
from streamgauge.results.change_log import as_answers, epochs_after
from streamgauge.sources.plant import Plant, PlantWriter
from tests.crashing import Killed, dying

pytestmark = pytest.mark.slow

BROKEN = "2026-01-01T00:00:30Z,a,much\n"


def files(directory: Path) -> Path:
    """Files that are used in place, and files of text, with rows that are none, that are landed."""
    writer = PlantWriter(Plant(n_sensors=20, seed=5), str(directory / "plant"))
    for _ in range(6):
        writer.write(30)
    (directory / "text").mkdir()
    for minute in range(5):
        rows = [f"2026-01-01T00:{minute:02d}:{n:02d}Z,a,{n}" for n in range(60)]
        lines = "\n".join(["ts,series,value", *rows]) + "\n"
        (directory / "text" / f"{minute}.csv").write_text(lines + BROKEN)
    return directory


def gauge_on(home: Path, source: Path) -> sg.Gauge:
    gauge = sg.connect(home, engine="local", shards=2, max_rows=600)
    gauge.stream("plant", source=sg.files(source / "plant"), time="ts", key="series")
    schema = sg.Schema.of(ts="time", series="string", value="float")
    text = sg.files(source / "text", "csv")
    gauge.stream("text", text, time="ts", key="series", schema=schema)
    if not gauge._expected.queries:
        gauge.register(
            sg.Query("mean", "plant", sg.avg("value"), window=sg.Latest(), answer=sg.every("5 s")),
            sg.Query(
                "by",
                "plant",
                sg.var("value"),
                window=sg.Range("30 s", "10 s"),
                group_by="site",
                answer=sg.on_close(),
            ),
            sg.Query("told", "text", sg.total("value"), window=sg.Latest(), answer=sg.every("5 s")),
        )
    return gauge


def life(home: Path, source: Path) -> list[str]:
    """Everything that was answered, from a gauge that runs to the end."""
    gauge = gauge_on(home, source)
    while gauge.step():
        pass
    gauge.stop()
    letters = gauge.dead_letters("text").to_pylist()
    told = [repr(answer) for answer in as_answers(gauge.answers())]
    return told + [f"{letter['origin']} {letter['reason']}" for letter in letters]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return files(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    found = life(tmp_path_factory.mktemp("undisturbed") / "home", source)
    assert sum("much" in line for line in found) == 5
    assert sum("query='told'" in line for line in found) > 20
    return found


POINTS = {
    "a control record is half written": (inbox, "write_json"),
    "dead letters are written": (lander_module, "bury"),
    "a file of rows is made": (lander_module, "write_parquet"),
    "a page is written": (Journal, "append"),
    "a snapshot is written": (Lander, "_write_snapshot"),
    "the inbox is cleared": (lander_module.inbox, "remove"),
    "a shard ran": (local_module.shard, "run"),
    "state is written": (state_files, "write_whole"),
    "answers are written": (shard_module, "write_block"),
    "an epoch is committed": (local_module, "commit"),
    "a commit is put": (commit_module, "put_json"),
    "old state is removed": (commit_module, "_forget_state"),
    "lost attempts are removed": (commit_module, "_forget_attempts"),
}
SENT = POINTS | {"packets are made": (local_module, "scan")}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("call", [1, pytest.param(2, marks=pytest.mark.nightly), 3])
def test_killed_and_started_again(
    point: str,
    call: int,
    after: bool,
    source: Path,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where, name = POINTS[point]
    monkeypatch.setattr(lander_module, "SNAPSHOT_EVERY", 2)
    monkeypatch.setattr(where, name, dying(getattr(where, name), call, after=after))
    with pytest.raises(Killed):
        life(tmp_path, source)
    monkeypatch.undo()
    shard_module._RUNNING.clear()
    assert life(tmp_path, source) == expected


def test_answers_of_an_epoch_that_is_not_committed_are_not_seen(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gauge = gauge_on(tmp_path / "home", source)
    while gauge.answers().num_rows == 0:
        assert gauge.step()
    seen, epoch = gauge.answers(), gauge.home.committed()
    monkeypatch.setattr(local_module, "commit", dying(local_module.commit, 1, after=False))
    with pytest.raises(Killed):
        gauge.step()
    shard_module._RUNNING.clear()
    assert list(gauge.home.answers(epoch + 1, 0).parent.glob("*.arrow"))
    assert gauge.answers().equals(seen)
    assert gauge.answers(since_epoch=epoch).num_rows == 0
    # Whoever follows goes by this, and would take the epoch for done.
    assert epochs_after(gauge.home, epoch) == []


def test_a_half_written_file_is_never_seen(
    source: Path, expected: list[str], tmp_path: Path
) -> None:
    for directory in ("control", "journal", "commits", "registry"):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / ".000000000009.json.abc.tmp").write_text('{"number": 9')
    assert life(tmp_path, source) == expected
