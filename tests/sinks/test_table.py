"""Answers in a real PostgreSQL: the newest of each group, in step with the epochs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.engine.catalog import registry_at
from streamgauge.kernel.errors import TargetFailure
from streamgauge.results.change_log import epochs_after
from streamgauge.sinks.batch import read_batch
from streamgauge.sinks.table import TableWriter
from tests.postgres_server import PostgresServer, postgres
from tests.sinks.world import World, as_rows, as_told, rows_in

pytestmark = [pytest.mark.kills, pytest.mark.broker]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres() as running:
        yield running


@pytest.fixture
def table(server: PostgresServer) -> str:
    """A schema of its own for each test."""
    with psycopg.connect(server.whole_url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS plant CASCADE; CREATE SCHEMA plant")
        connection.execute("DROP TABLE IF EXISTS streamgauge_places")
    return "plant.answers"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.gauge.stop()


def run(server: PostgresServer, text: str) -> None:
    with psycopg.connect(server.whole_url) as connection:
        connection.execute(text.encode())


def test_a_table_holds_what_latest_says(
    world: World, server: PostgresServer, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", server.password)
    world.read(10, 120)
    world.gauge.create_sink("out", sg.to_postgres(server.url, table))
    world.gauge.start()
    world.read(80, 130, 20)
    world.deliver()
    first = rows_in(server.whole_url, table)
    assert as_rows(first) == as_told(world.gauge)
    assert {row["query"] for row in first} == {"heat", "sites"}
    # Another group, and then a query that is altered and one that goes.
    world.read(70, 75, site="south")
    world.gauge.sql(
        "ALTER QUERY sites AS SELECT site, MAX(value) FROM plant [RANGE 2 SECONDS] "
        "GROUP BY site EVERY 1 SECOND; DROP QUERY heat"
    )
    world.read(90, 95, site="east")
    world.deliver()
    world.gauge.stop()
    assert as_rows(rows_in(server.whole_url, table)) == as_told(world.gauge)
    assert {(row["query"], row["version"]) for row in rows_in(server.whole_url, table)} == {
        ("sites", 2)
    }


def test_what_has_left_the_latest_answers_has_left_the_table(
    world: World, server: PostgresServer, table: str
) -> None:
    """Items that dropped out of a list, and a query that was altered to one without answers."""
    listed = "SELECT TOP_K(site, 1) FROM plant [RANGE 2 SECONDS] EVERY 1 SECOND"
    world.gauge.sql(f"CREATE QUERY busiest AS {listed}")
    world.gauge.create_sink("out", sg.to_postgres(server.sink_url, table))
    world.gauge.start()
    world.read(80, 90)
    for site in ("south", "east"):
        world.read(80, 90, 85, site=site)
    world.deliver()
    rows = rows_in(server.whole_url, table)
    assert as_rows(rows) == as_told(world.gauge)
    assert [row["key"] for row in rows if row["query"] == "busiest"] == ['["east"]']
    world.gauge.sql(
        "ALTER QUERY sites AS SELECT site, AVG(value) FROM plant [RANGE 2 SECONDS] "
        "WHERE value > 1000 GROUP BY site EVERY 1 SECOND"
    )
    world.read(80, 90, site="east")
    world.deliver()
    wait_until(
        lambda: as_rows(rows_in(server.whole_url, table)) == as_told(world.gauge),
        60,
        what="a table without the earlier version",
    )
    assert {row["query"] for row in rows_in(server.whole_url, table)} == {"busiest", "heat"}


def test_a_sink_begins_with_its_birth_or_with_history(
    world: World, server: PostgresServer, table: str
) -> None:
    to = sg.to_postgres(server.sink_url, table)
    world.read(10, 20, 30)
    world.gauge.start()
    world.gauge.drain()
    world.gauge.create_sink("late", to, ("sites",))
    world.gauge.create_sink("whole", sg.to_postgres(to.address, "plant.whole"), history=True)
    world.deliver()
    assert rows_in(server.whole_url, table) == []
    assert as_rows(rows_in(server.whole_url, "plant.whole")) == as_told(world.gauge)
    world.read(40, 50)
    world.deliver()
    assert as_rows(rows_in(server.whole_url, table)) == as_told(world.gauge, "sites")
    # Replaced it goes on where it was; what is left out is taken out.
    world.gauge.sql(
        f"CREATE OR REPLACE SINK whole ON heat DELIVER TO POSTGRES '{to.address}' "
        "TABLE 'plant.whole'"
    )
    world.read(60, 70)
    world.deliver()
    world.gauge.stop()
    assert as_rows(rows_in(server.whole_url, "plant.whole")) == as_told(world.gauge, "heat")


def test_a_server_that_goes_away_and_comes_back_loses_nothing(
    world: World, server: PostgresServer, table: str
) -> None:
    world.gauge.create_sink("out", sg.to_postgres(server.sink_url, table))
    world.gauge.start()
    world.read(10, 20)
    world.deliver()
    server.stop()
    try:
        world.read(30, 40)
        world.gauge.drain()
        told = world.failing("out")
    finally:
        server.start()
    assert told["message"] == "PostgreSQL does not take answers"
    assert server.password not in str(told)
    world.read(50)
    world.deliver()
    assert as_rows(rows_in(server.whole_url, table)) == as_told(world.gauge)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (
            "CREATE TABLE plant.answers (query text, key text, value integer)",
            "DROP TABLE plant.answers",
            "table 'plant.answers' has other columns than answers have",
        ),
        (
            "CREATE ROLE guest LOGIN PASSWORD 'guest'",
            "GRANT ALL ON SCHEMA plant, public TO guest",
            "PostgreSQL does not take answers",
        ),
    ],
)
def test_what_a_target_refuses_is_told_and_mended(
    world: World, server: PostgresServer, table: str, before: str, after: str, what: str
) -> None:
    run(server, "DROP OWNED BY guest; DROP ROLE guest" if has_guest(server) else "SELECT 1")
    run(server, before)
    url = server.sink_url
    if "guest" in before:
        hush = server.data.parent / "guest"
        hush.write_text("guest")
        url = server.url.replace("postgres@", f"guest:{{file:{hush}}}@")
    world.gauge.create_sink("out", sg.to_postgres(url, table))
    world.gauge.start()
    world.read(10, 20)
    told = world.failing("out")
    assert told["message"] == what
    assert set(told) == {"code", "message", "detail", "hint"}
    run(server, after)
    world.deliver()
    assert as_rows(rows_in(server.whole_url, table)) == as_told(world.gauge)


def has_guest(server: PostgresServer) -> bool:
    with psycopg.connect(server.whole_url) as connection:
        found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'guest'")
        return found.fetchone() is not None


def test_one_home_writes_a_table_and_the_newest_job_of_it(
    world: World, server: PostgresServer, table: str
) -> None:
    to = sg.to_postgres(server.sink_url, table)
    world.gauge.create_sink("out", to)
    for value in (10, 20, 30):
        world.read(value)
        while world.gauge.step():
            pass
    home = world.gauge.home
    early, late = epochs_after(home, 0)[-2:]
    sink = registry_at(home, home.committed()).sinks["out"].sink
    first, second = (TableWriter(to, "here", "out", 1) for _ in range(2))
    assert first.connect(0) == 0
    first.write(read_batch(home, early, sink))
    with pytest.raises(TargetFailure, match="belongs to another home"):
        TableWriter(to, "elsewhere", "out", 1).connect(0)
    # Whoever comes last has the table; the place is the table's own, not the writer's.
    assert second.connect(0) == early
    with pytest.raises(TargetFailure, match="another job delivers for this sink"):
        first.write(read_batch(home, late, sink))
    assert (first.shut_out, second.shut_out) == (True, False)
    second.write(read_batch(home, late, sink))
    second.close()
    assert as_rows(rows_in(server.whole_url, table)) == as_told(world.gauge)


def test_a_database_that_is_put_back_is_brought_forward_again(
    world: World, server: PostgresServer, table: str
) -> None:
    world.gauge.create_sink("out", sg.to_postgres(server.sink_url, table))
    world.gauge.start()
    world.read(10, 20, 30)
    world.deliver()
    world.gauge.stop()
    run(server, "DELETE FROM plant.answers; UPDATE streamgauge_places SET epoch = 0")
    world.gauge.start()
    world.read(40)
    world.deliver()
    assert as_rows(rows_in(server.whole_url, table)) == as_told(world.gauge)


def test_an_answer_of_an_instant_that_is_past_does_not_come_back(
    tmp_path: Path, server: PostgresServer, table: str
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    schema = sg.Schema.of(ts="time", series="string", value="float")
    gauge = sg.connect(tmp_path / "home", engine="local")
    late = sg.Late.revise("1 minute")
    files = sg.files(source, "csv")
    gauge.stream("plant", files, time="ts", key="series", schema=schema, late=late)
    gauge.sql("CREATE QUERY n AS SELECT COUNT(*) FROM plant [RANGE 1 SECOND] EVERY 1 SECOND")
    gauge.create_sink("out", sg.to_postgres(server.sink_url, table))
    with gauge.start():
        for number, second in enumerate((1, 2, 3, 4, 1, 5)):
            row = f"ts,series,value\n2026-01-01T00:00:0{second}Z,a,1\n"
            (source / f"{number}.part").write_text(row)
            (source / f"{number}.part").rename(source / f"{number}.csv")
            gauge.drain(timeout=60)
    assert max(gauge.answers("n")["revision"].to_pylist()) > 0
    assert as_rows(rows_in(server.whole_url, table)) == as_told(gauge)
