"""A home that is kept small answers as one that is not, and says what is gone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine import lander as lander_module
from streamgauge.engine import upkeep as upkeep_module
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.lander import Lander
from streamgauge.engine.upkeep import NEWEST_FILES, NEWEST_PAGES, Upkeep
from streamgauge.kernel.errors import BindError, Cleared
from streamgauge.kernel.files import numbered, write_json
from streamgauge.kernel.time import SECOND
from streamgauge.log import clearing, compaction
from streamgauge.log.compaction import compacted
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.results.change_log import as_answers
from streamgauge.results.row_blocks import as_row_changes
from tests.crashing import Killed, dying

pytestmark = pytest.mark.slow

TICKS = sg.Schema.of(symbol="string", ts="time", price="float", note="string")
PAGES = 64
MORE = 12


def write_csv(folder: Path, number: int) -> None:
    """Ten rows in two seconds, some of them late, some with a null or a word of their own."""
    folder.mkdir(exist_ok=True)
    lines = ["symbol,ts,price,note"]
    for i in range(10):
        second = 60 + 2 * number + i / 5 - (3 if i == 7 else 0)
        at = f"2026-01-31T12:{int(second) // 60 % 60:02d}:{second % 60:06.3f}Z"
        price = "" if i == 4 else f"{100 + (number * 7 + i * 3) % 11}"
        lines.append(f"{'XYZ'[i % 3]},{at},{price},n{number * 10 + i}")
    (folder / f"{number:06d}.csv").write_text("\n".join(lines) + "\n")


FIRST = (
    sg.Query("mean", "ticks", sg.avg("price"), window=sg.Latest(), answer=sg.every("5 s")),
    sg.Query(
        "spread",
        "ticks",
        sg.stddev("price"),
        window=sg.Range("30 s", "10 s"),
        group_by="symbol",
        answer=sg.on_close(),
    ),
)
HISTORY = """
CREATE QUERY long AS SELECT symbol, COUNT(*), SUM(price) FROM ticks [RANGE 3 MINUTES]
GROUP BY symbol EVERY 10 SECONDS;
CREATE QUERY dear AS SELECT symbol, price, note FROM ticks [RANGE 2 MINUTES] WHERE price > 109;
"""


def gauge_on(root: Path, **more: Any) -> sg.Gauge:
    gauge = sg.connect(root / "home", engine="local", shards=2, **more)
    source = sg.files(root / "rows", format="csv")
    gauge.stream(
        "ticks", source, time="ts", key="symbol", schema=TICKS, keep="50 s", late=sg.Late.allow(2)
    )
    if "mean" not in gauge._expected.queries:
        gauge.register(*FIRST)
    return gauge


@dataclass(frozen=True)
class Life:
    """A home of many pages, each with a small landed segment, as it was when it stopped."""

    root: Path
    aside: Path
    expected: list[str]

    def again(self) -> Home:
        """Put the home back as it was, at the same place: pages name whole paths."""
        shutil.rmtree(self.root)
        shutil.copytree(self.aside, self.root)
        return Home.open(self.root / "home", shards=2)

    def go_on(self, **more: Any) -> sg.Gauge:
        """Open the home again, ask for history, bring more rows."""
        gauge = gauge_on(self.root, **more)
        gauge.sql(HISTORY)
        for number in range(PAGES, PAGES + MORE):
            write_csv(self.root / "rows", number)
            while gauge.step():
                pass
        gauge.stop()
        return gauge


def told(gauge: sg.Gauge, since: int = 0) -> list[str]:
    """All answers after an epoch, numbers and rows."""
    numbers = [repr(a) for a in as_answers(gauge.answers(since_epoch=since))]
    changes = gauge.row_changes("dear", since_epoch=since)
    return numbers + [repr(change) for change in as_row_changes(changes)]


def epoch_of(answer: str) -> int:
    found = re.search(r"epoch=(\d+)", answer)
    assert found is not None
    return int(found[1])


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """A life without any upkeep, and what it answers when it goes on."""
    root, aside = (tmp_path_factory.mktemp(name) for name in ("life", "aside"))
    (root / "rows").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lander_module, "UPKEEP_EVERY", 10**9)
        gauge = gauge_on(root)
        for number in range(PAGES):
            write_csv(root / "rows", number)
            gauge.step()
        gauge.stop()
        shutil.copytree(root, aside, dirs_exist_ok=True)
        expected = told(Life(root, aside, []).go_on())
        assert len(expected) > 100
        yield Life(root, aside, expected)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upkeep at every page, in small turns."""
    monkeypatch.setattr(lander_module, "UPKEEP_EVERY", 1)
    monkeypatch.setattr(upkeep_module, "NEWEST_PAGES", 4)
    monkeypatch.setattr(Upkeep.compact, "__kwdefaults__", {"enough": 6})
    monkeypatch.setattr(Upkeep.clear, "__kwdefaults__", {"enough": 3, "most": 7})


def total(folder: Path) -> tuple[int, int]:
    """Files and bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files)


def compact(home: Home) -> int:
    lander = Lander(home, max_rows=1000)
    return sum(lander.upkeep.compact_all(name, lander.finished(name)) for name in lander.held)


def clear(home: Home, keep: int = 0) -> int:
    lander = Lander(home, max_rows=1000, keep_answers=keep)
    gone = 0
    while turn := lander.upkeep.clear(lander.edges(), lander.snapshot_at, enough=1):
        gone += turn
    return gone


def tidy(home: Home) -> None:
    compact(home)
    clear(home)


def test_history_over_compacted_files_is_that_over_small_ones(life: Life) -> None:
    home = life.again()
    before = total(home.root / "segments")
    gone = compact(home)
    after = [total(home.root / part) for part in ("segments", "compacted")]
    assert gone > 10
    assert before[0] - after[0][0] == gone
    assert after[0][0] >= NEWEST_FILES
    assert after[1][0] == 2
    assert after[0][1] + after[1][1] < before[1]
    assert told(life.go_on()) == life.expected


def test_compacting_again_finds_nothing_to_do(life: Life) -> None:
    home = life.again()
    assert compact(home) > 0
    before = total(home.root)
    assert compact(home) == 0
    assert total(home.root) == before


def test_a_file_of_other_columns_stays_apart(life: Life) -> None:
    home = life.again()
    files = sorted(home.segments("ticks").glob("*.parquet"))
    odd = pq.read_table(files[10]).append_column("more", pa.array(range(10)))
    pq.write_table(odd, files[10])
    assert compact(home) > 0
    assert files[10].exists()
    assert len(compacted(home, "ticks")) == 2
    assert told(life.go_on()) == life.expected


def test_a_large_file_stays_as_it_is(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    home = life.again()
    files = sorted(home.segments("ticks").glob("*.parquet"))[:-NEWEST_FILES]
    largest = max(files, key=lambda path: path.stat().st_size)
    monkeypatch.setattr(upkeep_module, "SMALL_BYTES", largest.stat().st_size)
    assert compact(home) > 0
    assert largest.exists()
    assert told(life.go_on()) == life.expected


def test_what_is_cleared_is_gone_and_the_rest_is_as_it_was(life: Life) -> None:
    home = life.again()
    before = {part: total(home.root / part) for part in ("answers", "journal", "commits")}
    cleared = clear(home)
    assert cleared == home.committed() - NEWEST_PAGES == home.cleared()
    for part, (files, size) in before.items():
        assert total(home.root / part)[0] < files
        assert total(home.root / part)[1] < size
    gauge = life.go_on()
    kept = [answer for answer in life.expected if epoch_of(answer) > cleared]
    assert kept
    assert told(gauge) == kept
    assert told(gauge, since=cleared) == kept


def test_readers_say_what_is_gone(life: Life) -> None:
    home = life.again()
    cleared = clear(home)
    gauge = life.go_on()
    for read in (
        lambda: gauge.answers(since_epoch=cleared - 1),
        lambda: gauge.row_changes("dear", since_epoch=cleared - 1),
        lambda: next(gauge.subscribe(since_epoch=1, timeout=0.0)),
        lambda: registry_at(home, cleared - 1),
    ):
        with pytest.raises(Cleared, match="was cleared away") as caught:
            read()
        assert str(cleared) in caught.value.detail
    assert "mean" in gauge.registry().queries
    assert gauge.refusals() == []
    assert gauge.progress().epoch == home.committed()
    assert isinstance(gauge.sql("EXPLAIN ANALYZE mean"), str)
    known = registry_at(home, cleared)
    known.epoch = 1
    assert registry_at(home, home.committed(), known).epoch == home.committed()


def test_a_drain_does_not_wait_for_files_of_cleared_pages(life: Life) -> None:
    home = life.again()
    clear(home)
    gauge = gauge_on(life.root).start()
    assert gauge.drain(timeout=60) == home.committed()
    gauge.stop()


def test_what_a_follower_has_not_read_stays(life: Life) -> None:
    home = life.again()
    for place, name in ((5, "alerts"), (9, "sinks/lake")):
        write_json(home.root / name / "state.json", {"epoch": place, "state": {}})
    assert clearing.followers(home) == {"alerts": 5, "sinks/lake": 9}
    assert clear(home) == 5
    assert numbered(home.root / "answers", "")[0] > 5


def test_answers_are_kept_by_the_age_of_their_pages(life: Life) -> None:
    home = life.again()
    journal = Journal(home)
    age = journal.page(home.committed()).landed_at - journal.page(7).landed_at
    assert clear(home, keep=age) == 7
    assert clear(home, keep=age) == 0


def test_a_page_stays_while_a_new_query_can_ask_for_its_rows(life: Life) -> None:
    home = life.again()
    lander = Lander(home, max_rows=1000, keep_answers=0)
    edges = lander.edges()
    earlier = {name: edge - 30 * SECOND for name, edge in edges.items()}
    cleared = lander.upkeep.clear(earlier, lander.snapshot_at, enough=1)
    stayed = [n for n in numbered(home.journal, ".json") if n <= cleared]
    assert stayed
    assert len(stayed) < cleared
    assert lander.upkeep.finish(edges) == len(stayed)
    assert numbered(home.journal, ".json")[0] == cleared + 1


def test_a_page_stays_while_its_rows_are_in_the_state(life: Life) -> None:
    """A window longer than what is kept: a new view may ask for more columns of its rows."""
    home = life.again()
    gauge = gauge_on(life.root)
    gauge.sql("CREATE QUERY wide AS SELECT symbol, price FROM ticks [RANGE 1 HOUR]")
    for number in range(PAGES, PAGES + 40):
        write_csv(life.root / "rows", number)
        gauge.step()
    lander = Lander(home, max_rows=1000, keep_answers=0)
    cleared = lander.upkeep.clear(lander.edges(), lander.snapshot_at)
    stayed = [n for n in numbered(home.journal, ".json") if n <= cleared]
    assert stayed
    assert min(stayed) > PAGES - 30
    gauge.sql("CREATE QUERY wider AS SELECT symbol, price, note FROM ticks [RANGE 1 HOUR]")
    gauge.step()
    assert gauge.rows("wider").num_rows > 100
    gauge.stop()


def test_upkeep_while_the_job_runs(life: Life, eager: None) -> None:
    home = life.again()
    gauge = life.go_on(keep_answers="0 s")
    cleared = home.cleared()
    assert cleared > PAGES // 2
    assert compacted(home, "ticks")
    kept = [answer for answer in life.expected if epoch_of(answer) > cleared]
    assert kept
    assert told(gauge) == kept


def test_rows_past_what_is_kept_leave_compacted_files_too(life: Life, eager: None) -> None:
    home = life.again()
    compact(home)
    first = compacted(home, "ticks")[0]
    lander = Lander(home, max_rows=1000)
    lander.upkeep.let_go("ticks", first.high, home.committed())
    assert first.file.exists()
    lander.upkeep.let_go("ticks", first.high + 1, home.committed())
    assert not first.file.exists()
    assert compacted(home, "ticks")[:1] != [first]


POINTS = {
    "small files are read": (compaction.pq, "read_metadata"),
    "rows are put together": (compaction, "sync_directory"),
    "an index is written": (compaction, "write_json"),
    "small files go": (upkeep_module, "remove_small"),
    "an earlier snapshot is written": (Lander, "save_snapshot"),
    "what goes is said": (upkeep_module, "promise_no_longer"),
    "it goes": (clearing.shutil, "rmtree"),
    "pages go": (clearing, "_remove_letters"),
}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("point", POINTS)
def test_killed_in_the_middle_of_upkeep(
    life: Life, point: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = life.again()
    with monkeypatch.context() as patch:
        where, name = POINTS[point]
        patch.setattr(where, name, dying(getattr(where, name), 1, after=after))
        with pytest.raises(Killed):
            tidy(home)
    tidy(home)
    cleared = home.cleared()
    assert cleared == home.committed() - NEWEST_PAGES
    assert not list(home.root.rglob(".*.tmp"))
    known = {path for file in compacted(home, "ticks") for path in file.parts}
    assert not any(Path(path).exists() for path in known)
    if after:
        kept = [answer for answer in life.expected if epoch_of(answer) > cleared]
        assert told(life.go_on()) == kept


def test_answers_cannot_be_kept_for_less_than_no_time(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="less than no time"):
        sg.connect(tmp_path / "home", engine="local", keep_answers=-1)


def test_what_killed_writers_left_half_written_goes_when_the_job_starts(tmp_path: Path) -> None:
    home = Home.open(tmp_path, shards=1)
    ours = [home.journal, home.registry, home.commits]
    ours += [home.state(1, 0).parent, home.answers(1, 0).parent]
    for folder in (*ours, home.control):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".000000000001.json.ab12.tmp").touch()
    Lander(home, max_rows=10)
    left = [path.parent for path in tmp_path.rglob(".*.tmp")]
    assert left == [home.control], "others may be writing to the inbox"
