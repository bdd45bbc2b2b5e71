"""Code is loaded only from directories that nobody else can write or replace.

The attacker of these tests leaves a file that is run when it is loaded wherever another user of
the machine could leave one, and looks whether it was.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyspark
import pytest

from streamgauge.cli import warm
from streamgauge.engine.spark import jars
from streamgauge.kernel import jit, private
from streamgauge.kernel.errors import MissingRuntime

KERNEL = """
from streamgauge.kernel.jit import compiled

@compiled
def doubled(x):
    return 2 * x

print(doubled(4))
"""


class Planted:
    """Makes a file when it is unpickled."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> Any:
        return (Path.touch, (self.proof,))


def run(script: Path, cache: Path, umask: int = 0o022) -> str:
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    env.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, script], env=env, capture_output=True, text=True, umask=umask, check=True
    )
    return done.stdout


def plant(cache: Path, proof: Path) -> int:
    """Put other bytes in place of all that would be loaded; how many files that were."""
    indexes = list(cache.rglob("*.nbi"))
    for index in indexes:
        index.write_bytes(pickle.dumps(Planted(proof)))
    return len(indexes)


@pytest.mark.slow
def test_a_module_directory_that_the_group_can_write_is_not_loaded_from(tmp_path: Path) -> None:
    script, cache, proof = tmp_path / "kernel.py", tmp_path / "cache", tmp_path / "proof"
    script.write_text(KERNEL)
    assert run(script, cache, umask=0o002) == "8\n"
    (module,) = (cache / "streamgauge").glob("kernel-*")
    assert module.stat().st_mode & 0o077 == 0, "a umask of 002 opens no directory to the group"
    module.chmod(0o770)
    assert plant(cache, proof) == 1
    assert run(script, cache) == "8\n"
    assert not proof.exists()


def private_cache(tmp_path: Path) -> Path:
    place = tmp_path / "above" / "cache" / "streamgauge"
    place.mkdir(parents=True, mode=0o700)
    return place


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "above" / "cache"))
    return private_cache(tmp_path)


def others_may_write_above(cache: Path) -> None:
    cache.parent.parent.chmod(0o777)


def the_group_may_write_above(cache: Path) -> None:
    cache.parent.chmod(0o775)


def others_may_write(cache: Path) -> None:
    cache.chmod(0o707)


def it_is_a_link(cache: Path) -> None:
    cache.rename(cache.with_name("elsewhere"))
    cache.symlink_to(cache.with_name("elsewhere"))


def it_is_a_file(cache: Path) -> None:
    cache.rmdir()
    cache.touch()


@pytest.mark.parametrize(
    "open_up",
    [
        others_may_write_above,
        the_group_may_write_above,
        others_may_write,
        it_is_a_link,
        it_is_a_file,
    ],
    ids=lambda attack: attack.__name__,
)
def test_what_others_could_replace_is_not_used_and_nothing_stands_in(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_up: Any
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    assert jit.cache_root() == cache
    open_up(cache)
    assert jit.cache_root() is None
    kernel: Any = jit.compiled(lambda x: x)
    assert not hasattr(kernel._cache, "_impl")
    assert warm.mark("latest") is None
    with warm.warming() as processes:
        assert processes == []
    assert list(shared.iterdir()) == []
    assert private.why_not_private(cache) is not None


def test_a_name_in_a_sticky_directory_belongs_to_who_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    ours = shared / "ours"
    assert private.private_directory(ours) == ours
    assert ours.stat().st_mode & 0o777 == 0o700
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    assert private.private_directory(ours) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act for another user")
def test_another_user_who_comes_first_is_noticed(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 65534, 65534)
    assert private.private_directory(theirs) is None
    assert private.private_directory(theirs / "below") is None
    link = tmp_path / "link"
    link.symlink_to(private_cache(tmp_path))
    os.chown(link, 65534, 65534, follow_symlinks=False)
    assert private.private_directory(link / "kernels") is None


def test_jars_that_others_could_have_put_there_are_not_taken(cache: Path) -> None:
    place = cache / "jars" / f"postgresql-spark-{pyspark.__version__}"
    place.mkdir(parents=True)
    (place / "postgresql-42.7.8.jar").touch()
    assert len(jars.cached_jars()) == 1
    place.chmod(0o777)
    assert jars.cached_jars() == []
    for asked in (jars.needed_jars, jars.fetch):
        with pytest.raises(MissingRuntime, match="not private"):
            asked("postgresql")
