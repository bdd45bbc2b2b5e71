"""Views that read the answers of a query of numbers: their values, and bars from their bars."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine import shard
from streamgauge.kernel.errors import BindError
from streamgauge.results.change_log import as_answers

pytestmark = pytest.mark.slow

INNER = """
CREATE QUERY slow AS SELECT site, QUANTILE(latency, 0.9) FROM calls [RANGE 20 SECONDS]
    GROUP BY site EVERY 10 SECONDS WITHIN 5% RANK CONFIDENCE 99%;
"""
OUTER = """
CREATE QUERY worst AS SELECT AVG(100 - 2 * value) AS mean, COUNT(*) AS n FROM slow;
CREATE QUERY each AS SELECT site, value / 2 AS half FROM slow WHERE value > 0;
CREATE QUERY beside AS SELECT s.site, s.value, c.kind FROM slow AS s, kinds AS c
    WHERE s.site = c.site;
"""


def put(folder: Path, number: int, *, seconds: int = 40) -> None:
    """A file of calls of five sites, some each second."""
    rng = np.random.default_rng(number)
    begin = number * seconds
    at = np.sort(rng.uniform(begin, begin + seconds, 4000))
    table = pa.table(
        {
            "ts": pa.array((at * 1e6).astype(np.int64)).cast(pa.timestamp("us", tz="UTC")),
            "site": [f"s{k}" for k in rng.integers(0, 5, len(at))],
            "latency": rng.lognormal(3.0, 1.0, len(at)),
        }
    )
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / f"{number:03d}.parquet")


def ran(tmp_path: Path, shards: int, *, restart: bool) -> sg.Gauge:
    kinds = pa.table({"site": [f"s{k}" for k in range(5)], "kind": list("aabbb")})
    pq.write_table(kinds, tmp_path / "kinds.parquet")
    gauge = sg.connect(tmp_path / f"home-{shards}-{restart}", engine="local", shards=shards)
    gauge.stream("calls", source=sg.files(tmp_path / "calls"), time="ts", key="site", future=None)
    gauge.create_table("kinds", tmp_path / "kinds.parquet")
    gauge.sql(INNER)
    gauge.sql(OUTER)
    while gauge.step():
        if restart:
            shard.forget(gauge.home)
    return gauge


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    for number in range(3):
        put(tmp_path / "calls", number)
    return tmp_path


@pytest.mark.parametrize(("shards", "restart"), [(1, False), (3, True)])
def test_bars_follow_from_the_bars_below(calls: Path, shards: int, *, restart: bool) -> None:
    gauge = ran(calls, shards, restart=restart)
    newest: dict = {}
    expected = {}
    answers = list(as_answers(gauge.answers("slow")))
    assert len({answer.group for answer in answers}) == 5
    assert any(answer.high > answer.low for answer in answers)
    for answer in answers:
        newest[answer.group] = answer
        values = list(newest.values())
        expected[answer.as_of] = tuple(
            float(np.mean([100 - 2 * getattr(a, end) for a in values]))
            for end in ("value", "high", "low")
        )
    rows = gauge.row_changes("worst").filter(pa.compute.field("count") > 0)
    # Before the first answer there is nothing to average, which is a row too.
    found = {row["as_of"].timestamp() * 1e6: row for row in rows.to_pylist() if row["n"]}
    assert set(found) == set(expected)
    for at, (mean, low, high) in expected.items():
        row = found[at]
        assert (row["mean"], row["mean.low"], row["mean.high"]) == pytest.approx((mean, low, high))
        assert row["mean.low"] <= row["mean"] <= row["mean.high"]
        assert row["n"] == 5
    unmet: set = set()
    for answer in answers:
        (unmet.discard if answer.contract_met else unmet.add)(answer.group)
        expected[answer.as_of] = not unmet
    assert {row["contract_met"] for row in found.values()} == {True, False}
    assert {at: row["contract_met"] for at, row in found.items()} == expected
    sure = answers[-1].confidence
    assert found[max(found)]["confidence"] == pytest.approx(1 - 5 * (1 - sure))


def test_rows_and_joins_of_numbers(calls: Path) -> None:
    gauge = ran(calls, 2, restart=True)
    newest = {answer.group[0]: answer for answer in gauge.latest("slow")}
    held = {row["site"]: row for row in gauge.rows("each").to_pylist()}
    assert set(held) == set(newest)
    for site, answer in newest.items():
        row = held[site]
        assert answer.value is not None
        ends = (answer.value / 2, answer.low / 2, answer.high / 2)
        assert (row["half"], row["half.low"], row["half.high"]) == ends
        assert row["confidence"] == pytest.approx(answer.confidence)
    joined = {row["site"]: row for row in gauge.rows("beside").to_pylist()}
    assert {site: row["kind"] for site, row in joined.items()} == dict(
        zip(sorted(newest), "aabbb", strict=True)
    )
    assert all(joined[s]["value.low"] == newest[s].low for s in newest)


def test_what_numbers_with_bars_cannot_do(calls: Path) -> None:
    gauge = ran(calls, 1, restart=False)
    with pytest.raises(BindError, match="no bar is known"):
        gauge.sql("SELECT site, CASE WHEN value > 1 THEN 1 ELSE value END AS x FROM slow")
    with pytest.raises(BindError, match="groups cannot be by"):
        gauge.sql("SELECT value, COUNT(*) AS n FROM slow GROUP BY value")
