"""The page about promising tuples runs, and its figures are true."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from tests.goldens import GOLDEN
from tools.check_links import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "how-to" / "promising_tuples.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sql ?(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_statements_of_the_page_run_and_answer(tmp_path: Path) -> None:
    baskets = runpy.run_path(str(ROOT / "examples" / "two_stores.py"))["baskets"]
    gauge = sg.connect(tmp_path / "home", engine="local")
    for seed, store in enumerate(("north", "south"), start=1):
        (tmp_path / store).mkdir()
        rows = baskets(seed, minutes=2).table()
        pq.write_table(rows, tmp_path / store / "sales.parquet")
        gauge.stream(store, source=sg.files(tmp_path / store), time="ts")
    for kind, text in BLOCKS:
        if kind == "refused":
            with pytest.raises(sg.StreamgaugeError, match="does not reach back"):
                gauge.sql(text)
        else:
            gauge.sql(text)
    while gauge.step():
        pass
    assert gauge.refusals() == []
    both = gauge.row_changes("both")
    assert both.num_rows
    assert 0.0 < min(both["regions_share"].to_pylist()) < 1.0
    assert gauge.row_changes("dear").num_rows
    assert {answer.query for answer in gauge.latest()} == {"takings", "typical"}


def test_the_figures_of_the_page_are_those_of_the_example() -> None:
    printed = (GOLDEN / "examples" / "two_stores.txt").read_text(encoding="utf-8")
    lines = {line.split("  ")[0]: line for line in printed.splitlines() if "%" in line}
    table = {name: re.findall(r"[\d.,]+%?", line) for name, line in lines.items()}
    (desc, weighted, asc) = re.findall(
        r"^\| .*? \| `(?:DESC|WEIGHTED|ASC)` \|.*$", PAGE, re.MULTILINE
    )
    come = table["as they come"]
    for row, wanted in (
        (desc, (table["desc"][1], come[1])),
        (weighted, (table["weighted"][1], table["weighted"][2], come[2])),
        (asc, (table["asc"][0], table["asc"][3], table["asc"][5], come[5], come[0])),
    ):
        for figure in wanted:
            assert figure.replace("%", " %") in row, (figure, row)
