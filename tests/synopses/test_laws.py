"""Every registered synopsis keeps every law, on columns that hypothesis makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.checks.conformance import CHECKS
from streamgauge.synopses import REGISTRY

pytestmark = pytest.mark.slow

COLUMNS = st.one_of(
    st.lists(st.integers(0, 30), max_size=60),
    st.lists(st.integers(0, 2**20 - 1), max_size=60),
    st.integers(0, 5000).map(lambda seed: list(np.random.default_rng(seed).zipf(1.5, 400) % 1000)),
)


def law(check: Callable[..., None]) -> Any:
    """A test of one law. One function for all would sink hypothesis: it keeps settings per call."""

    @pytest.mark.parametrize("name", sorted(REGISTRY))
    @settings(max_examples=8)
    @given(column=COLUMNS)
    def test(name: str, column: list[int]) -> None:
        check(REGISTRY[name], np.array(column, np.int64))

    return test


for _check in CHECKS:
    globals()[f"test_{_check.__name__}"] = law(_check)
