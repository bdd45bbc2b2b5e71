"""Causes that are planned for a query are those that its answers can be widened by."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.contracts.causes import LATE_ROWS, SMALL_MOVES
from streamgauge.plan.planned_charges import planned
from streamgauge.plan.technique import PlannedCharge

EQUAL = (
    "SELECT COUNT(*) FROM {0} [RANGE 10 SECONDS] a JOIN {1} [RANGE 10 SECONDS] b ON a.k = b.k "
    "EVERY 2 SECONDS WITHIN 20 PERCENT RANK CONFIDENCE 95%"
)


def charges(place: Path, text: str) -> dict[str, PlannedCharge]:
    """What is planned for a query, by cause."""
    (place / "rows").mkdir()
    gauge = sg.connect(place / "home", engine="local")
    declared = f"CREATE STREAM {{}} (ts TIME, k STRING, x FLOAT) FROM FILES '{place}/rows' TIME ts"
    gauge.sql(declared.format("plain"))
    gauge.sql(declared.format("other"))
    gauge.sql(declared.format("revised") + " LATE REVISE 5 SECONDS")
    gauge.sql(declared.format("again") + " LATE REVISE 5 SECONDS")
    gauge.sql(text, name="q")
    registry = gauge.trial().registry
    return {charge.by: charge for charge in planned(registry, registry.query("q"))}


@pytest.mark.parametrize(
    ("one", "other", "late"),
    [
        ("plain", "other", True),
        ("plain", "revised", True),
        ("revised", "plain", True),
        ("revised", "again", False),
    ],
)
def test_late_rows_of_any_stream_are_planned(
    tmp_path: Path, one: str, other: str, *, late: bool
) -> None:
    found = charges(tmp_path, EQUAL.format(one, other))
    assert (LATE_ROWS in found) == late
    assert len(found) == 1 + late


@pytest.mark.parametrize(("by", "within", "spared"), [(1, 3, 1.0), (3, 1, 1.0), (3, 0, None)])
def test_small_moves_are_within_the_contract(
    tmp_path: Path, by: int, within: int, spared: float | None
) -> None:
    kept = f" WITHIN {within}" if within else ""
    text = f"SELECT SUM(x) FROM plain [RANGE 5 SECONDS] ON CHANGE OF {by}{kept}"
    found = charges(tmp_path, text)
    moves = found.get(SMALL_MOVES)
    assert (moves.within if moves else None) == spared
