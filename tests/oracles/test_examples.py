"""Examples in the docstrings of oracles and of random workloads."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    f"tests.{folder}.{file.stem}"
    for folder in ("oracles", "kit")
    for file in sorted((TESTS / folder).glob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8") and not file.name.startswith("test_")
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_hold(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module), optionflags=FLAGS)
    assert found.attempted
    assert not found.failed
