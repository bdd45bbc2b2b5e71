"""Tables from a real PostgreSQL through Spark, and tables that change while a Spark job runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.files import write_whole
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log.segments import write_parquet
from streamgauge.testing.waiting import wait_until
from tests.connectors import needed_connector
from tests.postgres_server import PostgresServer, postgres

START = instant("2026-01-01T00:00:00Z")
KINDS = """
CREATE TABLE kinds (
    site text, floor smallint, many bigint, price numeric(12, 2), half real, live boolean,
    seen timestamptz, local timestamp, day date, id uuid, about jsonb, list int[], bytes bytea
);
INSERT INTO kinds VALUES
    ('south', 2, 4000000000, 12.25, 0.5, true, '2026-01-01 12:00+02', '2026-01-01 12:00',
     '2026-01-02', '00000000-0000-0000-0000-000000000001', '{"a": 1}', '{1,2}', 'x'),
    ('north', NULL, NULL, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE towns (site text, town text);
INSERT INTO towns VALUES ('north', 'Kiel');
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    needed_connector("postgresql")
    with postgres() as running:
        say(running, KINDS)
        yield running


def say(server: PostgresServer, text: str) -> None:
    with psycopg.connect(server.whole_url, autocommit=True) as open_:
        open_.execute(text)


@pytest.fixture
def origin(server: PostgresServer, tmp_path: Path) -> dict[str, Any]:
    """What every reading of the server says beside a table or a query."""
    secret = tmp_path / "secret"
    secret.write_text(f"{server.password}\n")
    return {"url": server.jdbc_url, "user": server.user, "password_file": secret}


def rows(directory: Path, name: str, first: int, last: int) -> None:
    numbers = list(range(first, last + 1))
    times = pa.array([START + n * SECOND for n in numbers], pa.timestamp("us", tz="UTC"))
    table = {
        "site": ["north"] * len(numbers),
        "ts": times,
        "value": pa.array(numbers, pa.float64()),
    }
    write_parquet(directory / f"{name}.parquet", pa.table(table))


def connected(home: Path, files: Path, engine: str = "spark") -> sg.Gauge:
    gauge = sg.connect(home, engine=engine, shards=2, master="local[2,4]")
    gauge.stream("s", source=sg.files(files), time="ts", key="site")
    return gauge


def test_columns_of_a_database_get_our_types(
    spark: SparkSession,
    server: PostgresServer,
    origin: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TABLES_PASSWORD", server.password)
    rows(tmp_path / "rows", "a", 1, 2)
    gauge = connected(tmp_path / "home", tmp_path / "rows")
    gauge.create_table("kinds", sg.jdbc(**origin, table="public.kinds"))
    table = gauge.trial().registry.tables["kinds"]
    assert table.schema == sg.Schema.of(
        site="string", floor="int", many="int", price="float", half="float", live="bool",
        seen="time", local="time", day="time", id="string", about="string",
    )  # fmt: skip
    north, south = pq.read_table(table.path).to_pylist()
    assert north["site"] == "north", "rows have an order of their own"
    assert [south[name] for name in ("floor", "many", "price", "live")] == [
        2,
        4 * 10**9,
        12.25,
        True,
    ]
    times = [south[name].isoformat() for name in ("seen", "local", "day")]
    assert times == [f"2026-01-0{d}:00:00+00:00" for d in ("1T10", "1T12", "2T00")]
    assert (south["id"][-1], south["about"]) == ("1", '{"a": 1}')
    assert north["floor"] is None
    gauge.sql(
        f"CREATE TABLE some FROM JDBC '{origin['url']}' USER 'postgres' "
        f"QUERY 'SELECT site, count(*) AS n FROM kinds WHERE site = ''north'' GROUP BY site' "
        "PASSWORD ENV 'TABLES_PASSWORD'"
    )
    table = gauge.trial().registry.tables["some"]
    assert pq.read_table(table.path).to_pylist() == [{"site": "north", "n": 1}]


MISTAKES = [
    ({"table": "nothing"}, "refused the question", 'relation "nothing" does not exist'),
    ({"query": "SELECT nope FROM towns"}, "refused the question", 'column "nope"'),
    ({"table": "towns", "password_file": "wrong"}, "refused the login", "password authentication"),
    ({"table": "towns", "url": "/nowhere"}, "has no such database", '"nowhere" does not exist'),
    ({"table": "towns", "url": ":1"}, "cannot be reached", "refused"),
    ({"table": "towns", "driver": "org.example.Driver"}, "org.example.Driver is not here", "needs"),
    ({"table": "towns", "password_file": "gone"}, "cannot read the file of a password", "gone"),
]


@pytest.mark.parametrize(("given", "what", "detail"), MISTAKES)
def test_a_database_that_cannot_be_read_says_why(
    spark: SparkSession, server: PostgresServer, origin: dict[str, Any], tmp_path: Path,
    given: dict[str, str], what: str, detail: str,
) -> None:  # fmt: skip
    (tmp_path / "wrong").write_text("not the one")
    rows(tmp_path / "rows", "a", 1, 2)
    urls = {"/nowhere": f"jdbc:postgresql://127.0.0.1:{server.port}/nowhere"}
    urls[":1"] = "jdbc:postgresql://127.0.0.1:1/postgres"
    wanted = {**origin, **given}
    wanted["url"] = urls.get(wanted["url"], wanted["url"])
    wanted["password_file"] = tmp_path / wanted["password_file"]
    gauge = connected(tmp_path / "home", tmp_path / "rows")
    with pytest.raises(StreamgaugeError) as told:
        gauge.create_table("t", sg.jdbc(**wanted))
    assert what in told.value.what
    assert detail in told.value.detail
    assert told.value.hint
    said = str(told.value)
    assert "\tat " not in said
    assert "Exception" not in said
    assert server.password not in said
    assert "not the one" not in said


def test_a_database_that_goes_away_and_comes_back(
    spark: SparkSession, server: PostgresServer, origin: dict[str, Any], tmp_path: Path
) -> None:
    rows(tmp_path / "rows", "a", 1, 5)
    with connected(tmp_path / "home", tmp_path / "rows") as gauge:
        gauge.create_table("towns", sg.jdbc(**origin, table="towns"), refresh="200 ms")
        gauge.sql("CREATE QUERY p AS SELECT t.town, s.value FROM s [NOW] s, towns t")
        gauge.start()
        gauge.drain()
        server.stop()
        wait_until(lambda: "cannot be reached" in told(gauge)["failure"], 120, what="the failure")
        server.start()
        wait_until(lambda: not told(gauge)["failure"], 120, what="the end of the failure")
        first = gauge.registry().tables["towns"].epoch
        say(server, "UPDATE towns SET town = 'Bonn'")
        wait_until(lambda: gauge.registry().tables["towns"].epoch > first, 120, what="Bonn")
        rows(tmp_path / "rows", "b", 6, 9)
        gauge.drain()
        given = [row["town"] for row in gauge.row_changes("p").to_pylist()]
    assert given[0] == "Kiel"
    assert "Bonn" in given
    secret = server.password.encode()
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert len(kept) > 20
    assert not [path for path in kept if secret in path.read_bytes()]


def told(gauge: sg.Gauge) -> dict[str, Any]:
    found = gauge.sql("SHOW TABLES")
    assert isinstance(found, pa.Table)
    return found.to_pylist()[0]


def test_tables_that_change_give_the_same_on_both_engines(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert changing(tmp_path / "spark", "spark") == changing(tmp_path / "local", "local")


def changing(place: Path, engine: str) -> tuple[list[dict[str, Any]], ...]:
    """Rows of a join with a file and a Delta table, each of which changes once."""
    place.mkdir()
    write_whole(place / "towns.csv", b"site,town\nnorth,Kiel\n")
    deltalake.write_deltalake(place / "lake", pa.table({"site": ["north"], "top": [3.0]}))
    rows(place / "rows", "a", 1, 5)
    with connected(place / "home", place / "rows", engine) as gauge:
        gauge.create_table("towns", place / "towns.csv", refresh="50 ms")
        gauge.create_table("limits", sg.delta(place / "lake"), refresh="50 ms")
        gauge.sql(
            "CREATE QUERY over AS SELECT t.town, s.value, l.top FROM s [NOW] s "
            "JOIN towns t ON s.site = t.site JOIN limits l ON s.site = l.site "
            "WHERE s.value > l.top"
        )
        gauge.start()
        gauge.drain()
        write_whole(place / "towns.csv", b"site,town\nnorth,Bonn\n")
        wait_until(lambda: changed(gauge, "towns"), 120, what="other towns")
        rows(place / "rows", "b", 6, 9)
        gauge.drain()
        deltalake.write_deltalake(
            place / "lake", pa.table({"site": ["north"], "top": [12.0]}), mode="overwrite"
        )
        wait_until(lambda: changed(gauge, "limits"), 120, what="other limits")
        rows(place / "rows", "c", 10, 15)
        gauge.drain()
    found = [{**row, "epoch": 0} for row in gauge.row_changes("over").to_pylist()]
    given = [(row["town"], row["value"], row["top"]) for row in found if row["count"] > 0]
    assert given[0] == ("Kiel", 4.0, 3.0)
    assert given[-1] == ("Bonn", 14.0, 12.0)
    return (found,)


def changed(gauge: sg.Gauge, name: str) -> bool:
    tables = gauge.registry().tables
    return Path(tables[name].path).name.endswith(".again.parquet")
