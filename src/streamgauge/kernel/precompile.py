"""Compile all listed kernels ahead: `python -m streamgauge.kernel.precompile`.

Each process that meets a kernel first would compile it, and four test workers compile it four
times. Kernels that are on disk already are passed over by a mark beside them.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path

from numba.core.errors import NumbaError

from streamgauge.kernel.jit import cache_root, kernel_fingerprint
from streamgauge.kernel.signatures import found, listed

Signatures = dict[str, list[list[str]]]


def by_module() -> dict[str, Signatures]:
    """The listed kernels of each module."""
    modules: dict[str, Signatures] = defaultdict(dict)
    for kernel, signatures in listed()[1].items():
        modules[kernel.partition(":")[0]][kernel] = signatures
    return modules


def mark(root: Path, module: str, kernels: Signatures) -> Path | None:
    """File that says that the kernels of a module are on disk; None for a module that is gone."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin)
    named = hashlib.blake2b(json.dumps(kernels).encode(), digest_size=8).hexdigest()
    return root / f"{file.stem}-{kernel_fingerprint(file)}" / f"precompiled-{named}"


def compile_module(module: str, kernels: Signatures, done: Path) -> None:
    """Compile the listed kernels of a module."""
    names = listed()[0]
    for kernel, signatures in kernels.items():
        for texts in signatures:
            try:
                found(kernel).compile(tuple(names.type(text) for text in texts))
            except (AttributeError, ImportError, LookupError, NumbaError, TypeError, ValueError):
                # The kernel, or a tuple that it takes, has changed since it was listed.
                continue
    done.parent.mkdir(exist_ok=True, mode=0o700)
    done.touch()


def told(number: int, whole: int) -> None:
    """Tell progress: in place on a terminal, else a line for each quarter."""
    in_place = sys.stderr.isatty() and number < whole
    if in_place or 4 * number // whole > 4 * (number - 1) // whole:
        end = "\r" if in_place else "\n"
        sys.stderr.write(f"compiled kernels of {number} of {whole} modules{end}")
        sys.stderr.flush()


def precompile(workers: int) -> int:
    """Compile what is not on disk yet, with a line of progress; how many modules that were."""
    root = cache_root()
    if root is None:
        return 0
    marks = {(module, mark(root, module, kernels)) for module, kernels in by_module().items()}
    left = [(module, done) for module, done in sorted(marks, key=str) if done and not done.exists()]
    if not left:
        return 0
    kernels = by_module()
    # Forked after this module is loaded, each process compiles one module after the other.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        tasks = [pool.submit(compile_module, name, kernels[name], done) for name, done in left]
        for number, task in enumerate(as_completed(tasks), 1):
            task.result()
            told(number, len(tasks))
    return len(left)


if __name__ == "__main__":
    precompile(os.cpu_count() or 1)
