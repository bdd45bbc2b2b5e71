"""The list of planted faults fits the tree, and the tool that plants them says what it should."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.seed_faults import ROOT, Fault, Reach, grouped, load_faults

FAULTS = load_faults()


def test_there_are_enough_of_them_and_names_are_unique() -> None:
    assert len(FAULTS) >= 100
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert all(fault.reason for fault in FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_fits_the_tree(fault: Fault) -> None:
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    planted = fault.planted(text)
    assert planted != text
    if fault.file.endswith(".py"):
        ast.parse(planted)
    assert all((ROOT / name.partition("::")[0]).exists() for name in fault.tests)


def fault_at(file: str, find: str) -> Fault:
    return Fault("f", "area", file, "reason", find, "x", ())


def test_tests_that_run_the_line_come_before_all_others(tmp_path: Path) -> None:
    (tmp_path / "src" / "streamgauge").mkdir(parents=True)
    (tmp_path / "src" / "streamgauge" / "a.py").write_text("def f():\n    return 1\n\n\nx = 2\n")
    reach = Reach(
        seconds={"slow": 3.0, "quick": 0.1, "other": 0.1},
        commands=dict.fromkeys(("slow", "quick", "other"), "test"),
        lines={"streamgauge/a.py": {2: {"slow", "quick"}, 5: {"other"}}},
    )
    assert reach.of(fault_at("src/streamgauge/a.py", "return 1"), tmp_path) == ["quick", "slow"]


def test_kernels_are_tried_by_tests_of_those_who_import_them(tmp_path: Path) -> None:
    package = tmp_path / "src" / "streamgauge"
    package.mkdir(parents=True)
    (package / "kernel.py").write_text("def compiled_away():\n    return 1\n")
    (package / "user.py").write_text(
        "from streamgauge.kernel import compiled_away\n\n\ndef g():\n    return compiled_away()\n"
    )
    reach = Reach(
        seconds={"t": 0.1, "imports": 0.1},
        commands={"t": "quick", "imports": "quick"},
        lines={"streamgauge/user.py": {1: {"imports"}, 5: {"t"}}},
    )
    assert reach.of(fault_at("src/streamgauge/kernel.py", "return 1"), tmp_path) == ["t"]


def test_groups_grow() -> None:
    groups = list(grouped([str(n) for n in range(60)], lambda _: 2.0))
    assert [len(group) for group in groups] == [6, 18, 36]
    assert list(grouped([], lambda _: 1.0)) == []
