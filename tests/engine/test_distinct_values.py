"""Distinct counts rest on the values themselves and on a seed of the data directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.contracts.answer import Answer
from streamgauge.execute.trial import Trial
from streamgauge.kernel.time import DAY, SECOND, instant
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.seeds import VARIABLE
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from tests.kit.replay import replay
from tests.oracles.reference import Arrival, Row

START = instant("2026-01-01T00:00:00Z")
SCHEMA = Schema.of(ts="time", text="string", whole="int", real="float", truth="bool", seen="time")
WEB = Stream("web", SCHEMA, "ts", (), (), late=Late.drop(), keep=365 * DAY, future=None)
FIVE = sg.Contract.relative(0.05, confidence=0.95)


def asked(column: str, name: str = "", where: Any = None) -> Query:
    window = sg.Landmark("2026-01-01")
    return Query(
        name or column, "web", sg.distinct(column), window=window, where=where,
        answer=sg.every("10 s"), contract=FIVE,
    )  # fmt: skip


def rows(n: int, different: int) -> tuple[Row, ...]:
    return tuple(
        Row(
            START + i * SECOND // 8,
            {
                "text": f"colour {i % different}",
                "whole": i % different,
                "real": (i % different) / 2,
                "truth": bool(i % min(different, 2)),
                "seen": START + (i % different) * DAY,
            },
        )
        for i in range(1, n)
    )


def last(path: Path, sent: tuple[Row, ...], seed: int | None, **how: Any) -> dict[str, Answer]:
    queries = [asked(name).as_dict() for name in SCHEMA.names if name != "ts"]
    record = {"do": "register", "queries": queries, **({"seed": seed} if seed else {})}
    changes = ({"do": "stream", "stream": WEB.as_dict()}, record)
    half = len(sent) // 2
    pages = [Arrival(changes, {"web": sent[:half]}), Arrival((), {"web": sent[half:]})]
    return {answer.query: answer for answer in replay(path, WEB, pages, **how)}


@pytest.mark.slow
def test_four_colours_are_four_in_every_home(tmp_path: Path) -> None:
    """Texts were once counted as 0, 1, 2, 3 with one seed: 3 in [3, 3] in every home."""
    for seed in (None, 1, 2, 3):
        found = last(tmp_path / str(seed), rows(400, 4), seed)
        for column, answer in found.items():
            truth = 2 if column == "truth" else 4
            assert (answer.value, answer.low, answer.high) == (truth,) * 3, (column, seed)


@pytest.mark.slow
def test_counts_are_equal_on_all_shards_and_after_restarts(tmp_path: Path) -> None:
    sent = rows(3000, 900)
    one = last(tmp_path / "one", sent, 5)
    three = last(tmp_path / "three", sent, 5, shards=3, forget=True)
    other = last(tmp_path / "other", sent, 6)
    bars = [
        {q: (a.value, a.low, a.high) for q, a in found.items()} for found in (one, three, other)
    ]
    assert bars[0] == bars[1]
    assert bars[0]["text"] != bars[2]["text"]


def trial() -> Trial:
    registry = Registry()
    registry.apply([{"do": "stream", "stream": WEB.as_dict()}], epoch=1)
    return Trial(registry)


def seed_of(registry: Registry, name: str) -> int:
    seed: int = json.loads(registry.queries[name].model)[2]
    return seed


def test_a_seed_is_drawn_once_and_stored_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    one, two = trial(), trial()
    for gauge in (one, two):
        gauge.register([Query("heat", "web", sg.avg("real"), window=sg.Range("1 minute"))])
        assert "seed" not in gauge.records[-1]
        gauge.register([asked("text"), asked("text", "again")])
        gauge.register([asked("text", "fewer", sg.col("whole") > 3)])
    assert [len(gauge.records) for gauge in (one, two)] == [1, 1]
    assert one.records[0]["seed"] != two.records[0]["seed"]
    told = [[seed_of(g.registry, name) for name in ("text", "again", "fewer")] for g in (one, two)]
    for shared, again, fewer in told:
        assert shared == again, "queries that share panes share their seed"
        assert fewer != shared, "each kept sketch has its own"
    assert told[0] != told[1]
    replayed = Registry()
    first = {"do": "stream", "stream": WEB.as_dict()}
    assert replayed.apply([first, *json.loads(json.dumps(one.records))], epoch=1) == []
    assert [seed_of(replayed, name) for name in ("text", "again", "fewer")] == told[0]
    assert Registry.from_dict(replayed.as_dict()).seed == one.records[0]["seed"]


def test_records_without_a_seed_keep_the_one_of_earlier_releases() -> None:
    registry = trial().registry
    record = {"do": "register", "queries": [asked("text").as_dict()]}
    assert registry.apply([record], epoch=2) == []
    assert seed_of(registry, "text") == 9001
