"""What happens to deferred queries on the way, each case by hand and against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.contracts.answer import Answer
from streamgauge.engine import pieces, shard
from streamgauge.engine import state as wire
from streamgauge.engine.latest import latest_answers
from streamgauge.kernel.time import DAY, SECOND
from streamgauge.log.commits import state_files
from streamgauge.log.home import Home
from streamgauge.plan.members import Members
from streamgauge.plan.over import Over
from streamgauge.plan.query import Query
from streamgauge.results.change_log import answers, as_answers
from streamgauge.streams.stream import Late, Stream
from streamgauge.work.deferral.operator import DeferralOperator
from tests.engine.test_deferral import compare
from tests.kit.deferrals import HOLDINGS, TABLE, DeferredLife
from tests.kit.replay import run_pages, write_pages
from tests.kit.strategies import SCHEMA, START
from tests.oracles.reference import Arrival, Row, evaluate

pytestmark = pytest.mark.slow

PLANT = Stream("plant", SCHEMA, "ts", ("series",), (), keep=365 * DAY, future=None)
TIGHT = sg.Contract.absolute(0.25, confidence=0.99)
BOOKS = Members(TABLE, "symbol", ("book",), "shares")


def rows(*cells: tuple[Any, ...]) -> dict[str, tuple[Row, ...]]:
    """Rows of the plant from (second, series, x) or (second, series, x, g)."""
    named = [dict(zip(("series", "x", "g"), rest, strict=False)) for _, *rest in cells]
    found = [Row(START + round(c[0] * SECOND), n) for c, n in zip(cells, named, strict=True)]
    return {"plant": tuple(found)}


def held(*cells: tuple[str, str, float]) -> tuple[dict[str, Any], ...]:
    """Rows of the table of members from (book, symbol, shares)."""
    return tuple({"book": b, "symbol": s, "desk": 1, "shares": w} for b, s, w in cells)


def do(what: str, *about: Any) -> dict[str, Any]:
    """A control record about queries or their names."""
    if what in ("register", "alter"):
        return {"do": what, "queries": [query.as_dict() for query in about]}
    if what == "advance":
        return {"do": what, "stream": "plant", "instant": START + about[0] * SECOND}
    return {"do": what, "names": list(about)}


@dataclass
class Life:
    """Pages of the plant, run as they come; the table is stored as it is named."""

    root: Path
    stream: Stream = PLANT
    shards: int = 1
    changes: list[dict[str, Any]] = field(default_factory=list)
    pages: list[Arrival] = field(default_factory=list)
    home: Home = field(init=False)

    def __post_init__(self) -> None:
        self.home = Home.open(self.root / "home", shards=self.shards)
        self.changes.append({"do": "stream", "stream": self.stream.as_dict()})

    def table(self, *held_rows: dict[str, Any]) -> None:
        """Store the table of members anew, in the next page."""
        folder = self.root / f"table-{len(self.pages)}"
        folder.mkdir()
        record = {"name": TABLE, "schema": HOLDINGS.as_dict(), "path": "0.parquet", "origin": ""}
        page = Arrival(({"do": "table", "table": record},))
        placed = DeferredLife(self.stream, (page,), (held_rows,)).placed(folder)
        self.changes += placed.pages[0].changes

    def page(self, *changes: dict[str, Any], **found: tuple[Row, ...]) -> list[Answer]:
        """Run one page; return what it gave."""
        page = Arrival((*self.changes, *changes), found)
        self.changes = []
        self.pages.append(page)
        write_pages(self.home, (self.stream,), [page])
        run_pages(self.home, forget=len(self.pages) % 2 == 0)
        given = list(as_answers(answers(self.home, after=len(self.pages) - 1)))
        compare(as_answers(answers(self.home)), evaluate(self.pages))
        return given


def said(found: Sequence[Answer]) -> list[tuple[Any, ...]]:
    """Second, group and value of answers."""
    return [((a.as_of - START) // SECOND, *a.group, a.value) for a in found]


def walk(first: int, last: int, name: str = "a", step: float = 1.0) -> list[tuple[Any, ...]]:
    """A series that moves by a step a second."""
    return [(second, name, step * second) for second in range(first, last)]


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path)


def watched(name: str, **more: Any) -> Query:
    return Query(name, "plant", sg.total("x"), contract=TIGHT, regime="watch", **more)


def test_a_paused_query_says_nothing_and_goes_on_with_its_memory(life: Life) -> None:
    first = life.page(do("register", watched("q")), **rows(*walk(0, 4)))
    assert said(first) == [(0, 0.0), (1, 1.0), (2, 2.0)]
    assert life.page(do("pause", "q"), **rows(*walk(4, 7), (7, "a", 2.0))) == []
    # The value is where the answers stopped: nothing is owed when it goes on.
    assert life.page(do("resume", "q"), **rows((8, "a", 2.0), (9, "a", 2.0))) == []
    assert said(life.page(**rows((10, "a", 5.0), (11, "a", 5.0)))) == [(10, 5.0)]


@pytest.mark.parametrize("capacity", [None, 1000])
def test_a_paused_extreme_knows_what_happened_meanwhile(
    tmp_path: Path, capacity: int | None
) -> None:
    life = Life(tmp_path, replace(PLANT, capacity=capacity))
    top = watched("q", over=Over("max", sg.Range("20 s")))
    life.page(do("register", top), **rows((0, "a", 1.0), (1, "a", 2.0), (2, "a", 1.0)))
    assert life.page(do("pause", "q"), **rows((3, "a", 9.0), (4, "a", 1.0), (5, "a", 1.0))) == []
    found = life.page(do("resume", "q"), **rows((6, "a", 1.0), (7, "a", 1.0), (8, "a", 1.0)))
    assert {value for _, value in said(found)} == {9.0}


def test_an_altered_query_is_another_version_that_begins_anew(life: Life) -> None:
    life.page(do("register", watched("q")), **rows((0, "a", 1.0), (1, "a", 1.0), (2, "a", 1.0)))
    wide = Query("q", "plant", sg.avg("x"), contract=TIGHT, regime="watch")
    found = life.page(do("alter", wide), **rows((3, "a", 1.0), (4, "a", 1.0)))
    assert [(a.version, a.value) for a in found] == [(2, 1.0)]


def test_a_dropped_query_is_gone_and_its_name_is_free(life: Life) -> None:
    life.page(do("register", watched("q"), watched("r")), **rows(*walk(0, 3)))
    life.page(do("drop", "q"), **rows(*walk(3, 5)))
    assert {answer.query for answer in latest_answers(life.home)} == {"r"}
    found = life.page(do("register", watched("q")), **rows(*walk(5, 7)))
    assert said([a for a in found if a.query == "q"]) == [(4, 4.0), (5, 5.0)]
    life.page(do("drop", "q", "r"), **rows(*walk(7, 9)))
    assert latest_answers(life.home) == []
    again = life.page(do("register", watched("s")), **rows(*walk(9, 11)))
    # Nine ticks of the past tell what the drift is; no answer is of them.
    assert said(again)[0] == (8, 8.0)


def test_columns_that_only_a_dropped_query_grouped_by_are_let_go(life: Life) -> None:
    cells = [(s, "a", 1.0 * s, "u") for s in range(3)]
    life.page(do("register", watched("q"), watched("r", group_by=("g",))), **rows(*cells))
    life.page(do("drop", "r"), **rows((3, "a", 3.0, "u"), (4, "b", 4.0, "v")))
    late = [(s, n, 1.0 * s, g) for s in range(5, 9) for n, g in (("a", "v"), ("b", "v"))]
    found = life.page(do("register", watched("r", group_by=("g",))), **rows(*late))
    assert said([a for a in found if a.query == "r"])[:2] == [(4, "u", 3.0), (4, "v", 4.0)]


def test_a_table_that_is_read_again_moves_members_and_leaves_the_rest_alone(life: Life) -> None:
    life.table(*held(("one", "a", 1.0), ("one", "b", 1.0), ("two", "b", 2.0)))
    still = [(s, n, x) for s in range(3) for n, x in (("a", 1.0), ("b", 2.0), ("c", 4.0))]
    first = life.page(do("register", watched("q", members=BOOKS)), **rows(*still))
    assert said(first) == [(0, "one", 3.0), (0, "two", 4.0)]
    life.table(*held(("one", "c", 1.0), ("two", "b", 2.0), ("three", "a", 1.0)))
    more = [(s, n, x) for s in range(3, 6) for n, x in (("a", 1.0), ("b", 2.0), ("c", 4.0))]
    assert said(life.page(**rows(*more))) == [(2, "one", 4.0), (2, "three", 1.0)]
    life.table(*held(("two", "b", 2.0)))
    life.page(**rows((6, "b", 2.0)))
    assert [answer.group for answer in latest_answers(life.home)] == [("two",)]


def test_members_without_a_value_cost_coverage(life: Life) -> None:
    life.table(*held(("one", "a", 1.0), ("one", "absent", 1.0)))
    found = life.page(
        do("register", watched("q", members=BOOKS)), **rows((0, "a", 1.0), (1, "a", 1.0))
    )
    assert [(a.value, a.coverage, a.contract_met) for a in found] == [(1.0, 0.5, False)]


@pytest.mark.parametrize("regime", ["watch", "timer"])
def test_an_extreme_that_is_asked_later_knows_the_past(life: Life, regime: str) -> None:
    """Of a query beside it, or of the first one over its column; what it knows is its coverage."""
    cells = [(0, "a", 9.0), *((s, "a", 1.0) for s in range(1, 10))]
    life.page(do("register", watched("q")), **rows(*cells))
    over = Over("max", sg.Range("20 s"))
    owed = sg.Contract.absolute(0.25, confidence=0.9)
    peak = Query("peak", "plant", sg.total("x"), contract=owed, regime=regime, over=over)
    since = Over("max", sg.Landmark(START + 5 * SECOND))
    later = Query("later", "plant", sg.total("x"), contract=owed, regime=regime, over=since)
    found = life.page(do("register", peak, later), **rows((10, "a", 1.0), (11, "a", 1.0)))
    first = {answer.query: answer for answer in reversed(found)}
    assert (first["peak"].value, first["later"].value) == (9.0, 1.0)
    assert first["peak"].coverage == pytest.approx(0.5)
    gone = [(s, "a", 1.0) for s in range(12, 30)]
    full = [a for a in life.page(**rows(*gone)) if a.query == "peak"]
    assert (full[-1].value, full[-1].coverage) == (1.0, 1.0)


def test_an_extreme_by_timer_is_looked_at_when_its_peak_leaves(life: Life) -> None:
    """However long it would wait otherwise: what hardly moves is not expected to pass it."""
    noise = [(s, "a", 9.0 if s == 100 else 1.0 + s % 3 / 10) for s in range(105)]
    life.page(do("register", watched("q")), **rows(*noise))
    owed, over = sg.Contract.absolute(2.0, confidence=0.5), Over("max", sg.Range("40 s"))
    peak = Query("peak", "plant", sg.total("x"), contract=owed, regime="timer", over=over)
    calm = [(s, "a", 1.0 + s % 3 / 10) for s in range(105, 200)]
    found = said([a for a in life.page(do("register", peak), **rows(*calm)) if a.query == "peak"])
    assert next(second for second, value in found if value < 9.0) == 140


@pytest.mark.parametrize(("history", "peak"), [(True, 9.0), (False, 5.0)])
def test_a_key_that_comes_later_knows_the_past(life: Life, history: bool, peak: float) -> None:
    """Its window is filled from the history, or holds what came since."""
    life.table(*held(("one", "a", 1.0)))
    over = Over("max", sg.Range("20 s"))
    query = watched("q", members=BOOKS, over=over, history=history)
    falling = [(s, name, 9.0 - s) for s in range(5) for name in "ab"]
    life.page(do("register", query), **rows(*falling))
    life.table(*held(("one", "a", 1.0), ("two", "b", 1.0)))
    low = [(s, name, 1.0) for s in range(5, 9) for name in "ab"]
    (found,) = [a for a in life.page(**rows(*low)) if a.group == ("two",)]
    assert found.value == peak
    assert found.coverage == pytest.approx(5 / 20)


def test_extremes_with_and_without_groups_are_filled_together(life: Life) -> None:
    cells = [(s, "a", 9.0 - s, "u") for s in range(6)]
    life.page(do("register", watched("q")), **rows(*cells))
    over = Over("max", sg.Range("20 s"))
    both = watched("all", over=over), watched("groups", over=over, group_by=("g",))
    found = life.page(do("register", *both), **rows((6, "a", 1.0, "u"), (7, "a", 1.0, "u")))
    assert {a.value for a in found if a.query != "q"} == {9.0}


@pytest.mark.parametrize("regime", ["timer", "watch"])
def test_a_cell_larger_than_a_capacity_has_its_turn(tmp_path: Path, regime: str) -> None:
    """Five members and two reads a tick: two evaluations in five ticks, and a small cell waits."""
    stream = replace(PLANT, capacity=2)
    home = Home.open(tmp_path / "home", shards=2)
    large = Query("large", "plant", sg.total("x"), contract=TIGHT, regime=regime)
    small = replace(large, name="small", series=("s0",))
    cells = [(t, f"s{n}", float((t * t) % 17 + n)) for t in range(100) for n in range(5)]
    declared = {"do": "stream", "stream": stream.as_dict()}
    pages = [Arrival((declared, do("register", large, small)), rows(*cells))]
    write_pages(home, (stream,), pages)
    run_pages(home)
    shard.forget(home)
    found = {answer.query: 0 for answer in as_answers(answers(home))}
    for answer in as_answers(answers(home)):
        found[answer.query] += 1
    assert found["large"] >= 10
    assert found["small"] >= 10
    assert 5 * found["large"] + found["small"] <= 2 * 100 + 5


def test_a_window_begins_on_shards_that_have_no_group_yet(tmp_path: Path) -> None:
    """Groups that come later are as old on every shard: their coverage is the same."""
    life = Life(tmp_path, shards=16)
    came = [(second, "a", 1.0, "first") for second in range(20)]
    life.page(do("register", watched("plain", group_by="g")), **rows(*came))
    life.page(do("register", watched("peak", group_by="g", over=Over("max", sg.Range("1 hour")))))
    later = [(30.0 + k, f"s{k}", float(k), f"g{k}") for k in range(20)]
    given = life.page(**rows(*later), **{})
    assert {answer.coverage for answer in given if answer.query == "plain"} == {1.0}


def test_state_without_pools_goes_on_with_cells_that_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three shards shared cells otherwise then; models of series stay."""
    home = Home.open(tmp_path / "home", shards=3)
    queries = [watched(f"q{n}") for n in range(9)]
    asked = do("register", *queries, watched("groups", group_by="g"))
    stream = {"do": "stream", "stream": PLANT.as_dict()}
    cells = [(n, f"s{n % 9}", float(n), f"g{n % 9}") for n in range(99)]
    pages = [Arrival((stream, asked), rows(*cells[:50])), Arrival((), rows(*cells[50:]))]
    write_pages(home, (PLANT,), pages)
    # Shards had what their number leaves of the hash, as with pools that are a multiple of them.
    monkeypatch.setattr(pieces, "pools_of", lambda _: 3 << 20)
    run_pages(home, 1)
    shard.forget(home)
    for k in range(3):
        (path,) = state_files(home, 1, k)
        state = wire.from_bytes(path.read_bytes(), k, 3)
        for piece in state.streams["plant"].pieces.values():
            assert isinstance(piece, DeferralOperator)
            piece.pools = 0
        path.write_bytes(wire.to_bytes(state, k, 3))
    monkeypatch.undo()
    run_pages(home)
    shard.forget(home)
    newest = [(answer.query, answer.group) for answer in latest_answers(home)]
    assert sorted(newest) == sorted({(q.name, ()) for q in queries} | groups_of(9))
    last = max(answer.as_of for answer in latest_answers(home))
    assert last == START + 97 * SECOND


def groups_of(n: int) -> set[tuple[str, tuple[str, ...]]]:
    return {("groups", (f"g{k}",)) for k in range(n)}


def test_a_change_after_a_group_came_fills_nothing_twice(life: Life) -> None:
    """A group that came with rows has its past; a page with any change leaves it alone."""
    over = Over("min", sg.Range("30 s"))
    query = watched("q", over=over, group_by=("g",))
    life.page(do("register", query), **rows((0, "a", 1.0, "u"), (1, "b", 5.0, "v"), (3, "a", 1.0)))
    low = [(s, "b", 6.0 + s, "v") for s in range(4, 40)]
    life.page(do("register", watched("r")), **rows(*low))
    life.page(**rows((40, "b", 0.0, "v"), (41, "b", 0.0, "v")))


def test_an_extreme_from_now_on_knows_nothing_of_the_past(life: Life) -> None:
    life.page(do("register", watched("q")), **rows((0, "a", 9.0), (1, "a", 1.0), (2, "a", 1.0)))
    over = Over("max", sg.Range("4 s"))
    now = watched("now", over=over, history=False)
    found = life.page(do("register", now), **rows(*((s, "a", 1.0) for s in range(3, 8))))
    mine = [answer for answer in found if answer.query == "now"]
    assert {answer.value for answer in mine} == {1.0}
    assert mine[0].coverage < 1.0
    assert mine[-1].coverage == 1.0


def test_a_silent_member_is_bridged_and_the_answer_says_so(tmp_path: Path) -> None:
    """With a declared gap there are beats while all are silent, and then the stream rests."""
    life = Life(tmp_path, Stream("plant", SCHEMA, "ts", ("series",), (), expected_gap=4 * SECOND,
                                 keep=365 * DAY, future=None))  # fmt: skip
    found = life.page(do("register", watched("q")), **rows(*walk(0, 9)))
    assert {answer.basis for answer in found} == {"deferral by watch"}
    silent = life.page(do("advance", 30))
    assert [answer.basis for answer in silent[1:]] == ["interrupted"] * len(silent[1:])
    assert not any(answer.contract_met for answer in silent[1:])
    widths = [answer.high - answer.low for answer in silent[1:]]
    assert widths == sorted(widths)
    asked_in_silence = life.page(do("register", watched("r")), do("advance", 50))
    assert {answer.basis for answer in asked_in_silence} == {"interrupted"}
    life.page(do("advance", 3 * 3600))
    assert life.page(do("advance", 6 * 3600)) == []
    back = life.page(**rows((6 * 3600 + 1, "a", 9.0), (6 * 3600 + 2, "a", 9.0)))
    assert {answer.basis for answer in back} == {"deferral by watch"}


def test_a_series_that_moves_takes_its_value_to_the_other_group(life: Life) -> None:
    query = watched("q", group_by=("g",))
    cells = [(s, n, 1.0, g) for s in range(3) for n, g in (("a", "u"), ("b", "u"), ("c", "v"))]
    first = life.page(do("register", query), **rows(*cells))
    assert said(first) == [(0, "u", 2.0), (0, "v", 1.0)]
    moved = life.page(**rows((3, "a", 1.0, "v"), (4, "c", 1.0, "v")))
    assert said(moved) == [(3, "u", 1.0), (3, "v", 2.0)]
    fresh = life.page(**rows((5, "d", 7.0, "w"), (6, "d", 7.0, "w")))
    assert said(fresh) == [(5, "w", 7.0)]


@pytest.mark.parametrize("late", [Late.drop(), Late.revise(60)], ids=["dropped", "folded"])
def test_a_late_row_widens_the_bar_or_is_taken(tmp_path: Path, late: Late) -> None:
    stream = Stream("plant", SCHEMA, "ts", ("series",), (), late=late, keep=365 * DAY, future=None)
    life = Life(tmp_path, stream)
    cells = [(0, "a", 1.0), (0, "b", 1.0), (5, "b", 1.0), (3, "a", 4.0), (6, "b", 1.0)]
    life.page(do("register", watched("q")), **rows(*cells, (7, "b", 1.0)))
    (newest,) = latest_answers(life.home)
    if late.policy == "revise":
        assert (newest.value, newest.charges[-1].by) == (5.0, "deferral by watch")
    else:
        assert (newest.value, newest.high) == (2.0, 5.25)
        assert (newest.charges[-1].by, newest.charges[-1].width) == ("late rows", 3.0)
        assert not newest.contract_met


def test_cells_are_told_before_any_row_has_come(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.stream("plant", sg.files(tmp_path / "in"), time="ts", key="series", schema=SCHEMA)
    gauge.register(Query("calm", "plant", sg.avg("x"), series=("a", "b"), contract=TIGHT))
    while gauge.step():
        pass
    assert gauge.deferrals().num_rows <= 1
    assert gauge.deferrals("calm")["evaluations"].to_pylist() in ([], [0])


def test_a_silence_pays_for_no_misses(tmp_path: Path) -> None:
    """One series in two is silent half of the time; of the ticks with both, a tenth is missed."""
    (tmp_path / "in").mkdir()
    lines = ["ts,series,x"]
    for tick in range(1_200):
        values = {"a": float(tick % 7)} | ({} if tick % 400 > 200 else {"b": 0.0})
        lines += [f"{START + tick * SECOND},{name},{x}" for name, x in values.items()]
    (tmp_path / "in" / "rows.csv").write_text("\n".join([*lines, ""]))
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    schema = sg.Schema.of(ts="time", series="string", x="float")
    source = sg.files(tmp_path / "in", format="csv")
    gauge.stream("plant", source, time="ts", key="series", schema=schema, expected_gap="2 s",
                 future=None)  # fmt: skip
    near = sg.Contract.absolute(1.0, confidence=0.9)
    both = ("a", "b")
    gauge.register(
        Query("calm", "plant", sg.total("x"), series=both, contract=near, regime="watch"),
        Query("truth", "plant", sg.total("x"), series=both),
    )
    while gauge.step():
        pass
    told = {name: list(as_answers(gauge.answers(name))) for name in ("calm", "truth")}
    compared = missed = place = 0
    for truth in told["truth"]:
        while place + 1 < len(told["calm"]) and told["calm"][place + 1].as_of <= truth.as_of:
            place += 1
        stands = told["calm"][place]
        if truth.basis == "exact" and stands.basis != "interrupted":
            compared += 1
            assert truth.value is not None
            missed += not stands.low <= truth.value <= stands.high
    assert compared > 400
    assert 0.08 * compared <= missed <= 0.1 * compared + 1
