"""Promising joins: without a limit the ordinary view, with one a true part of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamgauge.engine.latest import latest_rows
from streamgauge.kernel.time import SECOND
from streamgauge.log.commits import state_files
from streamgauge.results.row_blocks import as_row_changes
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from tests.engine.promising import asked, changes, growing, held, pages_of, ran
from tests.engine.stage import Stage, at, rows_of
from tests.kit.feeds import DOORS, METERS, Feed, splits
from tests.kit.rows import tuples_of
from tests.oracles.reference import Row

pytestmark = pytest.mark.slow

PAIR = "meters [RANGE 5 SECONDS] a, doors [RANGE 8 SECONDS] b"
JOINS = (
    f"SELECT a.k, a.x, b.y FROM {PAIR} WHERE a.k = b.k",
    f"SELECT a.x, b.y FROM {PAIR} WHERE a.k = b.k AND a.n > 0 AND a.x < b.y",
    "SELECT b.n, a.x FROM meters [RANGE 6 SECONDS SLIDE 2 SECONDS] a, doors [ROWS UNBOUNDED] b "
    "WHERE a.n = b.n AND b.up",
    f"SELECT ISTREAM(a.k, a.ts, b.ts) FROM {PAIR} WHERE a.k = b.k",
    f"SELECT a.k, 1 AS one FROM {PAIR} WHERE a.x = b.n",
    "SELECT a.k, b.n, c.x FROM meters [RANGE 4 SECONDS] a, doors [RANGE 6 SECONDS] b, "
    "meters [RANGE 8 SECONDS] c WHERE a.k = b.k AND b.k = c.k",
)
ORDERS = ("ASC", "DESC", "WEIGHTED")
slow = settings(max_examples=8, suppress_health_check=list(HealthCheck), deadline=None)


def preference(text: str, order: str) -> str:
    """A preference that fits one of the joins."""
    name = next(name for name in ("k", "x", "n") if f"a.{name} = " in text)
    other = "n" if "a.x = b.n" in text else name
    third = f", COUNT(c.{name})" if " c " in text else ""
    return f"WITH PREFERENCE {order} COUNT(a.{name}), COUNT(b.{other}){third} FADE FACTOR 0.8"


@slow
@given(st.data(), st.integers(1, 3), st.booleans())
def test_without_a_limit_it_is_the_ordinary_view(
    data: st.DataObject, shards: int, forget: bool
) -> None:
    feed = data.draw(growing())
    split = data.draw(splits(feed))
    born = data.draw(st.integers(0, len(split) - 1))
    text = data.draw(st.sampled_from(JOINS))
    when = data.draw(st.sampled_from(("", "EVERY 2 SECONDS", "FROM NOW")))
    queries = asked(feed, plain=f"{text} {when}", free=f"{text} {when} {preference(text, 'DESC')}")
    with TemporaryDirectory() as folder:
        pages = pages_of(feed, split, queries, born)
        home = ran(Path(folder) / "home", feed, pages, shards=shards, forget=forget)
        assert changes(home, "free") == changes(home, "plain")
        if "ISTREAM" not in text:
            plain, free = (tuples_of(latest_rows(home, name)) for name in ("plain", "free"))
            assert Counter(free) == Counter(plain)


@slow
@given(st.data(), st.sampled_from(ORDERS), st.integers(1, 3), st.integers(1, 4))
def test_under_a_budget_rows_are_true_whatever_the_pages_and_shards(
    data: st.DataObject, order: str, shards: int, probes: int
) -> None:
    feed = data.draw(growing())
    text = data.draw(st.sampled_from([text for text in JOINS if "ISTREAM" not in text]))
    # A row of three streams takes two.
    least = 2 if " c " in text else 1
    tight = f"{text} {preference(text, order)} BUDGET PROBES {max(probes, least)}"
    queries = asked(feed, plain=text, tight=tight)
    one, other = data.draw(splits(feed)), data.draw(splits(feed))
    with TemporaryDirectory() as folder:
        home = ran(Path(folder) / "one", feed, pages_of(feed, one, queries))
        again = ran(
            Path(folder) / "two", feed, pages_of(feed, other, queries), shards=shards, forget=True
        )
        found = changes(home, "tight")
        assert changes(again, "tight") == found
        assert all(0.0 <= change[3] <= 1.0 for change in found)
        assert all(change[4] >= 0.0 for change in found)
        exact = changes(home, "plain")
        for at in {change[0] for change in found}:
            there = held(exact, at)
            assert all(there[row] >= count > 0 for row, count in held(found, at).items())
        now = Counter(tuples_of(latest_rows(home, "tight")))
        assert now == Counter(tuples_of(latest_rows(again, "tight")))


ITEMS = Schema.of(item="int", ts="time", price="float")
SOLD = (
    "SELECT a.item, a.price AS one, b.price AS two "
    "FROM here [RANGE 6 SECONDS] a, there [RANGE 6 SECONDS] b WHERE a.item = b.item"
)
LIKED = "WITH PREFERENCE DESC COUNT(a.item), COUNT(b.item) FADE FACTOR 0.9"


def sales(seconds: int, each: int, start: int = 0, step: int = 3) -> list[Row]:
    """So many rows a second, of items of which a few are common."""
    return rows_of(
        "item price",
        *(
            (start + k / each + 0.001, min((step * k) % 13, (5 * k) % 11), float(k))
            for k in range(seconds * each)
        ),
    )


def two_stores(root: Path, shards: int) -> Stage:
    """Two streams with summaries of their items."""
    stage = Stage(root, shards)
    for name in ("here", "there"):
        stage.stream(name, ITEMS)
        stage.gauge.sql(
            f"CREATE SUMMARY {name}_items ON {name}(item) "
            "WITH GRANULARITY 3 SECONDS AND COLLAPSE(2, 2)"
        )
    return stage


@pytest.mark.parametrize("shards", [1, 3])
def test_an_overload_comes_and_goes(tmp_path: Path, shards: int) -> None:
    stage = two_stores(tmp_path, shards)
    stage.gauge.sql(SOLD, name="plain")
    stage.gauge.sql(f"{SOLD} {LIKED} BUDGET PROBES 20", name="tight")
    here = [*sales(4, 4), *sales(4, 60, 4), *sales(14, 4, 8)]
    there = [*sales(4, 4, 0, 5), *sales(4, 60, 4, 5), *sales(14, 4, 8, 5)]
    stage.pages_of(5, here=here, there=there)
    stage.advance(30)
    plain, tight = stage.changes("plain"), stage.changes("tight")
    came, found = (sum(n for n in each.values() if n > 0) for each in (plain, tight))
    assert 0.2 * came < found < came
    assert sum(tight.values()) == 0
    told = stage.gauge.row_changes("tight").select(["as_of", "regions_share", "rows_unseen"])
    overloaded = [row for row in told.to_pylist() if row["regions_share"] < 1.0]
    assert max(row["rows_unseen"] for row in overloaded) > 100.0
    # Everything is caught up with once there is time again.
    late = at(16)
    assert {k: n for k, n in plain.items() if k[0] > late} == {
        k: n for k, n in tight.items() if k[0] > late
    }
    (one, *_) = overloaded
    changed = next(
        change for change in as_row_changes(stage.gauge.row_changes("tight")) if change.share < 1.0
    )
    assert changed.share == one["regions_share"]
    assert "looked at" in str(changed)
    assert changed.as_dict()["unseen"] == changed.unseen


def test_pausing_altering_and_dropping(tmp_path: Path) -> None:
    stage = two_stores(tmp_path, 2)
    stage.gauge.sql(f"{SOLD} {LIKED} BUDGET PROBES 15", name="tight")
    stage.gauge.sql(f"{SOLD} {LIKED} BUDGET PROBES 15", name="steady")
    stage.page(here=sales(4, 20), there=sales(4, 20, 0, 5))
    stage.gauge.pause("tight")
    stage.page(here=sales(4, 20, 4), there=sales(4, 20, 4, 5))
    assert max(when for when, _ in stage.changes("tight")) <= at(4)
    stage.gauge.resume("tight")
    stage.page(here=sales(4, 20, 8), there=sales(4, 20, 8, 5))
    # What it holds is what one holds that was never paused.
    assert stage.held("tight") == stage.held("steady")
    stage.gauge.sql(f"ALTER QUERY tight AS {SOLD} {LIKED} BUDGET PROBES 10000")
    stage.gauge.sql(SOLD, name="plain")
    stage.page(here=sales(4, 20, 12), there=sales(4, 20, 12, 5))
    assert stage.held("tight") == stage.held("plain")
    assert stage.held("steady") <= stage.held("plain")
    stage.gauge.drop("tight", "steady")
    stage.page(here=sales(1, 20, 16), there=sales(1, 20, 16, 5))
    assert list(stage.gauge.registry().queries) == ["plain"]


def test_a_share_of_the_capacity_is_a_budget(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    for name in ("here", "there"):
        stage.stream(name, ITEMS, capacity=20)
        stage.gauge.sql(
            f"CREATE SUMMARY {name}_items ON {name}(item) "
            "WITH GRANULARITY 3 SECONDS AND COLLAPSE(2, 2)"
        )
    stage.gauge.sql(f"{SOLD} {LIKED}", name="shared")
    stage.gauge.sql(f"{SOLD} {LIKED} BUDGET PROBES 20", name="own")
    stage.page(here=sales(6, 20), there=sales(6, 20, 0, 5))
    assert stage.changes("shared") == stage.changes("own")
    assert min(stage.gauge.row_changes("shared")["regions_share"].to_pylist()) < 1.0


def test_state_is_the_same_whether_a_worker_remembers_or_reads_it(tmp_path: Path) -> None:
    here, there = sales(9, 20), sales(9, 20, 0, 5)
    meters = [
        Row(r.ts, {"k": "ab"[r.values["item"] % 2], "x": r.values["price"], "n": 1}) for r in here
    ]
    doors = [
        Row(r.ts, {"k": "ab"[r.values["item"] % 2], "n": r.values["item"], "y": 1.0, "up": True})
        for r in there
    ]
    streams = tuple(
        Stream(name, schema, "ts", ("k",), (), tick=SECOND, future=None)
        for name, schema in (("meters", METERS), ("doors", DOORS))
    )
    rows = {"meters": tuple(meters), "doors": tuple(doors)}
    feed = Feed(streams, rows, {}, at(12))
    split = tuple(
        {name: found[k * 45 : k * 45 + 45] for name, found in rows.items()} for k in range(4)
    )
    liked = "WITH PREFERENCE DESC COUNT(k) BUDGET PROBES 5"
    window = "FROM meters [RANGE 4 SECONDS] WHERE x > 10 AND k = 'a'"
    queries = asked(
        feed,
        both=f"{JOINS[0]} {preference(JOINS[0], 'DESC')} BUDGET PROBES 9",
        some=f"SELECT * {window} {liked}",
        mean=f"SELECT AVG(x) {window} EVERY 2 SECONDS {liked}",
        middle=f"SELECT MEDIAN(x) {window} EVERY 2 SECONDS {liked}",
    )
    states = []
    for forget in (False, True):
        pages = pages_of(feed, split, queries)
        home = ran(tmp_path / str(forget), feed, pages, shards=2, forget=forget)
        states.append([state_files(home, 4, shard)[0].read_bytes() for shard in range(2)])
        assert min(change[3] for change in changes(home, "both")) < 1.0
    assert states[0] == states[1]
