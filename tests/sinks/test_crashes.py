"""A delivery that dies at each of its steps: a table is what latest says, after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import streamgauge as sg
from streamgauge.results import follower
from streamgauge.sinks.delivery import Delivery, Known
from streamgauge.sinks.table import TableWriter
from tests.crashing import Killed, dying
from tests.postgres_server import PostgresServer, postgres
from tests.sinks.world import World, as_rows, as_told, rows_in

pytestmark = pytest.mark.broker
POINTS = {
    "a connection is made": (Delivery, "_connect"),
    "rows are copied": (TableWriter, "_copy"),
    "rows are merged": (TableWriter, "_merge"),
    "an epoch is in the table": (TableWriter, "write"),
    "the place is noted": (follower, "write_json"),
}
# A delivery connects once.
CALLS = [(point, call) for point in POINTS for call in (1, 3)]
CALLS.remove(("a connection is made", 3))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres() as running:
        yield running


@pytest.fixture
def world(tmp_path: Path, server: PostgresServer) -> World:
    """A home whose answers nobody has delivered."""
    with psycopg.connect(server.whole_url) as connection:
        connection.execute("DROP TABLE IF EXISTS answers, streamgauge_places")
    made = World(tmp_path)
    made.gauge.create_sink("out", sg.to_postgres(server.sink_url, "answers"))
    for value in (10, 120, 30, 130, 50):
        made.read(value)
        while made.gauge.step():
            pass
    return made


def deliver(world: World) -> None:
    """Deliver all in this thread."""
    registry = world.gauge.registry()
    versions = {name: standing.version for name, standing in registry.queries.items()}
    known = Known(registry.sinks["out"], versions, world.gauge.home.committed())
    delivery = Delivery(world.gauge.home, known)
    delivery.open()
    try:
        while delivery.step():
            pass
    finally:
        # A connection that is gone takes its transaction with it, as at a kill.
        delivery._leave()
        delivery.close()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("point", "call"), CALLS)
def test_killed_and_started_again(
    world: World,
    server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    call: int,
    after: bool,
) -> None:
    where, name = POINTS[point]
    with monkeypatch.context() as patch:
        patch.setattr(where, name, dying(getattr(where, name), call, after=after))
        with pytest.raises(Killed):
            deliver(world)
    deliver(world)
    assert as_rows(rows_in(server.whole_url, "answers")) == as_told(world.gauge)
