"""Tables from a real PostgreSQL through Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.kernel.errors import StreamgaugeError
from tests.postgres_server import PostgresServer
from tests.spark.conftest import MASTER
from tests.spark.connectors.conftest import say

pytestmark = [pytest.mark.jvm, pytest.mark.broker]
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
def filled(server: PostgresServer) -> PostgresServer:
    say(server, KINDS)
    return server


@pytest.fixture
def origin(filled: PostgresServer, tmp_path: Path) -> dict[str, Any]:
    """What every reading of the server says beside a table or a query."""
    secret = tmp_path / "secret"
    secret.write_text(f"{filled.password}\n")
    return {"url": filled.jdbc_url, "user": filled.user, "password_file": secret}


def connected(home: Path) -> sg.Gauge:
    return sg.connect(home, shards=2, master=MASTER)


def test_columns_of_a_database_get_our_types(
    spark: SparkSession,
    server: PostgresServer,
    origin: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TABLES_PASSWORD", server.password)
    gauge = connected(tmp_path / "home")
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
    urls = {"/nowhere": f"jdbc:postgresql://127.0.0.1:{server.port}/nowhere"}
    urls[":1"] = "jdbc:postgresql://127.0.0.1:1/postgres"
    wanted = {**origin, **given}
    wanted["url"] = urls.get(wanted["url"], wanted["url"])
    wanted["password_file"] = tmp_path / wanted["password_file"]
    gauge = connected(tmp_path / "home")
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
