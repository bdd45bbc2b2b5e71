"""Changes of tables as records: what a table that was read again may replace."""

from __future__ import annotations

from typing import Any

import pytest

from streamgauge.plan.registry import Registry
from streamgauge.plan.tables import read_again
from streamgauge.streams.origin import jdbc
from streamgauge.streams.schema import Schema
from streamgauge.streams.table import Table

TOWNS = Table("towns", Schema.of(site="string"), "towns-1.parquet", "towns.csv", rows=1, every=5)


def kept(*records: dict[str, Any], table: Table = TOWNS) -> tuple[Registry, list[str]]:
    registry = Registry()
    registry.apply([{"do": "table", "table": table.as_dict()}], epoch=1)
    refused = registry.apply(records, epoch=2)
    return registry, [error.what for error in refused]


def test_other_rows_take_the_place_of_a_table_and_the_rest_of_it_stays() -> None:
    registry, refused = kept(read_again(TOWNS, "towns-2.parquet", 7))
    found = registry.tables["towns"]
    assert (found.path, found.rows, found.epoch) == ("towns-2.parquet", 7, 2)
    assert (found.every, found.origin, found.schema) == (5, "towns.csv", TOWNS.schema)
    assert not refused
    assert Registry.from_dict(registry.as_dict()) == registry


def test_a_table_that_was_dropped_meanwhile_does_not_come_back() -> None:
    registry, refused = kept(
        {"do": "drop table", "name": "towns"}, read_again(TOWNS, "towns-2.parquet", 7)
    )
    assert registry.tables == {}
    assert refused == ["no table named 'towns'"]


@pytest.mark.parametrize(
    "other",
    [
        Table("towns", TOWNS.schema, "towns-1.parquet", "other.csv"),
        Table("towns", Schema.of(site="int"), "towns-1.parquet", "towns.csv"),
    ],
)
def test_a_table_that_was_declared_anew_meanwhile_keeps_its_rows(other: Table) -> None:
    registry, refused = kept(read_again(TOWNS, "towns-2.parquet", 7), table=other)
    assert registry.tables["towns"].path == "towns-1.parquet"
    assert refused == ["table 'towns' was declared anew while it was read"]


def test_a_pace_is_altered_and_the_rows_stay() -> None:
    registry, _ = kept({"do": "alter table", "name": "towns", "every": None})
    found = registry.tables["towns"]
    assert (found.every, found.epoch, found.path) == (None, 1, "towns-1.parquet")


def test_what_is_kept_of_a_database_names_its_secret_and_does_not_hold_it() -> None:
    origin = jdbc("jdbc:postgresql://h/d", table="t", user="u", password_env="READER")
    table = Table("t", TOWNS.schema, "p", str(origin), origin)
    assert table.as_dict()["source"] == {
        "kind": "jdbc",
        "place": "jdbc:postgresql://h/d",
        "table": "t",
        "user": "u",
        "password_env": "READER",
    }
