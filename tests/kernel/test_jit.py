"""Compiled kernels: shared by text, never taken from a place that others can write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.kernel import jit

pytestmark = pytest.mark.slow

KERNEL = """
from streamgauge.kernel.jit import compiled

@compiled
def doubled(x):
    return 2 * x

print(doubled(4), sum(doubled.stats.cache_hits.values()))
"""


def test_a_copy_of_the_text_elsewhere_finds_what_was_compiled(tmp_path: Path) -> None:
    said = []
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        script = tmp_path / place / "kernel.py"
        script.write_text(KERNEL)
        said.append(
            subprocess.run(
                [sys.executable, script],
                env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    assert said == ["8 0\n", "8 1\n"]


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_cache_that_others_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "streamgauge").mkdir()
    (tmp_path / "streamgauge").chmod(mode)
    assert jit.cache_root() is None
    assert not hasattr(jit.compiled(lambda x: x)._cache, "_impl")  # type: ignore[attr-defined]


def test_a_cache_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jit.cache_root() == tmp_path / "streamgauge"
    monkeypatch.setattr(os, "getuid", lambda: (tmp_path / "streamgauge").stat().st_uid + 1)
    assert jit.cache_root() is None


def test_a_cache_that_cannot_be_made_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("not a directory")
    assert jit.cache_root() is None
