"""Promising selections: without a limit the ordinary ones, with one a true part of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamgauge.engine.latest import latest_rows
from streamgauge.streams.schema import Schema
from tests.engine.promising import asked, changes, growing, held, pages_of, ran
from tests.engine.stage import Stage, at, rows_of
from tests.kit.feeds import splits
from tests.kit.rows import tuples_of
from tests.oracles.reference import Row

pytestmark = pytest.mark.slow

SELECTIONS = (
    ("SELECT ISTREAM(k, x) FROM meters [ROWS UNBOUNDED] WHERE x > 0", "x"),
    ("SELECT ISTREAM(k, n) FROM meters [ROWS UNBOUNDED] WHERE k = 'a' AND n > 0", "k"),
    ("SELECT k, x + 1 AS more FROM meters [RANGE 5 SECONDS] WHERE x >= 0 AND n < 2", "x"),
    ("SELECT ISTREAM(k, n) FROM meters [RANGE 6 SECONDS SLIDE 2 SECONDS] WHERE n > 0", "n"),
    ("SELECT k, n FROM meters [ROWS UNBOUNDED] WHERE n = 1 OR k = 'b'", "k"),
)
ORDERS = ("ASC", "DESC", "WEIGHTED")
quick = settings(max_examples=6, suppress_health_check=list(HealthCheck), deadline=None)


@quick
@given(st.data(), st.integers(1, 3), st.booleans())
def test_without_a_limit_they_are_the_ordinary_ones(
    data: st.DataObject, shards: int, forget: bool
) -> None:
    feed = data.draw(growing())
    split = data.draw(splits(feed))
    when = data.draw(st.sampled_from(("", "EVERY 2 SECONDS")))
    texts = {}
    for number, (text, name) in enumerate(SELECTIONS):
        texts[f"plain{number}"] = f"{text} {when}"
        texts[f"free{number}"] = f"{text} {when} WITH PREFERENCE DESC COUNT({name})"
    with TemporaryDirectory() as folder:
        pages = pages_of(feed, split, asked(feed, **texts))
        home = ran(Path(folder) / "home", feed, pages, shards=shards, forget=forget)
        for number, (text, _) in enumerate(SELECTIONS):
            plain, free = f"plain{number}", f"free{number}"
            assert changes(home, free) == changes(home, plain), text
            if "ISTREAM" not in text:
                rows = [Counter(tuples_of(latest_rows(home, name))) for name in (plain, free)]
                assert rows[0] == rows[1], text


@quick
@given(st.data(), st.integers(1, 3), st.booleans(), st.booleans())
def test_those_that_begin_later_are_the_ordinary_ones(
    data: st.DataObject, shards: int, forget: bool, from_now: bool
) -> None:
    feed = data.draw(growing())
    split = data.draw(splits(feed))
    born = data.draw(st.integers(0, len(split) - 1))
    texts, start = {}, "FROM NOW" if from_now else "WITH HISTORY"
    # Those given as they come begin with what comes: nothing is filled.
    windows = [
        pair for pair in SELECTIONS if "ISTREAM" not in pair[0] or "UNBOUNDED" not in pair[0]
    ]
    for number, (text, name) in enumerate(windows):
        texts[f"plain{number}"] = f"{text} {start}"
        texts[f"free{number}"] = f"{text} {start} WITH PREFERENCE DESC COUNT({name})"
    with TemporaryDirectory() as folder:
        pages = pages_of(feed, split, asked(feed, **texts), born)
        home = ran(Path(folder) / "home", feed, pages, shards=shards, forget=forget)
        for number, (text, _) in enumerate(windows):
            assert changes(home, f"free{number}") == changes(home, f"plain{number}"), text


@quick
@given(st.data(), st.integers(1, 3), st.integers(1, 2))
def test_under_a_budget_rows_are_true_whatever_the_pages_and_shards(
    data: st.DataObject, shards: int, probes: int
) -> None:
    feed = data.draw(growing())
    texts = {}
    for number, (text, name) in enumerate(SELECTIONS):
        order = data.draw(st.sampled_from(ORDERS))
        texts[f"plain{number}"] = text
        texts[f"tight{number}"] = (
            f"{text} WITH PREFERENCE {order} COUNT({name}) BUDGET PROBES {probes}"
        )
    queries = asked(feed, **texts)
    one, other = data.draw(splits(feed)), data.draw(splits(feed))
    with TemporaryDirectory() as folder:
        home = ran(Path(folder) / "one", feed, pages_of(feed, one, queries))
        again = ran(
            Path(folder) / "two", feed, pages_of(feed, other, queries), shards=shards, forget=True
        )
        for number, (text, _) in enumerate(SELECTIONS):
            found, exact = changes(home, f"tight{number}"), changes(home, f"plain{number}")
            assert changes(again, f"tight{number}") == found, text
            assert all(0.0 <= change[3] <= 1.0 for change in found)
            for at in {change[0] for change in found}:
                there = held(exact, at)
                assert all(there[row] >= n > 0 for row, n in held(found, at).items()), text


TICKS = Schema.of(price="float", ts="time", size="int")
DEAR = "FROM ticks [RANGE 4 SECONDS] WHERE price > 60 AND size > 1"
NEW = "FROM ticks [ROWS UNBOUNDED] WHERE price > 60 AND size > 1"


def prices(seconds: int, each: int, start: int = 0) -> list[Row]:
    """So many rows a second, of values that do not repeat soon."""
    return rows_of(
        "price size",
        *(
            (start + k / each + 0.001, float((k * k) % 101), (3 * k) % 5)
            for k in range(seconds * each)
        ),
    )


def market(root: Path, shards: int) -> Stage:
    """A stream with a summary of its prices."""
    stage = Stage(root, shards)
    stage.stream("ticks", TICKS)
    stage.gauge.sql(
        "CREATE SUMMARY prices ON ticks(price) WITH GRANULARITY 3 SECONDS AND COLLAPSE(2, 2)"
    )
    return stage


@pytest.mark.parametrize("shards", [1, 2])
def test_an_overload_comes_and_goes(tmp_path: Path, shards: int) -> None:
    stage = market(tmp_path, shards)
    liked = "WITH PREFERENCE DESC COUNT(price) BUDGET PROBES 12"
    for name, text in (("new", f"SELECT ISTREAM(*) {NEW}"), ("dear", f"SELECT * {DEAR}")):
        stage.gauge.sql(text, name=name)
        stage.gauge.sql(f"{text} {liked}", name=f"tight_{name}")
    stage.pages_of(5, ticks=[*prices(4, 6), *prices(4, 60, 4), *prices(12, 6, 8)])
    stage.advance(26)
    for name in ("new", "dear"):
        plain, tight = stage.changes(name), stage.changes(f"tight_{name}")
        came, found = (sum(n for n in each.values() if n > 0) for each in (plain, tight))
        # Rows with prices that cannot pass are never looked at.
        assert 0.5 * came < found < came
        told = stage.gauge.row_changes(f"tight_{name}")
        assert min(told["regions_share"].to_pylist()) < 1.0
        assert max(told["rows_unseen"].to_pylist()) > 1.0
        late = at(16)
        assert {k: n for k, n in plain.items() if k[0] > late} == {
            k: n for k, n in tight.items() if k[0] > late
        }
    assert sum(stage.changes("tight_dear").values()) == 0
    # No row is reported twice.
    assert set(stage.changes("tight_new").values()) == {1}


def test_pausing_altering_and_dropping(tmp_path: Path) -> None:
    stage = market(tmp_path, 2)
    liked = "WITH PREFERENCE DESC COUNT(price) BUDGET PROBES 8"
    for name in ("tight", "steady"):
        stage.gauge.sql(f"SELECT * {DEAR} {liked}", name=name)
    stage.page(ticks=prices(4, 30))
    stage.gauge.pause("tight")
    stage.page(ticks=prices(4, 30, 4))
    assert max(when for when, _ in stage.changes("tight")) <= at(4)
    stage.gauge.resume("tight")
    stage.page(ticks=prices(4, 30, 8))
    assert stage.held("tight") == stage.held("steady")
    stage.gauge.sql(f"ALTER QUERY tight AS SELECT * {DEAR} BUDGET PROBES 10000")
    stage.gauge.sql(f"SELECT * {DEAR}", name="plain")
    stage.page(ticks=prices(4, 30, 12))
    assert stage.held("tight") == stage.held("plain")
    assert stage.held("steady") <= stage.held("plain")
    stage.gauge.drop("tight", "steady")
    stage.page(ticks=prices(1, 30, 16))
    assert list(stage.gauge.registry().queries) == ["plain"]
