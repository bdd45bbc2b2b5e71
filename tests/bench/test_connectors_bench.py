"""The workload `connectors` without a broker: what is lost or doubled is told."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from bench.check import Checked
from bench.connectors import QUICK_EXTENT, _Connectors
from bench.data import Card
from bench.harness import Outcome
from bench.report import Report
from bench.topics import as_json

pytestmark = pytest.mark.slow

CARD = Card("d", "made up", 1000, 100, 10, 1_000_000, ("a",), ("z",), "k", 1.0, 0.1)
RIGHT = Checked(15, 60, (), 60, 100)


def report(taken: int, given: int, delivered: int, checked: Checked = RIGHT) -> Report:
    """A report of one repetition."""
    bench = _Connectors(QUICK_EXTENT, Path("d"), "127.0.0.1:1", Console(file=io.StringIO()))
    bench.delivered = [delivered]
    facts = {"taken": float(taken), "given": float(given)}
    found = {"ours": [Outcome(800, 2.0, 1.0, facts=facts)], "copy": [Outcome(800, 1.6, 1.0)]}
    delay = Outcome(facts={"delay_p50": 0.5, "delay_p99": 1.0, "pace": 200.0})
    return bench._report(CARD, "made up", True, found, checked, delay)


def test_a_run_in_which_all_arrives_is_right() -> None:
    found = report(1000, 60, 60)
    assert found.right
    assert all(bar.met for bar in found.bars.values())
    assert found.bars["share_of_copy"].value == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("taken", "given", "delivered", "bar"),
    [
        (999, 60, 60, "records_lost"),
        (1001, 60, 60, "records_doubled"),
        (1000, 60, 59, "answers_lost_or_doubled"),
        (1000, 60, 61, "answers_lost_or_doubled"),
    ],
)
def test_what_is_lost_or_doubled_is_told(taken: int, given: int, delivered: int, bar: str) -> None:
    found = report(taken, given, delivered)
    assert not found.right
    assert not found.bars[bar].met


def test_a_wrong_answer_is_told() -> None:
    assert not report(1000, 60, 60, Checked(15, 60, ("avg-00001",), 60, 100)).right


def test_rows_are_written_as_json() -> None:
    table = pa.table(
        {
            "series": ["s1"],
            "ts": pa.array([1_000_000], pa.timestamp("us", tz="UTC")),
            "value": [1.5],
            "zone": ["z"],
            "kind": ["k"],
        }
    )
    (text,) = as_json(table)
    expected = {"series": "s1", "ts": 1_000_000, "value": 1.5, "zone": "z", "kind": "k"}
    assert json.loads(text) == expected
