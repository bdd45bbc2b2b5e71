"""Views through the real log and shards against the reference, for any split, shards, restarts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamgauge.engine import shard
from streamgauge.engine.latest import latest_rows
from streamgauge.log.home import Home
from streamgauge.operators.functions import Function, in_force
from streamgauge.plan.nodes import Node, Streamed
from streamgauge.plan.query import every, on_change
from streamgauge.plan.view import View
from streamgauge.results.row_blocks import row_changes
from streamgauge.streams.schema import Schema
from streamgauge.streams.table import Table
from tests.engine.stage import Stage, rows_of
from tests.kit.feeds import FUNCTIONS, GIVEN, ROOMS, Feed, Split, feeds, splits
from tests.kit.plans import plans
from tests.kit.replay import run_pages, write_pages
from tests.kit.rows import table_of
from tests.oracles.reference import Arrival
from tests.oracles.rows import World, answers, columns_of, relation
from tests.profile import examples

pytestmark = pytest.mark.slow

HEAD = (
    "query",
    "version",
    "epoch",
    "as_of",
    "count",
    "missing",
    "contract_met",
    "regions_share",
    "rows_unseen",
)
KINDS = ("", "istream", "dstream", "rstream")


@pytest.fixture(autouse=True, scope="module")
def functions_in_force() -> Iterator[None]:
    with in_force(given=GIVEN):
        yield


def records(feed: Feed, directory: Path) -> list[dict]:
    """Control records that declare what a feed has."""
    found: list[dict] = [{"do": "stream", "stream": s.as_dict()} for s in feed.streams]
    for function in FUNCTIONS.values():
        assert isinstance(function, Function)
        found.append({"do": "function", "function": function.as_dict()})
    for name, versions in feed.tables.items():
        path = directory / f"{name}.parquet"
        pq.write_table(table_of(versions[0].rows, ROOMS), path)
        table = Table(name, ROOMS, str(path), str(path))
        found.append({"do": "table", "table": table.as_dict()})
    return found


def history(feed: Feed, split: Split, views: list[tuple[int, View]], directory: Path) -> list:
    """Pages: declarations and views of each page, its rows, and at the end an advance."""
    pages = []
    for number, rows in enumerate(split):
        changes = records(feed, directory) if number == 0 else []
        asked = [view.as_dict() for page, view in views if page == number]
        if asked:
            changes.append({"do": "register", "queries": asked})
        pages.append(Arrival(tuple(changes), dict(rows)))
    advance = [
        {"do": "advance", "stream": stream.name, "instant": feed.end} for stream in feed.streams
    ]
    return [*pages, Arrival(tuple(advance))]


def plain(value: object) -> object:
    if hasattr(value, "timestamp"):
        return round(value.timestamp() * 1_000_000)
    return value


def given_rows(home: Home, name: str, columns: tuple[str, ...]) -> dict:
    """Counts by instant and row, as the engine gave them."""
    found: dict = {}
    for row in row_changes(home, name).to_pylist():
        names = [f"{c}_" if c in HEAD else c for c in columns]
        key = (plain(row["as_of"]), tuple(plain(row[c]) for c in names))
        found[key] = found.get(key, 0) + row["count"]
    return {key: count for key, count in found.items() if count}


def expected_rows(view: View, world: World, since: int | None) -> dict:
    closed = world.closed()
    assert closed is not None
    instants = instants_of(view, world, closed)
    found: dict = {}
    for instant, row, count in answers(view, world, instants, since):
        found[instant, row] = found.get((instant, row), 0) + count
    return found


def instants_of(view: View, world: World, closed: int) -> list[int]:
    """Instants at which a view looks: those of rows for an rstream, else all."""
    every_instant = list(world.instants(closed))
    if view.stream_kind != "rstream" or view.answer.kind == "every":
        return every_instant
    rows = {
        row.tick * history.stream.tick
        for name, history in world.histories.items()
        if name in view.streams
        for row in history.rows
    }
    return [instant for instant in every_instant if instant in rows]


def only(feed: Feed, view: View) -> Feed:
    """The feed as a view sees it: its own streams, tables in their first version."""
    streams = tuple(stream for stream in feed.streams if stream.name in view.streams)
    tables = {name: versions[:1] for name, versions in feed.tables.items()}
    rows = {stream.name: feed.rows[stream.name] for stream in streams}
    return Feed(streams, rows, tables, feed.end)


@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(1, 3), st.booleans())
def test_views_agree_with_the_reference(data: st.DataObject, shards: int, forget: bool) -> None:
    feed = data.draw(feeds())
    split = data.draw(splits(feed))
    views = []
    for number in range(2):
        plan: Node = data.draw(plans(feed))
        kind = data.draw(st.sampled_from(KINDS))
        cadence = data.draw(st.sampled_from((on_change(), every("2 s"), every("6 s"))))
        views.append(View(f"v{number}", Streamed(plan, kind) if kind else plan, answer=cadence))
    with TemporaryDirectory() as folder:
        home = Home.open(Path(folder) / "home", shards=shards)
        home.given.update(GIVEN)
        pages = history(feed, split, [(0, view) for view in views], Path(folder))
        write_pages(home, feed.streams, pages)
        run_pages(home, forget=forget)
        shard.forget(home)
        for view in views:
            world = only(feed, view).world()
            columns = columns_of(view.plan, world)
            assert given_rows(home, view.name, columns) == expected_rows(view, world, None)
            if not view.stream_kind:
                held = latest_rows(home, view.name)
                assert bag(held) == dict(relation(view.plan, world, world.closed() or 0))


@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(1, 2), st.booleans(), st.booleans())
def test_views_that_begin_later(
    data: st.DataObject, shards: int, forget: bool, with_history: bool
) -> None:
    feed = data.draw(feeds(late=False))
    split = data.draw(splits(feed))
    page = data.draw(st.integers(0, len(split) - 1))
    kind = data.draw(st.sampled_from(KINDS))
    plan: Node = data.draw(plans(feed))
    cadence = data.draw(st.sampled_from((on_change(), every("2 s"))))
    root = Streamed(plan, kind) if kind else plan
    view = View("late", root, answer=cadence, history=with_history)
    other = View("early", data.draw(plans(feed)))
    with TemporaryDirectory() as folder:
        home = Home.open(Path(folder) / "home", shards=shards)
        home.given.update(GIVEN)
        pages = history(feed, split, [(0, other), (page, view)], Path(folder))
        write_pages(home, feed.streams, pages)
        run_pages(home, forget=forget)
        shard.forget(home)
        seen = only(feed, view)
        before = World.of(*seen.streams)
        for rows in split[:page]:
            for name in seen.rows:
                before.land(name, rows.get(name, ()))
        world = seen.world()
        expected = expected_rows(view, world, before.closed())
        assert given_rows(home, view.name, columns_of(view.plan, world)) == expected


def bag(rows: pa.Table) -> dict:
    found: dict = {}
    for row in rows.to_pylist():
        key = tuple(plain(cell) for cell in row.values())
        found[key] = found.get(key, 0) + 1
    return found


def test_late_rows_are_missing_as_long_as_their_window(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.stream("s", Schema.of(ts="time", a="int"))
    stage.gauge.sql("CREATE QUERY v AS SELECT a FROM s [RANGE 10 SECONDS]")
    stage.page(s=rows_of("a", (1, 1), (6, 2), (3, 3)))
    stage.page(s=rows_of("a", (8, 4), (9, 5)))
    stage.page(s=rows_of("a", (10, 6), (30, 7), (31, 8)))
    changes = stage.gauge.row_changes("v").to_pylist()
    missing = {(row["as_of"].second, row["missing"]) for row in changes if row["count"] > 0}
    assert {n for second, n in missing if 6 < second <= 10} == {1}
    assert {n for second, n in missing if second >= 30} == {0}
