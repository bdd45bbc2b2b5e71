"""Compiled kernels: Numba with a cache that knows when any kernel changed.

Numba's own cache looks at the path and time of the file of a function, not at the files of what it
calls. Here the cache of a module lives in a directory named after the text of the module and of all
that its kernels use from this package (`kernel_text.py`). So a stale kernel is never met, a change
elsewhere costs nothing, and checkouts and environments with the same text share what any of them
has compiled.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from streamgauge.kernel.kernel_text import deciding
from streamgauge.kernel.private import private_directory

_ROOT = Path(__file__).parent.parent
_IMPORT = re.compile(
    r"^(?:from|import) streamgauge\.([\w.]+)(?: import (?:\(([^)]*)\)|([^\n]*)))?", re.MULTILINE
)


@functools.cache
def _imported(path: Path) -> tuple[Path, ...]:
    """Files of this package that a file imports."""
    found = []
    for module, listed, inline in _IMPORT.findall(path.read_text(encoding="utf-8")):
        place = _ROOT.joinpath(*module.split("."))
        names = re.findall(r"\w+", listed or inline)
        parts = [place / name for name in names]
        candidates = [place, *parts]
        found += [file for part in candidates if (file := part.with_suffix(".py")).exists()]
    return tuple(found)


@functools.cache
def fingerprint(path: Path) -> str:
    """Hash of a file and of all it imports, directly or not."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += _imported(file)
    texts = hashlib.blake2b(digest_size=8)
    for file in sorted(seen):
        texts.update(file.read_bytes())
    return texts.hexdigest()


@functools.cache
def kernel_fingerprint(path: Path) -> str:
    """Hash of all files that decide what the kernels of a file compile to.

    Compiled code names the modules that it came from, so a module that moved is another one.
    """
    texts = hashlib.blake2b(digest_size=8)
    for file in sorted(deciding(path)):
        place = file.relative_to(_ROOT) if file.is_relative_to(_ROOT) else file.name
        texts.update(f"{place}\n".encode())
        texts.update(file.read_bytes())
    return texts.hexdigest()


def cache_place() -> Path:
    """Where compiled kernels would be kept."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(chosen) if chosen else Path(base) / "streamgauge"


def cache_root() -> Path | None:
    """Directory of compiled kernels; None where there is none that only this user can write.

    Whoever can write there runs code in our name. Without a private directory kernels are compiled
    again in each process, and nothing is kept anywhere else.
    """
    return private_directory(cache_place())


class _ByText(caching._CacheLocator):
    """Where the kernels of a module are kept, by its text and not by its path."""

    def __init__(self, function: Callable[..., Any], file: str, root: Path) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno
        self._stamp = kernel_fingerprint(Path(file))
        self._directory = root / f"{Path(file).stem}-{self._stamp}"

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _ByText | None:
        root = cache_root()
        if root is None:
            return None
        found = cls(py_func, py_file, root)
        # Made before Numba makes it: its own mode would follow the umask.
        return None if private_directory(found._directory) is None else found

    def get_cache_path(self) -> str:
        return str(self._directory)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Results(caching.CompileResultCacheImpl):
    _locator_classes = [_ByText]  # type: ignore[list-item]  # noqa: RUF012


class _KernelCache(caching.FunctionCache):
    """Numba's cache, written by one process at a time.

    Two writers at once would give the same name to the code of two signatures.
    """

    _impl_class = _Results

    def save_overload(self, sig: Any, data: Any) -> None:
        self._impl.locator.ensure_cache_path()
        with (Path(self.cache_path) / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel on first use and keep it on disk."""
    kernel: Any = numba.njit(function)
    if _ByText.from_function(function, function.__code__.co_filename) is not None:
        kernel._cache = _KernelCache(function)  # type: ignore[no-untyped-call]
    found: Callable[..., Any] = kernel
    return found
