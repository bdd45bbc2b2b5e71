"""Lanes: what a stream has reached is what its slowest partition has, and every page remembers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamgauge as sg
from streamgauge.engine import lander as landing
from streamgauge.engine.lander import Lander
from streamgauge.engine.lanes import NO_PEAK, Lanes
from streamgauge.kernel.files import write_json
from streamgauge.kernel.time import SECOND, duration
from streamgauge.log import inbox
from streamgauge.log.batches import DEAD, Batch, batch_numbers, folder, newest_batch, put_batch
from streamgauge.log.compaction import compacted, open_segment
from streamgauge.log.dead_letters import dead_letters
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page
from streamgauge.log.segments import write_parquet
from streamgauge.sources.rejects import Rejects
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

pytestmark = pytest.mark.slow

IDLE = duration("1 minute")


class Topic:
    """A home with a stream from Kafka, batches that are put into it, and a clock."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch, max_rows: int = 1000) -> None:
        self.home = Home.open(place, shards=1)
        self.max_rows = max_rows
        self.now = 1_000 * SECOND
        monkeypatch.setattr(landing.time, "time_ns", lambda: self.now * 1000)
        columns = Schema.of(ts="time", v="float")
        source = sg.kafka("127.0.0.1:9092", "t").as_pairs()
        self.stream = Stream("s", columns, "ts", (), source, future=None)
        inbox.submit(self.home, {"do": "stream", "stream": self.stream.as_dict()})
        self.lander = Lander(self.home, max_rows=max_rows)
        self.batches = 0
        self.page()

    def put(self, **lanes: list[int]) -> None:
        """A batch with the times of the rows of some lanes: p0=[1, 2]."""
        parts, files = {}, {}
        for lane, seconds in lanes.items():
            times = pa.array([s * SECOND for s in seconds], pa.timestamp("us", tz="UTC"))
            part = self.home.root / f"{lane}.parquet"
            write_parquet(part, pa.table({"ts": times, "v": [1.0] * len(seconds)}))
            parts[part], files[f"{lane}.parquet"] = f"{lane}.parquet", f"t-{lane[1:]}"
        batch = Batch(self.batches, "t", {0: self.batches}, files)
        put_batch(self.home.incoming("s"), batch, parts)
        self.batches += 1

    def page(self) -> Page:
        """Land what is there; the newest page."""
        return Journal(self.home).page(self.lander.land())

    def again(self) -> None:
        """Start anew, from what is on disk."""
        self.lander = Lander(self.home, max_rows=self.max_rows)


@pytest.fixture
def topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Topic:
    return Topic(tmp_path, monkeypatch)


def test_the_slowest_lane_says_what_is_reached(topic: Topic) -> None:
    topic.put(p0=[10, 100], p1=[5, 20])
    page = topic.page()
    assert page.peaks["s"] == 20 * SECOND
    assert [segment.peak for segment in page.segments] == [NO_PEAK, NO_PEAK]
    assert page.reach("s") == 100 * SECOND
    topic.put(p1=[21, 90])
    page = topic.page()
    assert page.segments[0].peak == 20 * SECOND
    assert page.peaks["s"] == 90 * SECOND


def test_a_silent_lane_is_waited_for_and_then_left(topic: Topic) -> None:
    topic.put(p0=[10], p1=[5])
    topic.page()
    topic.now += IDLE
    topic.put(p0=[50])
    assert topic.page().peaks["s"] == 5 * SECOND
    topic.now += 1
    topic.put(p0=[60])
    assert topic.page().peaks["s"] == 60 * SECOND
    topic.put(p1=[6])
    page = topic.page()
    assert page.peaks["s"] == 60 * SECOND, "what was reached does not fall"
    assert page.segments[0].peak == 60 * SECOND


def test_after_a_long_stop_no_lane_is_idle_that_has_rows_waiting(topic: Topic) -> None:
    topic.put(p0=[10], p1=[5])
    topic.page()
    topic.now += 100 * IDLE
    topic.again()
    topic.put(p0=[500], p1=[6])
    page = topic.page()
    assert [segment.peak for segment in page.segments] == [5 * SECOND, 5 * SECOND]
    assert page.peaks["s"] == 6 * SECOND


def test_a_batch_that_is_cut_holds_back_until_all_of_it_has_landed(tmp_path, monkeypatch) -> None:
    topic = Topic(tmp_path, monkeypatch, max_rows=2)
    topic.put(p0=[1, 100], p1=[2, 3], p2=[4, 50])
    peaks = []
    for _ in range(3):
        topic.now += 2 * IDLE
        page = topic.page()
        topic.again()
        assert len(page.segments) == 1
        peaks.append(page.peaks.get("s"))
    assert peaks == [None, None, 3 * SECOND]
    assert topic.page().number == page.number


def test_dead_letters_of_a_batch_are_buried_once(topic: Topic) -> None:
    part = topic.home.root / "letters.parquet"
    write_parquet(part, Rejects.of("kafka:t-0", [(7, "malformed", "junk")]).rows)
    batch = Batch(0, "t", {0: 8}, {}, ("00000.parquet",))
    put_batch(topic.home.incoming("s"), batch, {part: f"{DEAD}/00000.parquet"})
    topic.batches = 1
    page = topic.page()
    assert (page.dead, page.segments) == (1, ())
    assert page.unusable == {"s": [[-(2**60), 1]]}
    topic.again()
    topic.put(p0=[1])
    assert topic.page().dead == 0
    assert dead_letters(topic.home, "s")["origin"].to_pylist() == ["kafka:t-0:7"]


def test_a_batch_half_put_is_not_seen(topic: Topic) -> None:
    before = topic.page().number
    building = topic.home.incoming("s") / "_000000000000"
    building.mkdir(parents=True)
    (building / "p0.parquet").touch()
    assert topic.page().number == before
    topic.put(p0=[3])
    assert not building.exists()
    assert folder(topic.home.incoming("s"), 0).is_dir()
    assert topic.page().peaks["s"] == 3 * SECOND


TIMES = st.lists(st.integers(0, 100), min_size=1, max_size=4).map(sorted)
BATCHES = st.lists(
    st.dictionaries(st.sampled_from(["p0", "p1", "p2"]), TIMES, min_size=1), min_size=1, max_size=5
)


@given(batches=BATCHES, restarts=st.sets(st.integers(0, 4)))
def test_a_restart_changes_no_page(tmp_path_factory, batches, restarts) -> None:
    def pages(stops: set[int]) -> list[tuple[dict, list[int]]]:
        with pytest.MonkeyPatch.context() as patch:
            topic = Topic(tmp_path_factory.mktemp("home"), patch)
            found = []
            for number, lanes in enumerate(batches):
                if number in stops:
                    topic.again()
                topic.now += IDLE // 2
                topic.put(**lanes)
                page = topic.page()
                found.append((page.as_dict()["lanes"], page.peaks, [s.peak for s in page.segments]))
            return found

    assert pages(restarts) == pages(set())


def test_lanes_of_old_pages_are_absent() -> None:
    old = Page(1, 0, (), (), {"s": 5}, {}, ()).as_dict()
    assert "lanes" not in old
    assert Page.from_dict(old).reach("s") == 5
    assert Page.from_dict(old).reach("other") is None
    assert Lanes().reached(IDLE) == NO_PEAK


def test_many_small_batches_are_put_together_and_their_folders_go(topic: Topic) -> None:
    incoming = topic.home.incoming("s")
    for second in range(100):
        topic.put(p0=[second], p1=[second])
        page = topic.page()
        topic.home.commit(page.number).parent.mkdir(exist_ok=True)
        write_json(topic.home.commit(page.number), {})
    assert topic.home.committed() == page.number
    assert compacted(topic.home, "s")
    left = batch_numbers(incoming)
    assert left[-1] == 99, "a landing goes on from the newest"
    assert len(left) < 50
    assert newest_batch(incoming) == Batch(
        99, "t", {0: 99}, {f"p{n}.parquet": f"t-{n}" for n in (0, 1)}
    )
    taken = topic.lander.taken["s"]
    assert len(taken) < 200, "what is gone is forgotten"
    topic.again()
    assert topic.page().number == page.number, "nothing lands twice"
    for segment in Journal(topic.home).page(5).segments:
        assert open_segment(segment, ())[0].metadata.num_rows >= 1
