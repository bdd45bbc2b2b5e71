"""The dataflow of rows against the reference: at every instant, for any plan and any split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamgauge.engine.store import Store, empty_store, merged
from streamgauge.engine.stream_inputs import UNSTARTED
from streamgauge.kernel.time import SECOND
from streamgauge.operators.delta import Delta, joined
from streamgauge.operators.functions import in_force as functions_allowed
from streamgauge.plan.nodes import Node, Resampled, Scan
from streamgauge.streams.stream import Stream
from streamgauge.work.relations.dataflow import Dataflow, Folded
from streamgauge.work.relations.resample import followers, in_force
from tests.kit.feeds import FUNCTIONS, GIVEN, METERS, ROOMS, Feed, Split, feeds, splits
from tests.kit.plans import KINDS, plans
from tests.kit.rows import alike, bag_at, table_of
from tests.oracles.reference import History, Row
from tests.oracles.rows import World, relation
from tests.oracles.windows import DROPPED, Landed

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def functions_in_force() -> Iterator[None]:
    with functions_allowed(given=GIVEN):
        yield


@dataclass
class Steps:
    """A plan brought forward page by page, all rows kept."""

    feed: Feed
    directory: Path
    world: World = field(init=False)
    stores: dict[str, Store] = field(init=False)
    tables: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    held: dict[str, Folded] = field(default_factory=dict)
    prev: int = UNSTARTED

    def __post_init__(self) -> None:
        self.world = World.of(*self.feed.streams)
        self.stores = {s.name: empty_store(s, s.schema.names) for s in self.feed.streams}
        for name, versions in self.feed.tables.items():
            for number, version in enumerate(versions):
                path = self.directory / f"{name}-{number}.parquet"
                pq.write_table(table_of(version.rows, ROOMS), path)
                self.tables.setdefault(name, []).append((version.since, str(path)))

    def run(self, plan: Node, split: Split) -> Iterator[Delta]:
        """Changes of each step, without what was there before it."""
        for number, page in enumerate((*split, None)):
            for stream in self.feed.streams:
                if page is None:
                    self.world.advance(stream.name, self.feed.end)
                else:
                    self._land(stream, page.get(stream.name, ()), number)
            closed = self.world.closed()
            now = self.prev if closed is None else max(self.prev, closed)
            step = Dataflow(
                {stream.name: stream for stream in self.feed.streams},
                self.stores,
                self.tables,
                FUNCTIONS,
                self.prev,
                now,
                dict(self.held),
            )
            changes = step.changes(plan)
            yield changes if number == 0 else changes.take(changes.at > self.prev)
            self.prev, self.held = now, step.held

    def _land(self, stream: Stream, rows: tuple[Row, ...], number: int) -> None:
        history = self.world.histories[stream.name]
        before = len(history.rows)
        self.world.land(stream.name, rows)
        fresh = stored(history, history.rows[before:], number)
        self.stores[stream.name] = merged([self.stores[stream.name], fresh])


def stored(history: History, landed: list[Landed], page: int) -> Store:
    """Rows that landed, as the store keeps them."""
    stream, n = history.stream, len(landed)
    signs = [-1 if row.values.get(stream.changes or "") == "-" else 1 for row in landed]
    return Store(
        table_of([row.values for row in landed], stream.schema),
        np.array([row.ts for row in landed], np.int64),
        np.array([row.tick * stream.tick for row in landed], np.int64),
        np.array([row.fate != DROPPED for row in landed], np.bool_),
        np.array(signs, np.int64),
        np.full(n, page, np.int64),
        np.zeros(n, np.int64),
        np.array([row.arrival for row in landed], np.int64),
    )


def agree(feed: Feed, plan: Node, split: Split) -> None:
    """Compare the dataflow with the reference at every instant."""
    with TemporaryDirectory() as directory:
        parts = list(Steps(feed, Path(directory)).run(plan, split))
    whole = joined(parts, parts[0].rows.schema)
    world = feed.world()
    closed = world.closed()
    assert closed is not None
    for instant in world.instants(closed):
        expected = alike(relation(plan, world, instant))
        assert alike(bag_at(whole, instant)) == expected, f"at {instant}"


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_plan_agrees_with_the_reference_for_any_split(data: st.DataObject) -> None:
    feed = data.draw(feeds())
    plan = data.draw(plans(feed))
    agree(feed, plan, data.draw(splits(feed)))


@pytest.mark.parametrize("kind", sorted(set(KINDS)))
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_kind_of_node_agrees_with_the_reference(data: st.DataObject, kind: str) -> None:
    feed = data.draw(feeds())
    plan = data.draw(plans(feed, depth=2, kinds=(kind,)))
    agree(feed, plan, data.draw(splits(feed)))


def test_a_line_keeps_both_its_ends() -> None:
    meters = Stream("meters", METERS, "ts", ("k",), (), future=None)
    history = History(meters)
    for second, key, x in (
        (1, "a", 0.0),
        (2, "b", 5.0),
        (3, "a", None),
        (4, "a", 9.0),
        (5, "a", 1.0),
    ):
        history.land(Row(second * SECOND, {"k": key, "x": x}))
    part = stored(history, history.rows, 1)
    line = Resampled(Scan("meters", METERS), "x", ("k",), SECOND, "linear")
    first = np.array([True, False, False, False, False])
    assert followers(part, line, first).tolist() == [3]
    assert followers(part, replace(line, method="last"), first).tolist() == []
    assert in_force(part, line, 4 * SECOND).tolist() == [3, 1]
