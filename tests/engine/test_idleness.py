"""Idleness: a stream that is silent for longer than it declares holds no other up."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.engine import lander as landing
from streamgauge.engine import shard
from streamgauge.engine.idleness import Idleness
from streamgauge.engine.spark import source as spark_source
from streamgauge.kernel.time import SECOND, duration
from streamgauge.log.journal import Journal
from streamgauge.plan.registry import Registry
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from tests.engine.stage import Stage, at, rows_of

COLUMNS = Schema.of(k="string", ts="time", v="float")
JOIN = "SELECT a.k, a.v, b.v AS w FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.k = b.k"
UNION = "SELECT k, v FROM a [RANGE 1 HOUR] UNION ALL SELECT k, v FROM b [RANGE 1 HOUR]"


class Pair(Stage):
    """Two streams that a query reads together, under a clock that the test moves."""

    def clocked(self, monkeypatch: pytest.MonkeyPatch, **of_b: Any) -> Pair:
        self.now = at(0)
        # The lander's clock alone: records in the inbox are ordered by the true one.
        clock = SimpleNamespace(time_ns=lambda: self.now * 1000)
        monkeypatch.setattr(landing, "time", clock)
        self.stream("a", COLUMNS)
        self.stream("b", COLUMNS, **of_b)
        return self

    def tick(self, seconds: float, **rows: Any) -> None:
        """Land rows when the clock shows some second; no restart between."""
        self.now, self.pages = at(seconds), self.pages + (self.pages + 1) % 2
        self.page(**{name: rows_of("k v", *cells) for name, cells in rows.items()})

    def reached(self, stream: str) -> float:
        page = Journal(self.gauge.home).page(self.gauge.home.committed())
        return (page.peaks[stream] - at(0)) / SECOND


@pytest.mark.slow
@pytest.mark.parametrize("text", [JOIN, UNION])
@pytest.mark.parametrize("idle", [None, "10 s"])
def test_declared_idleness_moves_joins_and_unions_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, idle: str | None
) -> None:
    pair = Pair(tmp_path).clocked(monkeypatch, idle=idle, expected_gap="5 s")
    pair.gauge.sql(f"CREATE QUERY q AS {text}")
    pair.tick(1, a=[(0, "x", 1.0), (1, "x", 2.0)], b=[(0, "x", 3.0), (1, "x", 4.0)])
    pair.tick(9, a=[(8, "x", 5.0), (9, "x", 6.0)])
    before = pair.held("q")
    assert pair.reached("b") == 1
    pair.tick(15, a=[(14, "x", 7.0), (15, "x", 8.0)])
    if idle is None:
        assert pair.held("q") == before
        return
    # b is as far as a, and what a sent is answered.
    assert pair.reached("b") == 15
    assert len(pair.held("q")) > len(before)
    page = Journal(pair.gauge.home).page(pair.gauge.home.committed())
    assert page.idle == {"b": at(1)}
    # Rows that come behind it are late by the policy of the stream, those after it are not.
    pair.tick(16, b=[(12, "x", 9.0), (15, "x", 10.0)])
    pair.tick(17, a=[(17, "x", 0.0)], b=[(17, "x", 0.0)])
    seen = {value for row in pair.held("q") for value in row}
    assert 10.0 in seen
    assert 9.0 not in seen
    # All of it stands in the pages: another run of them, in which no clock is read, agrees.
    given = pair.gauge.row_changes("q")
    shard.forget(pair.gauge.home)
    pair.restart()
    assert pair.gauge.row_changes("q") == given
    assert not pair.gauge.step()


@pytest.mark.slow
def test_the_moment_of_idleness_is_a_page_of_its_own_and_a_restart_gives_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other stream is ahead and silent too, but not for long enough: nothing else arrives."""
    pair = Pair(tmp_path).clocked(monkeypatch, idle="10 s")
    pair.gauge.sql(f"CREATE QUERY q AS {UNION}")
    pair.tick(8, a=[(0, "x", 1.0), (8, "x", 2.0)])
    assert "q" in pair.gauge.registry().queries
    pair.now = at(16)
    pair.restart()
    assert not pair.gauge.step(), "a lander that starts has heard everyone"
    pair.now = at(27)
    assert pair.gauge.step()
    # b never sent a row, and a is answered up to where it came.
    assert pair.held("q") == {("x", 1.0): 1}
    assert not pair.gauge.step(), "one page, not one a poll"


def _registry(**idle: str) -> Registry:
    registry = Registry()
    for name in "abc":
        source = (("kind", "push"),)
        time = duration(idle[name]) if name in idle else None
        late = Late.allow("2 s") if name == "c" else Late.drop()
        stream = Stream(name, COLUMNS, "ts", (), source, idle=time, late=late)
        registry.streams[name] = stream
    return registry


@pytest.mark.parametrize(
    ("idle", "heard", "peaks", "now", "expected"),
    [
        # Nothing is declared, or nobody is silent for so long.
        ({}, {"a": 0}, {"a": 0, "b": 50}, 100, {}),
        ({"a": "10 s"}, {"a": 95}, {"a": 0, "b": 50}, 100, {}),
        # The slowest of those that are waited for says how far; none of them may lack rows.
        ({"a": "10 s"}, {"a": 5, "b": 99, "c": 99}, {"a": -99, "b": 50, "c": 42}, 100, {"a": 40}),
        ({"a": "10 s"}, {"a": 5, "b": 99, "c": 99}, {"a": -99, "b": 50}, 100, {"a": None}),
        # One that has sent nothing counts as far as the others.
        ({"c": "10 s"}, {"c": 5, "a": 99, "b": 99}, {"a": 70, "b": 60}, 100, {"c": 62}),
        # When all are silent, all are as far as the furthest.
        (
            {"a": "10 s", "b": "10 s", "c": "10 s"},
            {"a": 5, "b": 7, "c": 5},
            {"a": -99, "b": -60, "c": -80},
            100,
            {"a": -60, "b": None, "c": -58},
        ),
        # Times that are those of the clock go on with it, in whole idle times.
        ({"a": "10 s"}, {"a": 5, "b": 5, "c": 5}, {"a": 4}, 24, {"a": None}),
        ({"a": "10 s"}, {"a": 5, "b": 5, "c": 5}, {"a": 4}, 47, {"a": 35}),
        ({"a": "10 s"}, {"a": 5, "b": 5, "c": 5}, {"a": 35}, 54, {"a": None}),
    ],
)
def test_how_far_an_idle_stream_is_moved(
    idle: dict[str, str],
    heard: dict[str, int],
    peaks: dict[str, int],
    now: int,
    expected: dict[str, int | None],
) -> None:
    idleness = Idleness({name: when * SECOND for name, when in heard.items()})
    idleness._read = (0, [frozenset("abc")])
    found = idleness.idle(
        _registry(**idle), {name: peak * SECOND for name, peak in peaks.items()}, now * SECOND
    )
    moved = {name: one.to and one.to // SECOND for name, one in found.items()}
    assert moved == expected


def test_both_engines_land_pages_with_one_lander() -> None:
    assert spark_source.Lander is landing.Lander
    assert "self.lander.land()" in inspect.getsource(spark_source.JournalReader.latestOffset)
