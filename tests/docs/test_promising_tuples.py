"""The page about promising tuples runs, its figures are true, and the notebook shows the same."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import streamgauge as sg
from tests.goldens import GOLDEN, regolding
from tools.check_links import ROOT

PAGE = (ROOT / "docs" / "how-to" / "promising_tuples.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sql ?(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
NOTEBOOK = ROOT / "examples" / "promising_tuples.ipynb"
SHOWN = ("text/plain", "image/svg+xml")


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


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.syspath_prepend(ROOT / "examples")
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()
    sys.modules.pop("two_stores", None)


def test_the_notebook_shows_what_it_showed_before(
    shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored = NOTEBOOK.read_text(encoding="utf-8")
    notebook = json.loads(stored)
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["outputs"] = ran(shell, "".join(cell["source"]), count)
            cell["execution_count"] = count
    found = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    if regolding():
        NOTEBOOK.write_text(found, encoding="utf-8")
    assert found == NOTEBOOK.read_text(encoding="utf-8"), "REGOLD=1 writes it anew"
    assert list(tmp_path.iterdir()) == [], "a notebook leaves nothing behind"


def ran(shell: InteractiveShell, source: str, count: int) -> list[dict[str, Any]]:
    """What a cell shows, as a notebook stores it."""
    with capture_output() as shown:
        result = shell.run_cell(source, store_history=False)
    result.raise_error()
    outputs: list[dict[str, Any]] = []
    if printed := re.sub(r"^Out\[.*", "", shown.stdout, flags=re.MULTILINE | re.DOTALL):
        text = printed.splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if result.result is not None:
        data, _ = shell.display_formatter.format(result.result)
        kept = {kind: data[kind].splitlines(keepends=True) for kind in SHOWN if kind in data}
        if "image/svg+xml" in kept:
            kept["text/plain"] = ["<IPython.core.display.SVG object>"]
        outputs.append(
            {
                "data": kept,
                "execution_count": count,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs
