"""Signatures of kernels: as text and back, and the list fits the kernels of today."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import from_dtype, typeof
from numba import types as numba_types

from streamgauge.kernel import precompile, signatures
from streamgauge.kernel.signatures import TypeNames

types: Any = numba_types


class Pair(NamedTuple):
    left: np.ndarray
    right: float


RECORD = np.dtype([("x", "<f8"), ("flag", "u1"), ("sums", "<f8", (5, 4))], align=True)
PACKED = np.dtype([("x", "<f8"), ("flag", "u1")])


@pytest.mark.parametrize(
    "kind",
    [
        types.int64,
        types.boolean,
        types.literal(-3),
        types.literal(True),
        types.Array(types.float64, 2, "C", readonly=True),
        types.Array(from_dtype(RECORD), 1, "C"),
        types.Array(from_dtype(PACKED), 1, "A", aligned=False),
        typeof((np.zeros(1), 2.0)),
        typeof((1, 2, 3)),
        typeof(Pair(np.zeros(1), 2.0)),
    ],
    ids=str,
)
def test_a_type_comes_back_from_its_text(kind: Any) -> None:
    names = TypeNames({})
    text = names.text(kind)
    again = TypeNames(json.loads(json.dumps(names.table)))
    assert again.type(text) == kind


def test_a_type_without_a_text_is_said() -> None:
    with pytest.raises(signatures.Unlisted):
        TypeNames({}).text(types.unicode_type)


@pytest.mark.slow
def test_listed_kernels_exist_and_take_so_many_arguments() -> None:
    names, kernels = signatures.listed()
    assert len(kernels) > 400
    for kernel, listed in kernels.items():
        parameters = inspect.signature(signatures.found(kernel).py_func).parameters
        for texts in listed:
            assert len(texts) == len(parameters), f"{kernel}: run `make signatures`"
            assert all(names.type(text) is not None for text in texts)


@pytest.mark.slow
def test_what_is_compiled_ahead_is_found_by_those_who_call_it(tmp_path: Path) -> None:
    module = "streamgauge.kernel.hashing"
    script = f"""
from pathlib import Path
from streamgauge.kernel import jit, precompile, signatures
kernels = precompile.by_module()[{module!r}]
done = precompile.mark(jit.cache_root(), {module!r}, kernels)
new = not done.exists()
precompile.compile_module({module!r}, kernels, done)
found = [signatures.found(kernel) for kernel in kernels]
hits = sum(sum(kernel.stats.cache_hits.values()) for kernel in found)
print(new, hits >= sum(map(len, kernels.values())))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    said = [
        subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    assert said == [["True", "False"], ["False", "True"]]


def test_a_module_that_is_gone_has_no_mark(tmp_path: Path) -> None:
    assert precompile.mark(tmp_path, "streamgauge.kernel.never", {}) is None
