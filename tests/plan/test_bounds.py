"""Streams of bounds: how they are declared, what is asked of them, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError
from streamgauge.plan.bidding import taken
from streamgauge.plan.explain import explain
from streamgauge.plan.members import Members
from streamgauge.plan.offer import Statistics
from streamgauge.plan.query import Query, every
from streamgauge.plan.registry import Registry
from streamgauge.plan.sharing import piece_of
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.work.bounds.technique import BoundsKey
from tests.goldens import assert_golden

SCHEMA = Schema.of(host="string", kind="string", ts="time", value="float", width="float", n="int")
HOSTS = Stream(
    "hosts", SCHEMA, "ts", ("host", "kind"), sg.agents(latency="500 ms").as_pairs(), width="width"
)
OWED = Contract.absolute(2.5)
QUERIES = (
    Query("mean", "hosts", sg.avg("value"), contract=OWED),
    Query("chosen", "hosts", sg.total("value"), contract=OWED, where=sg.col("kind") == "cpu"),
    Query("grouped", "hosts", sg.maximum("value"), contract=Contract.relative(0.05, confidence=0.9),
          group_by=("host",), answer=every("10 s")),
    Query("gap", "hosts", sg.total("value"), series=("a|cpu", "b|cpu"), weights=(1.0, -1.0)),
    Query("known", "hosts", sg.count(), contract=OWED),
)  # fmt: skip


def registry_of(*queries: Query) -> Registry:
    registry = Registry()
    record: dict[str, Any] = {"do": "register", "queries": [query.as_dict() for query in queries]}
    refused = registry.apply([{"do": "stream", "stream": HOSTS.as_dict()}, record], epoch=1)
    if refused:
        raise refused[0]
    return registry


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_explain_says_who_spends(query: Query) -> None:
    text = explain(registry_of(*QUERIES), query.name, shards=4, epoch=1)
    assert_golden(f"explain_bounds/{query.name}.txt", text + "\n")


def test_all_share_the_bounds() -> None:
    registry = registry_of(*QUERIES)
    keys = {piece_of(registry, registry.query(query.name)) for query in QUERIES}
    assert keys == {BoundsKey("value", "width")}


def test_filters_are_taken_where_there_are_bounds() -> None:
    known = Statistics(bounds=True)
    assert {taken(query, known).technique for query in QUERIES} == {"source bounds"}
    assert taken(QUERIES[0], known).guarantee.epsilon == 2.5


def test_a_stream_of_bounds_is_read_back() -> None:
    said = json.loads(json.dumps(HOSTS.as_dict()))
    assert Stream.from_dict(said) == HOSTS
    assert (HOSTS.value, HOSTS.width) == ("value", "width")
    plain = Stream("plain", SCHEMA, "ts", ("host",), ())
    assert "width" not in plain.as_dict()
    assert plain.value is None


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"width": "n"}, "cannot be the width"),
        ({"schema": Schema.of(host="string", ts="time", width="float")}, "one value"),
        ({"schema": Schema.of(host="string", ts="time", a="float", b="float", width="float")},
         "one value"),
        ({"key": ()}, "no key"),
        ({"late": Late.revise("1 s")}, "cannot be revised"),
        ({"expected_gap": 5_000_000}, "no gap is expected"),
        ({"width": None}, "names no width"),
    ],
)  # fmt: skip
def test_what_cannot_be_bounds(changes: dict[str, Any], word: str) -> None:
    given = {
        "name": "hosts", "schema": SCHEMA, "time": "ts", "key": ("host",),
        "source": (("kind", "edge"),), "width": "width",
    }  # fmt: skip
    with pytest.raises(BindError, match=word):
        Stream(**{**given, **changes})


@pytest.mark.parametrize(
    ("query", "word"),
    [
        (Query("q", "hosts", sg.stddev("value")), "do not tell"),
        (Query("q", "hosts", sg.avg("n")), "do not tell"),
        (Query("q", "hosts", sg.avg("value"), answer=sg.on_close()), "cannot be answered"),
        (Query("q", "hosts", sg.avg("value"), where=sg.col("value") > 3), "by key"),
        (Query("q", "hosts", sg.avg("value"), group_by=("n",)), "by key"),
        (Query("q", "hosts", sg.avg("value"), where=sg.col("host") == 3), "compared with 3"),
        (Query("q", "hosts", sg.avg("value"), series=("a",), where=sg.col("host") == "a"), "twice"),
        (Query("q", "hosts", sg.avg("value"), contract=Contract.absolute(1.0, confidence=0.9),
               regime="timer"), "is not deferred"),
        (Query("q", "hosts", sg.avg("value"), over=sg.Over("max", sg.Range("1 min"))), "not kept"),
        (Query("q", "hosts", sg.avg("value"), window=sg.Range("1 min")), "without their widths"),
        (Query("q", "hosts", sg.count(), window=sg.Range("1 min"), where=sg.col("value") > 1),
         "without their widths"),
        (Query("q", "hosts", sg.avg("value"), members=Members("t", "a")), "no single name"),
    ],
)  # fmt: skip
def test_what_bounds_do_not_answer(query: Query, word: str) -> None:
    with pytest.raises(sg.StreamgaugeError, match="(?s)" + word):
        registry_of(query)


def test_rows_of_bounds_are_read_with_their_widths(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.sql("CREATE STREAM hosts FROM EDGE")
    stream = gauge.trial().registry.stream("hosts")
    assert (stream.key, stream.time, stream.value) == (("object",), "ts", "value")
    for text in (
        "SELECT * FROM hosts [NOW]",
        "SELECT COUNT(*) FROM hosts [RANGE 1 MINUTE]",
        "SELECT MAX(value + width / 2) FROM hosts [RANGE 1 MINUTE]",
        "SELECT object, width FROM hosts",
    ):
        assert "Scan hosts" in str(gauge.sql(f"EXPLAIN {text}"))
    for text in ("SELECT AVG(value) FROM hosts [RANGE 1 MINUTE]", "SELECT value FROM hosts [NOW]"):
        with pytest.raises(BindError, match="without their widths"):
            gauge.sql(text)


def test_the_language_asks_for_newest_bounds(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.sql(
        "CREATE STREAM hosts (host STRING, kind STRING, ts TIME, value FLOAT, width FLOAT) "
        "FROM EDGE 'http://127.0.0.1:0' KEY host, kind TIME ts WIDTH width LATENCY 500 ms "
        "TOKENS 'tokens.txt' BROKER 'mqtt://127.0.0.1:1883' BEAT 2 s"
    )
    source = gauge.trial().registry.stream("hosts").source_dict()
    assert (source["latency"], source["beat"], source["adjust"]) == ("500 ms", "2 s", "10 s")
    assert source["listen"] == "http://127.0.0.1:0"
    gauge.sql(
        "CREATE QUERY one AS SELECT AVG(value) FROM hosts WHERE kind = 'cpu' GUARANTEED WITHIN 2"
    )
    gauge.sql(
        "CREATE QUERY two AS SELECT host, SUM(value) FROM hosts GROUP BY host WITHIN 5 PERCENT"
    )
    gauge.sql("CREATE QUERY three AS SELECT MIN(value) FROM hosts WHERE host LIKE 'web%'")
    asked = {name: found.query for name, found in gauge.trial().registry.queries.items()}
    assert all(query.window is None for query in asked.values())
    assert asked["one"].answer == sg.on_change()
    assert str(asked["one"].where) == "kind = 'cpu'"
    assert asked["two"].group_by == ("host",)
    assert asked["three"].derived


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"listen": "ftp://here"}, "as an address"),
        ({"broker": "http://here"}, "as an address"),
        ({"beat": 0}, "must be positive"),
    ],
)
def test_agents_need_an_address_and_a_beat(given: dict[str, Any], word: str) -> None:
    with pytest.raises(BindError, match=word):
        sg.agents(**given)


def test_weights_of_an_average_that_add_up_to_nothing_are_refused(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path, engine="local")
    gauge.stream("hosts", sg.agents("http://127.0.0.1:0"))
    apart = sg.Query("d", "hosts", sg.avg("value"), series=("a", "b"), weights=(1.0, -1.0))
    with pytest.raises(BindError, match="add up to nothing"):
        gauge.register(apart)
    gauge.register(replace(apart, select=sg.total("value")))


def test_agents_of_other_machines_must_show_something() -> None:
    with pytest.raises(BindError, match="anyone could speak"):
        sg.agents("http://0.0.0.0:7311")
    assert sg.agents("https://0.0.0.0:7311", ca="ca.pem").options["listen"].startswith("https")
