"""The Java check: quiet when Java will do, instructions when it is missing, broken or too old."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "tools" / "check_java.sh"
TOOLS = ("sh", "cat", "sed", "head", "cut")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for the PATH with what the script needs and no java."""
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    return tmp_path


def fake_java(folder: Path, says: str, *, exit_code: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    java = folder / "java"
    java.write_text(f"#!/bin/sh\ncat >&2 <<TEXT\n{says}\nTEXT\nexit {exit_code}\n")
    java.chmod(0o755)


def check(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT],
        env={"PATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def assert_advice(run: subprocess.CompletedProcess[str], reason: str) -> None:
    assert run.returncode == 1
    assert reason in run.stderr
    for command in ("apt-get install", "dnf install", "brew install"):
        assert command in run.stderr


def test_no_java(folder: Path) -> None:
    assert_advice(check(folder), "Java was not found")


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_391", "16", "9-ea"])
def test_old_java(folder: Path, version: str) -> None:
    fake_java(folder, f'openjdk version "{version}" 2019-01-15')
    assert_advice(check(folder), f"Java {version} at")


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.1+12", "25-ea"])
def test_new_java(folder: Path, version: str) -> None:
    fake_java(folder, f'Picked up JAVA_TOOL_OPTIONS: -Da=b\nopenjdk version "{version}" 2025-04-15')
    run = check(folder)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_java_that_does_not_run(folder: Path) -> None:
    fake_java(folder, "Unable to locate a Java Runtime.", exit_code=1)
    assert_advice(check(folder), "Unable to locate a Java Runtime")


def test_java_that_does_not_tell_its_version(folder: Path) -> None:
    fake_java(folder, "hello")
    assert_advice(check(folder), "could not be read from: hello")


def test_java_home_comes_before_the_path(folder: Path) -> None:
    fake_java(folder, 'openjdk version "21" 2023-09-19')
    old = folder / "old"
    fake_java(old / "bin", 'openjdk version "11.0.2" 2019-01-15')
    assert_advice(check(folder, JAVA_HOME=str(old)), "Java 11.0.2 at")
    assert_advice(check(folder, JAVA_HOME=str(folder / "gone")), "there is no bin/java in it")
