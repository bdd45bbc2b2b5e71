"""Sinks as values: what fits, which version holds when, and what is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.kernel.errors import BindError, QueryNotFound
from streamgauge.plan.registry import Registry
from streamgauge.plan.sink import REMEMBERED, Destination, Sink, StandingSink
from tests.alerts.world import Plant

TOPIC = "DELIVER TO KAFKA 'broker:9092' TOPIC 'answers'"
TABLE = "DELIVER TO POSTGRES 'postgresql://ann:{env:PLANT_KEY}@db:5432/plant' TABLE 'answers'"


@pytest.fixture
def gauge(tmp_path: Path) -> sg.Gauge:
    return Plant(tmp_path).gauge


@pytest.mark.parametrize(
    ("kind", "address", "place", "what"),
    [
        ("file", "out", "t", "unknown target 'file'"),
        ("kafka", "http://broker", "t", "Kafka needs brokers"),
        ("kafka", "broker:9092", "two words", "Kafka needs brokers"),
        ("postgres", "host=db", "t", "PostgreSQL needs the URL"),
        ("postgres", "postgresql://db:port/x", "t", "PostgreSQL needs the URL"),
        ("postgres", "postgresql://db/x", "a;b", "no name of a table"),
        ("postgres", "postgresql://db/x\n", "t", "cannot be used"),
    ],
)
def test_a_target_that_cannot_be_is_refused(kind: str, address: str, place: str, what: str) -> None:
    with pytest.raises(BindError, match=what):
        Destination(kind, address, place)


def test_a_bad_url_is_refused_without_its_password() -> None:
    with pytest.raises(BindError) as caught:
        sg.to_postgres("postgresql://ann:s3cret@db:none/x", "t")
    assert "s3cret" not in str(caught.value)


def test_what_is_shown_has_no_password(gauge: sg.Gauge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANT_KEY", "s3cr t")
    gauge.sql(f"CREATE SINK out ON heat {TABLE}")
    shown: Any = gauge.sql("SHOW SINKS")
    described: Any = gauge.sql("DESCRIBE out")
    assert shown.equals(described)
    assert shown.to_pylist() == [
        {
            "name": "out",
            "on": "heat",
            "delivers": "postgres db:5432/plant, table answers",
            "history": "no",
            "version": 1,
        }
    ]
    with pytest.raises(BindError, match="exists already") as caught:
        gauge.sql(f"CREATE SINK out ON ALL {TABLE}")
    assert "s3cr" not in str(caught.value)
    secret = gauge.trial().registry.sinks["out"].sink.to
    assert secret.hidden("ann with s3cr t") == "ann with ***"
    stored = Destination("postgres", "postgresql://ann:s3cr%20t@db:5432/plant", "answers")
    assert stored.hidden("ann with s3cr t, or s3cr%20t") == "ann with ***, or ***"


def test_sinks_are_on_queries_that_are_there(gauge: sg.Gauge) -> None:
    with pytest.raises(QueryNotFound, match="no query named 'heet'"):
        gauge.sql(f"CREATE SINK out ON heet {TOPIC}")
    gauge.sql(f"CREATE SINK out ON heat {TOPIC}")
    with pytest.raises(BindError, match="query 'heat' is delivered"):
        gauge.drop("heat")
    with pytest.raises(BindError, match="delivers there already"):
        gauge.sql(f"CREATE SINK other ON ALL {TOPIC}")
    gauge.sql(f"CREATE OR REPLACE SINK out ON ALL {TOPIC}")
    gauge.drop("heat")
    gauge.drop_sink("out")
    with pytest.raises(QueryNotFound, match="no sink named 'out'"):
        gauge.drop_sink("out")


def test_rows_go_to_kafka_and_not_to_a_table(gauge: sg.Gauge) -> None:
    gauge.sql("CREATE QUERY hot AS SELECT series, value FROM plant WHERE value > 9")
    with pytest.raises(BindError, match="cannot deliver rows to PostgreSQL"):
        gauge.sql(f"CREATE SINK out ON hot {TABLE}")
    gauge.sql(f"CREATE SINK out ON heat {TABLE}; CREATE SINK rows ON hot {TOPIC}")
    with pytest.raises(BindError, match="cannot deliver rows to PostgreSQL"):
        gauge.sql("ALTER QUERY heat AS SELECT series FROM plant")


def test_a_name_of_several_queries_means_all_of_them(gauge: sg.Gauge) -> None:
    gauge.sql(
        "CREATE QUERY each FOR EACH site IN ('north', 'south') AS "
        "SELECT AVG(value) FROM plant [RANGE 1 SECOND] WHERE site = $site EVERY 1 SECOND"
    )
    gauge.create_sink("out", sg.to_kafka("broker:9092", "answers"), ("each", "heat"))
    sink = gauge.trial().registry.sinks["out"].sink
    assert sink.queries == ("each[north]", "each[south]", "heat")


def test_the_same_again_changes_nothing(gauge: sg.Gauge) -> None:
    to = sg.to_kafka("broker:9092", "answers")
    gauge.create_sink("out", to, history=True)
    gauge.create_sink("out", to, history=True)
    assert gauge.trial().registry.sinks["out"].version == 1


def test_versions_hold_from_their_epochs_on_and_are_in_snapshots() -> None:
    to = sg.to_kafka("broker:9092", "answers")
    registry = Registry()
    for epoch in (3, 5):
        record = {"do": "sink", "sink": Sink("out", (), to, history=epoch == 5).as_dict()}
        assert registry.apply([record], epoch=epoch) == []
    standing = registry.sinks["out"]
    assert (standing.version, standing.born, standing.first) == (2, 3, 2)
    assert [standing.at(epoch).history for epoch in (1, 3, 4, 5, 9)] == [False] * 3 + [True] * 2
    assert Registry.from_dict(registry.as_dict()).sinks == registry.sinks
    assert registry.apply([{"do": "drop sink", "name": "out"}], epoch=6) == []
    assert "sinks" not in registry.as_dict()


def test_only_so_many_versions_are_remembered() -> None:
    sink = Sink("out", (), sg.to_kafka("broker:9092", "answers"))
    standing = StandingSink.fresh(sink, 1)
    for epoch in range(2, 2 * REMEMBERED):
        standing = standing.changed(sink, epoch)
    assert len(standing.versions) == REMEMBERED
    assert standing.version == 2 * REMEMBERED - 1
