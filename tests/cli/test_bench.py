"""bench: finds the workloads of the source tree, and says so when there are none."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.cli import bench as command
from streamgauge.cli.bench import bench_package
from streamgauge.kernel.errors import MissingRuntime

pytestmark = pytest.mark.slow


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stand-in for the workloads; holds what it was asked for."""
    asked: dict[str, Any] = {}

    def run(name: str, **options: Any) -> int:
        asked.update(options, name=name)
        return 3 if name == "lost" else 0

    package = SimpleNamespace(workloads=lambda: ["lost", "spine"], run=run)
    monkeypatch.setattr(command, "bench_package", lambda: package)
    return asked


def test_a_workload_is_run(call, ran: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert call("bench", "spine", "--quick", "--data", tmp_path, "--json", out).exit_code == 0
    assert ran == {"name": "spine", "quick": True, "data": tmp_path, "json_file": out}


@pytest.mark.usefixtures("ran")
def test_its_exit_code_is_ours(call) -> None:
    assert call("bench", "lost").exit_code == 3


@pytest.mark.usefixtures("ran")
def test_workloads_are_listed(call) -> None:
    assert call("bench", "--list").stdout == "lost\nspine\n"
    assert call("bench").exit_code == 2


def test_without_the_source_tree(tmp_path: Path) -> None:
    with pytest.raises(MissingRuntime, match="workloads are not installed") as caught:
        bench_package(tmp_path / "lib" / "streamgauge" / "__init__.py")
    assert "clone the repository" in caught.value.hint


def test_the_source_tree_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "__init__.py").write_text("WORD = 'found'\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "bench", raising=False)
    try:
        found = bench_package(tmp_path / "src" / "streamgauge" / "__init__.py")
        assert found.WORD == "found"
    finally:
        sys.modules.pop("bench", None)
