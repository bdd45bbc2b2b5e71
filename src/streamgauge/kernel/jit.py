"""Compiled kernels: Numba with a cache that knows when any kernel changed.

Numba's own cache looks at the file of a function only, not at the files of what it calls. Here the
cache of a module lives in a directory named after the text of the module and of all it imports
from this package, so a stale kernel is never met and a change elsewhere costs nothing.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

_ROOT = Path(__file__).parent.parent
_IMPORT = re.compile(
    r"^(?:from|import) streamgauge\.([\w.]+)(?: import (?:\(([^)]*)\)|([^\n]*)))?", re.MULTILINE
)
_CONFIG: Any = numba.config
_CHOSEN_BY_USER = bool(_CONFIG.CACHE_DIR)


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
def _fingerprint(path: Path) -> str:
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


def _cache_directory(path: Path) -> str:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    name = f"{path.stem}-{_fingerprint(path)}"
    directory = Path(base) / "streamgauge" / name
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        directory = Path(tempfile.gettempdir()) / f"streamgauge-{os.getuid()}" / name
        directory.mkdir(parents=True, exist_ok=True)
    return str(directory)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel on first use and keep it on disk."""
    if not _CHOSEN_BY_USER:
        _CONFIG.CACHE_DIR = _cache_directory(Path(function.__code__.co_filename))
    kernel: Callable[..., Any] = numba.njit(cache=True)(function)
    return kernel
