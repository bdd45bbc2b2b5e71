"""Clocks of streams: a page that only moves one changes nothing of what is registered."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.contract import Contract
from streamgauge.engine import shard
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.clocks import clock_of, closed_by
from streamgauge.engine.commit import commit
from streamgauge.engine.lander import Lander
from streamgauge.kernel.time import SECOND
from streamgauge.log.home import Home
from streamgauge.log.inbox import submit
from streamgauge.log.journal import Journal, Page
from streamgauge.operators.aggregate import avg
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.results.change_log import answers
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from tests.engine.bounded_lives import bounded_lives
from tests.kit.deferrals import DeferredLife
from tests.kit.replay import run_pages, write_pages
from tests.oracles.reference import Arrival
from tests.profile import examples

QUERIES = 5_000
COLUMNS = Schema.of(site="string", ts="time", value="float", half="float")


def _stream(folder: Path, **more: Any) -> Stream:
    source = (("format", "csv"), ("kind", "files"), ("path", str(folder)))
    return Stream("plant", COLUMNS, "ts", ("site",), source, width="half", **more)


def _asked(n: int) -> dict[str, Any]:
    owed = Contract.absolute(5.0, confidence=1.0)
    queries = [Query(f"q{i}", "plant", avg("value"), contract=owed).as_dict() for i in range(n)]
    return {"do": "register", "queries": queries}


def _advance(home: Home, second: int) -> None:
    submit(home, {"do": "advance", "stream": "plant", "instant": second * SECOND})


def _epoch(home: Home, lander: Lander) -> Page:
    number = lander.land()
    receipts = [shard.run(home, k, number - 1, number) for k in range(home.shards)]
    commit(home, number - 1, receipts, 0.0)
    return Journal(home).page(number)


def _planning(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often a shard plans what is registered, or what has changed of it."""
    count = [0]

    def counting(planned: Any) -> Any:
        def counted(*args: Any) -> Any:
            count[0] += 1
            return planned(*args)

        return counted

    for name in ("_planned", "_change_operators"):
        monkeypatch.setattr(shard, name, counting(getattr(shard, name)))
    return count


@pytest.mark.slow
def test_a_page_that_only_moves_a_clock_plans_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, home = tmp_path / "rows", Home.open(tmp_path / "home", shards=2)
    folder.mkdir()
    submit(home, {"do": "stream", "stream": _stream(folder).as_dict()})
    submit(home, _asked(QUERIES))
    (folder / "1.csv").write_text("site,ts,value,half\na,1970-01-01T00:00:01Z,7,1\n")
    lander = Lander(home, max_rows=1000)
    assert _epoch(home, lander).number == 1
    before, count = lander.registry.changed, _planning(monkeypatch)
    standing = [shard._RUNNING[home.path, k].runs["plant"].plan for k in range(2)]
    for second in range(5, 9):
        _advance(home, second)
        page = _epoch(home, lander)
        assert page.changes == ()
        assert page.peaks == {"plant": second * SECOND}
        assert page.clocks == {"plant": second * SECOND - 1}
    assert count == [0]
    assert [shard._RUNNING[home.path, k].runs["plant"].plan for k in range(2)] == standing
    assert lander.registry.changed == before == registry_at(home, page.number).changed
    # The clock is what answers: the first row is seen at tick 2, when the first advance closes it.
    assert len(answers(home)) == QUERIES
    # Any other change is planned.
    submit(home, {"do": "drop", "names": ["q0"]})
    assert [change["do"] for change in _epoch(home, lander).changes] == ["drop"]
    assert count == [2]
    shard.forget(home)


def _earlier(page: Page, arrival: Arrival) -> Page:
    """A page as an earlier release wrote it: to advance was a change, and no clock was named."""
    return replace(page, changes=arrival.changes, clocks={})


def _bytes(home: Home) -> list[bytes]:
    paths = [home.answers(n, k) for n in range(1, home.committed() + 1) for k in range(home.shards)]
    return [path.read_bytes() for path in paths if path.exists()]


def _ran_in_parts(home: Home, pages: int, restarts: Sequence[int]) -> list[bytes]:
    for stop in (*sorted(restarts), pages):
        run_pages(home, stop)
        shard.forget(home)
    return _bytes(home)


@pytest.mark.slow
@settings(max_examples=examples(10))
@given(life=bounded_lives(), data=st.data())
def test_answers_are_those_of_pages_in_which_advancing_was_a_change(
    life: DeferredLife, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        workload, shards = life.placed(root), data.draw(st.integers(1, 2))
        last = len(workload.pages)
        restarts = data.draw(st.sets(st.integers(1, last), max_size=3))
        new = Home.open(root / "new", shards=shards)
        write_pages(new, (life.stream,), workload.pages)
        found = _ran_in_parts(new, last, sorted(restarts))
        for name, cuts in (("old", sorted(restarts)), ("whole", [])):
            old, journal = Home.open(root / name, shards=shards), Journal(new)
            for number, arrival in enumerate(workload.pages, 1):
                Journal(old).append(_earlier(journal.page(number), arrival))
            assert _ran_in_parts(old, last, cuts) == found


def test_a_lander_that_starts_anew_goes_on_with_the_clock(tmp_path: Path) -> None:
    folder, home = tmp_path / "rows", Home.open(tmp_path / "home", shards=1)
    folder.mkdir()
    submit(home, {"do": "stream", "stream": _stream(folder, late=Late.allow("2 s")).as_dict()})
    _advance(home, 9)
    Lander(home, max_rows=10).land()
    again = Lander(home, max_rows=10)
    assert again.land() == 2
    assert Journal(home).page(2).clocks == {"plant": 7 * SECOND - 1}
    assert Lander(home, max_rows=10).clocks.peaks == {"plant": 9 * SECOND}
    assert Lander(home, max_rows=10).land() == 2, "it is told once"


def test_an_unknown_stream_is_advanced_to_nowhere(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", shards=1)
    _advance(home, 9)
    lander = Lander(home, max_rows=10)
    assert lander.land() == 1
    assert lander.land() == 1, "the record is in a page and does not come again"
    assert (Journal(home).page(1).changes, Journal(home).page(1).clocks) == ((), {})


@pytest.mark.parametrize(
    ("peak", "passed", "tick"),
    [(10, None, 9), (11, None, 9), (10.5, None, 10), (10, 9, 9), (10, 12, 12), (10, 12.5, 12)],
)
def test_the_tick_that_is_closed_by_pages_of_both_forms(
    tmp_path: Path, peak: float, passed: float | None, tick: int
) -> None:
    allowed = "1 s" if peak == 11 else "0 s"
    stream = replace(_stream(tmp_path), late=Late.allow(allowed) if peak == 11 else Late.drop())
    peaks = {"plant": round(peak * SECOND)}
    gone = {} if passed is None else {"plant": round(passed * SECOND)}
    old = Page(1, 0, (), (), peaks, {}, (), passed=gone)
    clock = clock_of(stream, peaks["plant"], *gone.values())
    assert (
        closed_by(old, stream) == closed_by(replace(old, clocks={"plant": clock}), stream) == tick
    )


def test_new_prices_change_no_plan() -> None:
    registry = Registry()
    registry.apply([{"do": "name", "name": "v", "text": "SELECT 1"}], epoch=1)
    before = registry.changed
    registry.apply([{"do": "costs", "costs": registry.costs.as_dict()}], epoch=2)
    assert (registry.changed, registry.epoch) == (before, 2)
