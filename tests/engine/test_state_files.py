"""A page writes what it changes of the state; commits say which files of which attempts count."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine import shard as shard_module
from streamgauge.engine import state as wire
from streamgauge.engine import state_files as files_module
from streamgauge.engine.commit import commit
from streamgauge.engine.lander import Lander
from streamgauge.engine.local import LocalEngine
from streamgauge.engine.shard import Receipt
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import read_json, write_json
from streamgauge.kernel.time import SECOND, instant
from streamgauge.kernel.wire import Packed, pack
from streamgauge.log.commits import answer_files, files_of, state_files
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from tests.crashing import Killed, dying

pytestmark = pytest.mark.slow
NOON = instant("2026-01-31T12:00:00Z")
SUMS = "CREATE QUERY n AS SELECT k, SUM(v) FROM s [RANGE 10 SECONDS] GROUP BY k ON CHANGE"
SCHEMA = sg.Schema.of(ts="time", k="string", v="float")
BIG, MOVED, PAGES = 100_000, 1_000, 8


def bring(folder: Path, second: int, keys: np.ndarray) -> None:
    """A row of each key, at one second."""
    table = pa.table(
        {
            "ts": pa.array(
                np.full(len(keys), NOON + second * SECOND), pa.timestamp("us", tz="UTC")
            ),
            "k": [f"key-{key:06d}" for key in keys],
            "v": (keys * 7 + second) % 100 / 4,
        }
    )
    pq.write_table(table, folder / f"{second:04d}.parquet")


def asked(root: Path, *, shards: int = 1) -> sg.Gauge:
    """A data directory with one query over groups."""
    (root / "in").mkdir(parents=True)
    gauge = sg.connect(root / "home", engine="local", shards=shards, max_rows=1_000_000)
    gauge.stream("s", sg.files(root / "in"), time="ts", key="k", schema=SCHEMA)
    gauge.sql(SUMS)
    return gauge


def grown(root: Path, n_groups: int, moved: int, pages: int, *, shards: int = 1) -> sg.Gauge:
    """All groups in one page, then some random ones of them in each."""
    gauge, dice = asked(root, shards=shards), np.random.default_rng(7)
    bring(root / "in", 0, np.arange(n_groups))
    gauge.step()
    for page in range(1, pages):
        bring(root / "in", page, dice.choice(n_groups, moved, replace=False))
        gauge.step()
    return gauge


def whole(home: Home, shard: int = 0) -> bytes:
    """The state after the newest commit, as one file would have it."""
    return pack(wire.read_arrays(home, home.committed(), shard))


def there(home: Home, part: str) -> set[str]:
    return {home.file_of(path) for path in (home.root / part).rglob("*") if path.is_file()}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """State of a few groups is stored as that of many is."""
    monkeypatch.setattr(files_module, "SMALL", 1 << 10)
    monkeypatch.setattr(files_module, "LEAST", 1 << 12)


def test_a_page_writes_what_it_changes_of_a_large_state(tmp_path: Path) -> None:
    home, written = grown(tmp_path, BIG, MOVED, PAGES).home, []
    for epoch in range(4, home.committed() + 1):
        record = read_json(home.commit(epoch))
        (receipt,) = record["shards"]
        assert record["state_bytes"] > 100_000_000
        path = home.root / receipt["state"][-1]
        assert receipt["state_written"] == path.stat().st_size
        written.append(receipt["state_written"])
    assert len(written) == 5
    assert max(written) < 1_500_000
    total = sum((home.root / name).stat().st_size for name in there(home, "state"))
    assert total < 3 * record["state_bytes"]
    shard_module.forget(home)
    running = wire.loaded(home, home.committed(), 0)[0]
    assert wire.to_bytes(running, 0, 1) == whole(home)


def test_small_state_is_one_file(tmp_path: Path) -> None:
    home = grown(tmp_path, 50, 10, 6).home
    (path,) = state_files(home, home.committed(), 0)
    assert path.read_bytes() == whole(home)
    assert wire.from_bytes(path.read_bytes(), 0, 1).epoch == home.committed()


@pytest.mark.usefixtures("small")
def test_reading_follows_the_size_of_the_state(tmp_path: Path) -> None:
    """However many pages there were, few files have the state, and they are few bytes."""
    gauge, dice = asked(tmp_path), np.random.default_rng(3)
    home, wholes, most = gauge.home, 0, 0
    for page in range(120):
        bring(tmp_path / "in", page, np.arange(400) if page == 0 else dice.choice(400, 3))
        gauge.step()
        files = state_files(home, home.committed(), 0)
        size = sum(path.stat().st_size for path in files)
        state = len(whole(home))
        assert size <= 3 * state + files_module.SMALL
        wholes, most = wholes + (len(files) == 1), max(most, len(files))
    assert 4 < most < 30
    assert 1 < wholes < 60
    kept = there(home, "state")
    assert len(kept) <= 2 * most, "what no replay asks for is gone"


@pytest.mark.usefixtures("small")
def test_a_process_that_has_no_memory_goes_on_with_changes(tmp_path: Path) -> None:
    homes = []
    for name, forget in (("kept", False), ("forgotten", True)):
        gauge, dice = asked(tmp_path / name), np.random.default_rng(5)
        for page in range(12):
            keys = np.arange(400) if page == 0 else dice.choice(400, 4)
            bring(tmp_path / name / "in", page, keys)
            gauge.step()
            if forget:
                shard_module.forget(gauge.home)
        homes.append(gauge.home)
    kept, forgotten = homes
    assert whole(kept) == whole(forgotten)
    told = [read_json(home.commit(home.committed()))["shards"][0] for home in homes]
    assert told[0]["state_written"] == told[1]["state_written"]
    assert len(told[0]["state"]) == len(told[1]["state"]) > 1


def landed(root: Path, *, pages: int = 4, shards: int = 1) -> Home:
    """Pages that are landed and not run."""
    gauge = asked(root, shards=shards)
    lander = Lander(gauge.home, max_rows=1_000_000)
    for page in range(pages):
        bring(root / "in", page, np.arange(400) if page == 0 else np.arange(page, 400, 37))
        lander.land()
    return gauge.home


def run_all(home: Home) -> None:
    engine = LocalEngine(home, max_rows=1_000_000)
    while engine.step():
        pass


def answers_of(home: Home) -> list[bytes]:
    """Bytes of all answers, epoch by epoch."""
    epochs = range(1, home.committed() + 1)
    return [path.read_bytes() for epoch in epochs for path in answer_files(home, epoch)]


@pytest.mark.usefixtures("small")
def test_two_attempts_at_once_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is slower than the other, which is committed and goes on; the slow one ends later."""
    plain, home = landed(tmp_path / "plain"), landed(tmp_path / "twice")
    run_all(plain)
    start = Journal(home).last() - 2
    engine = LocalEngine(home, max_rows=1_000_000)
    while home.committed() < start:
        engine.step()
    memory = shard_module._RUNNING.pop((home.path, 0))
    halfway, go_on = threading.Event(), threading.Event()
    real, slow = files_module.write_whole, []

    def write(path: Path, data: bytes) -> None:
        if threading.current_thread() in slow:
            halfway.set()
            assert go_on.wait(30)
        real(path, data)

    monkeypatch.setattr(files_module, "write_whole", write)
    receipts: list[Receipt] = []
    page = Journal(home).page(start + 1)
    thread = threading.Thread(
        target=lambda: receipts.append(
            shard_module._run(home, 0, start, page, 0.0, None, "speculative")
        )
    )
    slow.append(thread)
    thread.start()
    assert halfway.wait(30)
    shard_module._RUNNING[home.path, 0] = memory
    commit(home, start, [shard_module.run(home, 0, start, start + 1)], 0.1)
    one = answers_of(home)
    go_on.set()
    thread.join()
    # The slow attempt is done too, and another commit of its epoch changes nothing.
    commit(home, start, receipts, 0.1)
    assert receipts[0].state[-1] not in files_of(read_json(home.commit(start + 1)))
    assert answers_of(home) == one
    # Memory is that of the attempt that does not count: it is not gone on from.
    run_all(home)
    assert not [name for name in files_of(read_json(home.commit(start + 2))) if "specul" in name]
    assert answers_of(home) == answers_of(plain)
    assert whole(home) == whole(plain)
    assert not [name for name in there(home, "answers") if "speculative" in name]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["write_block", "write_state"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_what_an_attempt_that_was_killed_has_left_goes(
    name: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, home = landed(tmp_path / "plain"), landed(tmp_path / "killed")
    run_all(plain)
    with monkeypatch.context() as patch:
        patch.setattr(shard_module, name, dying(getattr(shard_module, name), 2, after=after))
        with pytest.raises(Killed):
            run_all(home)
    shard_module.forget(home)
    assert home.committed() < plain.committed()
    run_all(home)
    assert answers_of(home) == answers_of(plain)
    assert whole(home) == whole(plain)
    Lander(home, max_rows=10)
    told = [files_of(read_json(home.commit(n))) for n in range(1, home.committed() + 1)]
    listed = set().union(*told)
    assert there(home, "answers") <= listed
    assert there(home, "state") <= listed


def test_a_directory_of_an_earlier_release_is_read_and_goes_on(tmp_path: Path) -> None:
    plain, home = landed(tmp_path / "plain"), landed(tmp_path / "old")
    run_all(plain)
    engine = LocalEngine(home, max_rows=1_000_000)
    for _ in range(2):
        engine.step()
    as_before(home)
    assert answer_files(home, 2) == [home.answers(2, 0)]
    assert state_files(home, 2, 0) == [home.state(2, 0)]
    run_all(home)
    assert answers_of(home) == answers_of(plain)
    assert whole(home) == whole(plain)
    assert sg.check_home(home.root).sound
    # What was written since are changes to the state that was there.
    assert state_files(home, home.committed(), 0)[0] == home.state(2, 0)


def as_before(home: Home) -> None:
    """Files with the names that earlier releases gave them, which their commits do not list."""
    shard_module.forget(home)
    for epoch in range(1, home.committed() + 1):
        record = read_json(home.commit(epoch))
        for number, receipt in enumerate(record["shards"]):
            for name in receipt.pop("state"):
                if (home.root / name).exists():
                    (home.root / name).rename(home.state(epoch, number))
            receipt.pop("state_written")
            for name in receipt.pop("files"):
                (home.root / name).rename(home.answers(epoch, number))
        write_json(home.commit(epoch), record)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("which", [0, 1, -1])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_damaged_changes_are_refused_and_computed_again(
    which: int, damage: str, tmp_path: Path
) -> None:
    home, expected = landed(tmp_path, pages=5), landed(tmp_path / "expected", pages=5)
    run_all(expected)
    run_all(home)
    good = whole(home)
    shard_module.forget(home)
    files = state_files(home, home.committed(), 0)
    assert len(files) > 2
    path, data = files[which], files[which].read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        middle = len(data) // 2
        path.write_bytes(data[:middle] + (b"" if damage == "cut" else b"??") + data[middle + 2 :])
    bring(tmp_path / "in", 5, np.arange(9))
    with pytest.raises(StateTooOld) as caught:
        run_all(home)
    assert str(path) in caught.value.detail
    assert "check --repair" in caught.value.hint
    shard_module.forget(home)
    report = sg.check_home(home.root, repair=True)
    assert [finding.path for finding in report.findings if not finding.harmless] == [
        home.file_of(path)
    ]
    assert report.sound
    assert sg.check_home(home.root).sound
    assert pack(wire.read_arrays(home, expected.committed(), 0)) == good == whole(expected)
    bring(tmp_path / "expected" / "in", 5, np.arange(9))
    run_all(home)
    run_all(expected)
    assert answers_of(home) == answers_of(expected)


@pytest.mark.parametrize("forgetful", [False, True])
def test_no_page_writes_much_more_than_it_changes(
    forgetful: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over hundreds of pages: no page writes the whole again, and files stay few and small."""
    monkeypatch.setattr(files_module, "SMALL", 1 << 12)
    monkeypatch.setattr(files_module, "LEAST", 1 << 11)
    monkeypatch.setattr(files_module, "ROOM", 1 << 14)
    home, dice = asked(tmp_path).home, np.random.default_rng(11)
    sums, counts = dice.random((40, 2_000)), dice.integers(0, 9, 30_000)
    stored, size, first = files_module.StateFiles(), 0, ""
    most = 0
    for epoch in range(1, 301):
        sums[dice.integers(0, 40, 30), dice.integers(0, 2_000, 30)] += 1.0
        counts = np.append(counts, epoch)
        packed = Packed("shard", 5, {"epoch": epoch}, {"sums": sums, "counts": counts})
        stored = files_module.write_state(home.state(epoch, 0, "a"), home, packed, stored)
        write_json(home.commit(epoch), {"shards": [{"state": stored.names}]})
        size, first = sums.nbytes + counts.nbytes, first or stored.names[0]
        assert stored.nbytes >= size
        if epoch > 1:
            # Thirty blocks and the last one, each 256 bytes, and again as many as there is room.
            assert stored.sizes[-1] < 31 * 256 + (1 << 14) + 2_000
        assert sum(stored.sizes) < 4 * size
        most = max(most, len(stored.names))
        if epoch % 23 == 0:
            back, found = files_module.read_packed(
                home, epoch, 0, kind="shard", version=5, remember=forgetful
            )
            assert pack(back) == pack(packed)
            stored = found if forgetful else stored
    assert first not in stored.names, "all that the whole had is in later files"
    assert most < (4 * size) >> 14
