"""Answers say of their contract what the latest answers say, whoever else answers beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.results.change_log import as_answers

pytestmark = pytest.mark.slow
# The fourth row is late: the sum is 4, or 11 with it.
ROWS = ((0, 1), (1, 2), (9, 1), (3, 7), (12, 1))
NEIGHBOUR = (
    "CREATE QUERY beside AS SELECT APPROX_COUNT_DISTINCT(v) FROM s [RANGE 1 MINUTE] "
    "EVERY 1 SECOND WITHIN 5 PERCENT CONFIDENCE 95%"
)


@pytest.mark.parametrize("within", [6.9, 7.0])
@pytest.mark.parametrize("neighbour", [False, True])
def test_an_exact_answer_with_a_late_row_keeps_its_contract_or_not(
    tmp_path: Path, within: float, neighbour: bool
) -> None:
    (tmp_path / "in").mkdir()
    lines = "".join(f"2026-01-01T00:00:{second:02d}Z,a,{value}\n" for second, value in ROWS)
    (tmp_path / "in" / "a.csv").write_text("ts,k,v\n" + lines)
    gauge = sg.connect(tmp_path / "home", engine="local")
    schema = sg.Schema.of(ts="time", k="string", v="float")
    gauge.stream("s", sg.files(tmp_path / "in", "csv"), time="ts", key="k", schema=schema)
    owed, since = sg.Contract.absolute(within), sg.Landmark("2026-01-01")
    asked = sg.Query(
        "wide", "s", sg.total("v"), window=since, answer=sg.every("1 s"), contract=owed
    )
    gauge.register(asked)
    if neighbour:
        gauge.sql(NEIGHBOUR)
    while gauge.step():
        pass
    last = list(as_answers(gauge.answers("wide")))[-1]
    assert (last.value, last.low, last.high) == (4.0, 4.0, 11.0)
    assert last.contract_met is (within == 7.0)
    assert gauge.latest("wide")[0].contract_met is last.contract_met
