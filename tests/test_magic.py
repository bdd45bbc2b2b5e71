"""The magic in a real shell of IPython."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import streamgauge as sg
from streamgauge.magic import Shown

pytestmark = pytest.mark.slow

STREAM = "CREATE STREAM plant FROM PLANT (4, 1, 60) KEY series TIME ts;"
ROWS = sg.Schema.of(ts="time", x="float")
HEAT = "SELECT AVG(value) FROM plant [RANGE 1 MINUTE] EVERY 1 MINUTE"


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "streamgauge.magic")
    yield made
    made.run_line_magic("unload_ext", "streamgauge.magic")
    InteractiveShell.clear_instance()


def ran(shell: InteractiveShell, text: str) -> Any:
    result = shell.run_cell(text, silent=False, store_history=False)
    result.raise_error()
    return result.result


def test_a_cell_runs_statements_on_a_home(shell: InteractiveShell, tmp_path: Path) -> None:
    gauge = ran(shell, f"%gauge {tmp_path / 'home'}")
    assert isinstance(gauge, sg.Gauge)
    made = ran(shell, f"%%gauge\n{STREAM}\nDESCRIBE plant;")
    assert isinstance(made, Shown)
    assert repr(made).splitlines()[0].split() == ["column", "type", "role"]
    assert ">series</td>" in made._repr_html_()
    assert "registered heat" in repr(ran(shell, f"%%gauge heat\n{HEAT}"))
    plan = ran(shell, "%%gauge\nEXPLAIN heat")
    assert "Aggregate avg(value)" in repr(plan)
    assert "<strong>heat version 1" in plan._repr_html_()
    assert "heat" in gauge.trial().registry.queries


def test_answers_are_shown_with_their_bars(shell: InteractiveShell, tmp_path: Path) -> None:
    gauge = shell.user_ns["gauge"] = sg.connect(tmp_path / "home", engine="local")
    (tmp_path / "rows").mkdir()
    gauge.stream("s", source=sg.files(tmp_path / "rows", "csv"), time="ts", schema=ROWS)
    (tmp_path / "rows" / "a.csv").write_text("ts,x\n2026-01-01T00:00:00Z,2\n")
    ran(shell, "%%gauge heat\nSELECT SUM(x) FROM s [RANGE 1 MINUTE] EVERY 1 SECOND")
    ran(shell, "%%gauge\nADVANCE STREAM s TO '2026-01-01T00:00:05Z'")
    while gauge.step():
        pass
    shown = ran(shell, "%%gauge\nSHOW ANSWERS")
    assert repr(shown).splitlines()[0].split()[:3] == ["query", "group", "value"]
    assert 'aria-label="2 in [2, 2], exact, ' in shown._repr_html_()


def test_a_gauge_of_the_notebook_is_used(shell: InteractiveShell, tmp_path: Path) -> None:
    shell.user_ns["gauge"] = sg.connect(tmp_path / "home", engine="local")
    assert "created stream plant" in repr(ran(shell, f"%%gauge\n{STREAM}"))
    shell.user_ns["other"] = sg.connect(tmp_path / "other", engine="local")
    assert ran(shell, "%gauge other") is shell.user_ns["other"]
    assert repr(ran(shell, "%%gauge\nSHOW STREAMS")).count("\n") == 0


def test_without_a_gauge_it_says_how_to_open_one(shell: InteractiveShell) -> None:
    shell.user_ns.pop("gauge", None)
    with pytest.raises(sg.StreamgaugeError, match="no gauge is open"):
        ran(shell, f"%%gauge\n{STREAM}")
