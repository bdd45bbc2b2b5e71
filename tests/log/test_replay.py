"""Replay: all rows, in order of their times, at their pace, and never one twice."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.kernel.columns import as_instants
from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.time import HOUR, SECOND
from streamgauge.log.dead_letters import dead_letters
from streamgauge.log.home import Home
from streamgauge.log.replay import ReplayWriter
from streamgauge.sources.learn import schema_of
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from tests.sources.captures import RECORDED, START, frame, ip4, pcap, recorded, udp

T0 = 1_700_000_000_000_000
COLUMNS = Schema.of(ts="time", k="string", n="int")


def _write(folder: Path, name: str, times: list[int], format: str = "parquet") -> None:
    folder.mkdir(exist_ok=True)
    rows = [
        {"ts": T0 + at * SECOND, "k": f"{name}.{format}", "n": number}
        for number, at in enumerate(times)
    ]
    path = folder / f"{name}.{format}"
    if format == "parquet":
        table = pa.Table.from_pylist(rows)
        times_column = table["ts"].cast(pa.timestamp("us", tz="UTC"))
        pq.write_table(table.set_column(0, "ts", times_column), path, row_group_size=3)
    elif format == "csv":
        lines = ["ts,k,n", *(f"{row['ts']},{row['k']},{row['n']}" for row in rows)]
        path.write_text("\n".join(lines))
    else:
        path.write_text("\n".join(json.dumps(row) for row in rows))


def _writer(home: Home, source: sg.Source, *, now: int = 0, tick: int = SECOND) -> ReplayWriter:
    stream = Stream("s", COLUMNS, "ts", ("k",), source.as_pairs(), tick=tick)
    return ReplayWriter(stream, home, now)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "home", shards=1)


def _played(home: Home) -> list[tuple[int, str, int]]:
    """Rows of all files, in the order in which the lander takes them."""
    rows: list[tuple[int, str, int]] = []
    for path in sorted(home.incoming("s").glob("replay-*.parquet")):
        table = pq.read_table(path)
        times = ((as_instants(table["ts"]) - T0) // SECOND).tolist()
        rows += zip(times, table["k"].to_pylist(), table["n"].to_pylist(), strict=True)
    return rows


def _all(writer: ReplayWriter) -> None:
    while not writer.finished:
        writer.write()


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("speed", [1.0, 20.0, "max"])
def test_rows_of_files_that_overlap_come_by_their_times(
    format: str, speed: Any, home: Home, tmp_path: Path
) -> None:
    _write(tmp_path / "data", "a", [0, 7, 3, 3, 50], format)
    _write(tmp_path / "data", "b", [3, 60, 1, 61], format)
    _all(_writer(home, sg.replay(tmp_path / "data", speed=speed)))
    a, b = f"a.{format}", f"b.{format}"
    assert _played(home) == [
        (0, a, 0), (1, b, 2), (3, a, 2), (3, a, 3), (3, b, 0), (7, a, 1), (50, a, 4), (60, b, 1),
        (61, b, 3),
    ]  # fmt: skip


def test_a_clock_that_is_moved_by_hand_sets_the_pace(home: Home, tmp_path: Path) -> None:
    _write(tmp_path / "data", "a", list(range(100)))
    writer = _writer(home, sg.replay(tmp_path / "data", speed=20))
    clock = _Clock(writer, home, steps=[0.0, 0.4, 0.6, 1.0, 3.0])
    writer.run(clock, clock=clock)  # type: ignore[arg-type]
    # Half a second is ten of event time, and a file is there when its last instant is due.
    assert clock.seen == [0, 0, 10, 20, 60]


class _Clock(threading.Event):
    """A clock that goes on when the writer waits for it, and counts the rows before."""

    def __init__(self, writer: ReplayWriter, home: Home, steps: list[float]) -> None:
        super().__init__()
        self._home, self._steps, self._now = home, steps, 0.0
        self.seen: list[int] = []

    def __call__(self) -> float:
        return self._now

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        assert 0 < timeout <= 0.5
        if self._steps and self._now == self._steps[0]:
            self._steps.pop(0)
            self.seen.append(len(_played(self._home)))
        if not self._steps:
            self.set()
            return True
        self._now = self._steps[0]
        return False


@pytest.mark.parametrize("lost", ["nothing", "place", "last file", "all files"])
def test_it_goes_on_where_it_ended(lost: str, home: Home, tmp_path: Path) -> None:
    _write(tmp_path / "data", "a", list(range(0, 90, 3)))
    source = sg.replay(tmp_path / "data", speed=10)
    _all(_writer(home, source))
    whole = _played(home)
    files = {path.name: path.read_bytes() for path in home.incoming("s").glob("*.parquet")}
    for path in home.incoming("s").iterdir():
        path.unlink()
    writer = _writer(home, source)
    for _ in range(7):
        writer.write()
    before = sorted(home.incoming("s").glob("*.parquet"))
    assert 0 < len(before) < len(files)
    if lost == "place":
        (home.incoming("s") / "_next.json").unlink()
    if lost in ("last file", "all files"):
        for path in before[-1:] if lost == "last file" else before:
            path.unlink()
    again = _writer(home, source)
    assert again.number == writer.number
    _write(tmp_path / "data", "later", [1, 2, 3])
    _all(again)
    kept = {path.name: path.read_bytes() for path in home.incoming("s").glob("*.parquet")}
    assert kept.items() <= files.items(), "the same number is the same file"
    gone = {"last file": 1, "all files": len(before)}.get(lost, 0)
    assert len(kept) == len(files) - gone
    if not gone:
        assert _played(home) == whole


def test_times_between_and_times_moved_to_now(home: Home, tmp_path: Path) -> None:
    _write(tmp_path / "data", "a", list(range(0, 60, 5)))
    now = T0 + 1000 * HOUR + 123
    source = sg.replay(
        tmp_path / "data", since=T0 + 10 * SECOND, until=T0 + 30 * SECOND, shift="now"
    )
    _all(_writer(home, source, now=now))
    first = 1000 * 3600
    assert [at for at, _, _ in _played(home)] == [first, first + 5, first + 10, first + 15]
    # A restart keeps the shift that was chosen first.
    assert _writer(home, source, now=now + HOUR).score.shift == 1000 * HOUR - 10 * SECOND


@pytest.mark.parametrize("speed", [1.0, 20.0, "max"])
def test_a_slice_that_until_cuts_is_played_to_that_instant(
    speed: Any, home: Home, tmp_path: Path
) -> None:
    _write(tmp_path / "data", "a", [0, 20, 21, 22, 25])
    source = sg.replay(tmp_path / "data", speed=speed, until=T0 + 22 * SECOND)
    # The tick is wider than the pace asks for, so no slice ends at 22 s whatever the speed.
    _all(_writer(home, source, tick=10 * SECOND))
    assert [at for at, _, _ in _played(home)] == [0, 20, 21]


def test_a_loop_goes_on_in_event_time(home: Home, tmp_path: Path) -> None:
    _write(tmp_path / "data", "a", [0, 4, 9])
    source = sg.replay(tmp_path / "data", speed=10, loop=True)
    writer = _writer(home, source)
    for _ in range(3 * writer.score.slices):
        writer.write()
        writer = _writer(home, source)
    assert not writer.finished
    assert [at for at, _, _ in _played(home)] == [0, 4, 9, 10, 14, 19, 20, 24, 29]


def test_what_cannot_be_read_is_told_and_the_rest_is_played(home: Home, tmp_path: Path) -> None:
    _write(tmp_path / "data", "a", [0, 1], "csv")
    (tmp_path / "data" / "b.csv").write_text("ts,k,n\nnever,b,1\n1700000005000000,b,2")
    (tmp_path / "data" / "c.csv").write_text("k,n\nb,1")
    _all(_writer(home, sg.replay(tmp_path / "data")))
    assert [at for at, _, _ in _played(home)] == [0, 1, 5]
    reasons = " ".join(dead_letters(home, "s")["reason"].to_pylist())
    assert "'never' is not a time" in reasons
    assert "column 'ts' is not in the header" in reasons


def test_a_file_that_is_gone_by_its_time_is_a_dead_letter(home: Home, tmp_path: Path) -> None:
    _write(tmp_path / "data", "a", [0, 1])
    _write(tmp_path / "data", "b", [100, 101])
    writer = _writer(home, sg.replay(tmp_path / "data", speed=10))
    (tmp_path / "data" / "b.parquet").unlink()
    _all(writer)
    assert len(_played(home)) == 2
    assert "cannot be replayed" in dead_letters(home, "s")["reason"].to_pylist()[0]


def test_mistakes_are_told(home: Home, tmp_path: Path) -> None:
    with pytest.raises(BindError, match="speed"):
        sg.replay(tmp_path, speed=-1)
    with pytest.raises(BindError, match="shift"):
        sg.replay(tmp_path, shift="later")
    (tmp_path / "data").mkdir()
    with pytest.raises(SourceFailure, match="cannot tell"):
        schema_of(sg.replay(tmp_path / "data"))
    with pytest.raises(SourceFailure, match="no home"):
        schema_of(sg.replay(tmp_path / "data", "s"))
    _write(tmp_path / "data", "a", [0, 1])
    with pytest.raises(BindError, match="nothing to replay"):
        _writer(home, sg.replay(tmp_path / "data", since=T0 + HOUR))
    _writer(home, sg.replay(tmp_path / "data"))
    with pytest.raises(BindError, match="something else"):
        _writer(home, sg.replay(tmp_path / "data", loop=True))
    assert _writer(home, sg.replay(tmp_path / "data", speed=7)).number == 0


def test_captures_can_be_replayed(home: Home, tmp_path: Path) -> None:
    seen = [(START + k, frame(ip4(udp(k, 53), 17))) for k in (2, 1, 3)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.pcap").write_bytes(pcap(seen))
    source = sg.replay(tmp_path / "data", speed="max")
    stream = Stream("s", schema_of(source), "ts", (), source.as_pairs())
    writer = ReplayWriter(stream, home, 0)
    path = writer.write()
    assert path is not None
    assert pq.read_table(path)["sport"].to_pylist() == [1, 2, 3]


@recorded
def test_a_recorded_month_of_ticks_comes_back_whole(home: Home) -> None:
    source = sg.replay(RECORDED / "messages_college", speed=1e6, shift="now")
    stream = Stream("s", schema_of(source), "ts", (), source.as_pairs())
    writer = ReplayWriter(stream, home, T0)
    while not writer.finished:
        writer.write()
    files = sorted(home.incoming("s").glob("replay-*.parquet"))
    played = pa.concat_tables([pq.read_table(path) for path in files])
    original = pq.read_table(RECORDED / "messages_college").sort_by("ts")
    assert len(files) > 10
    times = as_instants(played["ts"])
    assert (times[1:] >= times[:-1]).all()
    assert played["src"].cast(pa.int64()).equals(original["src"].cast(pa.int64()))
    assert times[0] // SECOND == T0 // SECOND
