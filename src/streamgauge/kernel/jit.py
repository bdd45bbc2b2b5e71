"""Compiled kernels: Numba with a cache that knows when any kernel changed.

Numba's own cache looks at the file of a function only, not at the files of what it calls. Here the
cache lives in a directory named after the text of all kernels, so a stale one is never met.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

_ROOT = Path(__file__).parent.parent


def _fingerprint() -> str:
    texts = hashlib.blake2b(digest_size=8)
    for folder in ("kernel", "synopses", "operators", "windows"):
        for path in sorted((_ROOT / folder).rglob("*.py")):
            texts.update(path.read_bytes())
    return texts.hexdigest()


def _cache_directory() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(base) / "streamgauge" / f"kernels-{_fingerprint()}"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        path = Path(tempfile.gettempdir()) / f"streamgauge-{os.getuid()}" / path.name
        path.mkdir(parents=True, exist_ok=True)
    return str(path)


_CONFIG: Any = numba.config
if not _CONFIG.CACHE_DIR:
    _CONFIG.CACHE_DIR = _cache_directory()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel on first use and keep it on disk."""
    kernel: Callable[..., Any] = numba.njit(cache=True)(function)
    return kernel
