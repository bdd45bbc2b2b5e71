"""EXPLAIN as golden text: one file per shape of plan."""

from __future__ import annotations

import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import QueryNotFound
from streamgauge.operators.aggregate import (
    Aggregate,
    avg,
    corr,
    count,
    count_when,
    distinct,
    maximum,
    median,
    quantile,
    sum_when,
    top_k,
    total,
)
from streamgauge.operators.expression import Expr, column, literal
from streamgauge.operators.predicate import col
from streamgauge.plan.explain import explain
from streamgauge.plan.part import Part
from streamgauge.plan.query import Query, every, on_change, on_close
from streamgauge.plan.registry import Registry
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.windows.window import Decay, Landmark, Partition, Range, Rows
from tests.goldens import GOLDEN, assert_golden

pytestmark = pytest.mark.slow

SHARDS = 4
PLANT = Stream(
    "plant",
    Schema.of(series="string", ts="time", value="float", power="float", site="string"),
    "ts",
    ("series",),
    (("kind", "files"), ("path", "plant/"), ("format", "parquet")),
)
TICKS = Stream(
    "ticks",
    Schema.of(symbol="string", ts="time", price="float", volume="int"),
    "ts",
    ("symbol",),
    (("kind", "files"), ("path", "ticks/"), ("format", "csv")),
    late=Late.revise("1 minute"),
)
WAITING = Stream(
    "waiting",
    Schema.of(ts="time", load="float"),
    "ts",
    (),
    (("kind", "files"), ("path", "waiting/"), ("format", "jsonl")),
    tick=100_000,
    late=Late.allow("2 s 500 ms"),
)
AT_A = col("site") == "a"
QUERIES = (
    Query("portfolio", "plant", avg("value"), ("s1", "s2", "s3"), (0.5, 0.25, 0.25)),
    Query("all_series", "plant", maximum("value"), answer=on_change(0.5)),
    Query("pair", "plant", corr("value", "power"), answer=every("1 minute")),
    Query(
        "grouped_range",
        "plant",
        avg("value"),
        window=Range("10 minutes", slide="1 minute"),
        group_by=("site",),
        answer=on_close(),
    ),
    Query(
        "grouped_range_total",
        "plant",
        total("value"),
        window=Range("1 hour", slide="1 minute"),
        group_by=("site",),
        answer=every("5 minutes"),
    ),
    Query("filtered_range", "plant", count(), window=Range("90 s"), where=AT_A),
    Query("filtered_rows", "plant", avg("value"), window=Rows(100), where=AT_A),
    Query("partition", "plant", total("value"), window=Partition("site", 10)),
    Query("landmark", "ticks", avg("price", weight="volume"), window=Landmark("2026-01-01")),
    Query("from_now", "ticks", maximum("price"), window=Range("5 minutes"), history=False),
    Query("named_window", "plant", total("power"), window="shift", answer=every("1 hour")),
    Query("waited_for", "waiting", total("load"), window=Range("1 s")),
    Query(
        "p95",
        "plant",
        quantile("value", 0.95),
        window=Range("10 minutes", slide="1 minute"),
        group_by=("site",),
        answer=on_close(),
        contract=Contract.relative(0.01),
    ),
    Query(
        "median",
        "plant",
        median("value"),
        window=Range("1 hour"),
        contract=Contract.rank(0.01, confidence=0.99),
    ),
    Query(
        "symbols",
        "ticks",
        distinct("symbol"),
        window=Range("1 hour"),
        answer=every("1 minute"),
        contract=Contract.relative(0.05, confidence=0.95),
    ),
    Query("symbols_exactly", "ticks", distinct("symbol"), window=Range("1 hour")),
    Query(
        "heavy",
        "ticks",
        top_k("symbol", 10),
        window=Range("1 hour"),
        answer=every("1 minute"),
        contract=Contract.rank(0.001),
    ),
    Query(
        "fading",
        "plant",
        avg("value"),
        window=Decay("5 minutes"),
        group_by=("site",),
        answer=every("10 s"),
    ),
    Query(
        "above_average",
        "plant",
        count_when("value", ">", "avg", factor=1.5),
        window=Range("10 minutes"),
        group_by=("site",),
        answer=every("1 minute"),
        contract=Contract.rank(0.01),
    ),
    Query(
        "near_the_least",
        "plant",
        sum_when("power", "value", "<=", "min", factor=2.0),
        window=Landmark("2026-01-01"),
    ),
    Query(
        "common_names",
        "plant",
        Aggregate("set_size", argument="p0 & p1"),
        window=Range("1 hour"),
        parts=(
            Part(
                "plant",
                Range("1 hour"),
                (column("series"),),
                Expr("=", (column("site"), literal("a"))),
            ),
            Part("ticks", Range("1 hour"), (column("symbol"),)),
        ),
        answer=every("1 minute"),
        contract=Contract.rank(0.05, confidence=0.95),
    ),
    Query(
        "equal_names",
        "plant",
        Aggregate("join_size", argument="p0 = p1"),
        window=Range("1 hour"),
        parts=(
            Part("plant", Range("1 hour"), (column("series"),)),
            Part("ticks", Landmark("2026-01-01"), (column("symbol"),)),
        ),
        answer=every("1 minute"),
        contract=Contract.rank(0.05, confidence=0.95),
    ),
)
NAMES = [query.name for query in QUERIES]


def registry() -> Registry:
    registered = Registry()
    refused = registered.apply(
        [
            *({"do": "stream", "stream": s.as_dict()} for s in (PLANT, TICKS, WAITING)),
            {"do": "window", "name": "shift", "window": Range("8 hours").as_dict()},
        ],
        epoch=1,
    )
    changes = [{"do": "register", "queries": [query.as_dict() for query in QUERIES]}]
    refused += registered.apply(changes, epoch=2)
    assert refused == []
    return registered


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_reads_as_its_golden_text(name: str) -> None:
    assert_golden(f"explain/{name}.txt", explain(registry(), name, shards=SHARDS, epoch=9) + "\n")


def test_every_golden_plan_has_its_query() -> None:
    assert sorted(path.stem for path in (GOLDEN / "explain").iterdir()) == sorted(NAMES)


def test_a_plan_follows_what_becomes_of_its_query() -> None:
    changed = registry()
    longer = Range("12 hours").as_dict()
    assert changed.apply([{"do": "window", "name": "shift", "window": longer}], epoch=7) == []
    assert changed.apply([{"do": "pause", "names": ["named_window"]}], epoch=9) == []
    plan = explain(changed, "named_window", shards=1, epoch=9)
    assert plan.startswith("named_window version 2, paused, since epoch 7\n")
    assert "Window range 12 h " in plan


def test_columns_line_up() -> None:
    lines = explain(registry(), "filtered_rows", shards=SHARDS, epoch=9).splitlines()[1:-3]
    notes = ("owed exact", "spends 0", "spends 0", "spends 0", "files")
    assert len({line.index(note) for line, note in zip(lines, notes, strict=True)}) == 1


def test_an_unknown_query_is_named() -> None:
    with pytest.raises(QueryNotFound, match="no query named 'heat'"):
        explain(registry(), "heat", shards=SHARDS, epoch=9)
