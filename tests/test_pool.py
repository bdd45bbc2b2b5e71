"""How tests are handed out and held to their budgets, on small suites of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
CONFTEST = 'pytest_plugins = ["tests.needs", "tests.pool", "tests.budget"]\n'
MARKERS = "[pytest]\nmarkers =\n    slow: s\n    jvm: j\n    budget(seconds, reason): b\n"
SUITE = """
import time
import pytest

def test_short():
    pass

@pytest.mark.slow
def test_waits():
    time.sleep({seconds})

@pytest.mark.jvm
def test_java():
    pass
"""


def run(directory: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on one file in a directory of its own."""
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "pytest.ini").write_text(MARKERS)
    (directory / "test_it.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", *options],
        cwd=directory,
        # Plugins that these suites do not use take longer to load than the suites to run.
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_test_over_its_budget_fails_the_run(tmp_path: Path) -> None:
    text = SUITE.format(seconds=0.5).replace("mark.slow", 'mark.budget(0.001, "tiny")')
    ended = run(tmp_path, text, "--budget", "9")
    assert ended.returncode == 1
    assert "3 passed" in ended.stdout
    assert "OVER BUDGET test_it.py::test_waits" in ended.stdout
    assert "s of 9 s, 3 tests" in ended.stdout


def test_budgets_are_off_when_a_test_is_run_by_hand(tmp_path: Path) -> None:
    text = SUITE.format(seconds=0.5).replace("mark.slow", 'mark.budget(0.001, "tiny")')
    assert run(tmp_path, text).returncode == 0


def test_a_budget_has_a_reason(tmp_path: Path) -> None:
    text = SUITE.format(seconds=0).replace("mark.slow", 'mark.budget(5, "")')
    ended = run(tmp_path, text, "--budget", "9")
    assert ended.returncode == 1
    assert "a budget needs a reason" in ended.stdout


def test_quick_leaves_out_what_needs_more(tmp_path: Path) -> None:
    ended = run(tmp_path, SUITE.format(seconds=0), "--quick")
    assert "1 passed, 2 deselected" in ended.stdout


def test_quick_does_not_import_files_whose_tests_all_need_more(tmp_path: Path) -> None:
    ended = run(tmp_path, "import pytest\npytestmark = pytest.mark.slow\n1 / 0\n", "--quick")
    assert ended.returncode == 5
    assert "ZeroDivisionError" not in ended.stdout


def test_workers_hand_out_files_and_report_to_one_ledger(tmp_path: Path) -> None:
    ended = run(tmp_path, SUITE.format(seconds=0), "-n", "2", "--budget", "9")
    assert ended.returncode == 0, ended.stdout
    assert "s of 9 s, 3 tests" in ended.stdout
