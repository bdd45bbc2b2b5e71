"""doctor, in an environment that is made up."""

from __future__ import annotations

import importlib.metadata
import json
import socket
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from streamgauge.cli import examine
from streamgauge.cli.examine import GIB
from streamgauge.log.home import FORMAT

pytestmark = pytest.mark.slow

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has all."""
    monkeypatch.setattr(examine, "java_version", lambda: 17)
    monkeypatch.setattr(examine, "free_memory", lambda: 8 * GIB)
    monkeypatch.setattr(examine.shutil, "disk_usage", lambda _: Usage(0, 0, 50 * GIB))
    monkeypatch.setattr(examine.os, "cpu_count", lambda: 4)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.usefixtures("healthy")
def test_all_is_well(call, tmp_path: Path) -> None:
    result = call("doctor", "--home", tmp_path / "home")
    assert result.exit_code == 0
    assert "0 warnings, 0 failures" in result.stdout
    assert not (tmp_path / "home").exists()


@pytest.mark.usefixtures("healthy")
def test_findings_as_json(call, tmp_path: Path) -> None:
    said = json.loads(call("doctor", "--json", "--home", tmp_path).stdout)
    assert said["ok"] is True
    assert [check["name"] for check in said["checks"]] == [
        "Python", "Java", "pyspark", "pandas", "protobuf", "pyarrow", "numba", "PYSPARK_PYTHON",
        "memory", "disk", "cores", "loopback", "kernel cache", "home",
    ]  # fmt: skip
    assert set(said["checks"][0]) == {"name", "status", "found", "wanted", "fix"}


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("version", [None, 11])
def test_java_missing_or_old_is_7_with_the_fix(call, tmp_path, monkeypatch, version) -> None:
    monkeypatch.setattr(examine, "java_version", lambda: version)
    result = call("doctor", "--home", tmp_path)
    assert result.exit_code == 7
    for command in ("apt-get install", "dnf install", "brew install"):
        assert command in result.stdout
    as_json = call("doctor", "--json", "--home", tmp_path)
    assert as_json.exit_code == 7
    assert json.loads(as_json.stdout)["ok"] is False
    assert json.loads(call("doctor", "--json", "--home", tmp_path).stdout)["ok"] is False


@pytest.mark.parametrize(
    ("name", "version", "status"),
    [
        ("pandas", "3.0.1", "fail"),
        ("pandas", "2.2.3", "ok"),
        ("pyspark", "4.1.9", "fail"),
        ("pyspark", "5.0.0.dev1", "fail"),
        ("pyspark", "4.2.0rc1", "ok"),
        ("protobuf", "6.32.0", "fail"),
        ("numba", "0.61", "ok"),
    ],
)
def test_versions_of_packages(monkeypatch, name: str, version: str, status: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    finding = examine.package(name)
    assert (finding.status, finding.found) == (status, version)
    assert f"pip install '{name}>=" in finding.fix[""]


def test_a_package_that_is_not_installed(monkeypatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert examine.package("numba").status == "fail"


@pytest.mark.parametrize(
    ("free", "status"), [(8 * GIB, "ok"), (2 * GIB, "warn"), (GIB // 2, "fail"), (None, "warn")]
)
def test_memory(monkeypatch, free: int | None, status: str) -> None:
    monkeypatch.setattr(examine, "free_memory", lambda: free)
    assert examine.memory().status == status


def test_free_memory_is_read_or_guessed(tmp_path: Path) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 10 kB\nMemAvailable: 7 kB\n")
    assert examine.free_memory(told) == 7 * 1024
    assert (examine.free_memory(tmp_path / "none") or 0) > 0


@pytest.mark.parametrize(("free", "status"), [(3 * GIB, "ok"), (GIB, "warn"), (1, "fail")])
def test_disk(monkeypatch, tmp_path: Path, free: int, status: str) -> None:
    monkeypatch.setattr(examine.shutil, "disk_usage", lambda _: Usage(0, 0, free))
    assert examine.disk(tmp_path / "not" / "made").status == status


def test_one_core_is_a_warning(monkeypatch) -> None:
    monkeypatch.setattr(examine.os, "cpu_count", lambda: 1)
    assert examine.cores().status == "warn"


def test_no_loopback(monkeypatch) -> None:
    def refused(*_arguments: object, **_named: object) -> None:
        raise OSError("Operation not permitted")

    monkeypatch.setattr(socket, "create_server", refused)
    finding = examine.loopback()
    assert (finding.status, "macOS" in finding.fix) == ("fail", True)


def fake_python(directory: Path, says: str) -> str:
    path = directory / "python"
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)
    return str(path)


def test_the_python_of_the_workers(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert examine.worker_python().status == "ok"
    monkeypatch.setenv("PYSPARK_PYTHON", fake_python(tmp_path, "3.8"))
    finding = examine.worker_python()
    assert (finding.status, finding.found.endswith(": 3.8")) == ("fail", True)
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "gone"))
    assert "does not run" in examine.worker_python().found


def test_the_home(tmp_path: Path, monkeypatch) -> None:
    home = tmp_path / "home"
    assert examine.home_state(home).found == f"{home} is not made yet"
    home.mkdir()
    (home / "gauge.json").write_text(json.dumps({"format": FORMAT, "shards": 1}))
    assert examine.home_state(home).status == "ok"
    (home / "gauge.json").write_text(json.dumps({"format": 99}))
    assert examine.home_state(home).status == "fail"
    (home / "gauge.json").write_text("{")
    assert "cannot be read" in examine.home_state(home).found
    monkeypatch.setattr(examine.os, "access", lambda *_: False)
    assert "not writable" in examine.home_state(home).found


def test_an_old_python(monkeypatch) -> None:
    monkeypatch.setattr(examine.sys, "version_info", (3, 10, 1))
    assert examine.python().status == "fail"
