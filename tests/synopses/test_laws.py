"""Every registered synopsis keeps every law, on columns that hypothesis makes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.checks.conformance import CHECKS
from streamgauge.synopses import REGISTRY
from streamgauge.synopses.synopsis import Synopsis

COLUMNS = st.one_of(
    st.lists(st.integers(0, 30), max_size=60),
    st.lists(st.integers(0, 2**20 - 1), max_size=60),
    st.integers(0, 5000).map(lambda seed: list(np.random.default_rng(seed).zipf(1.5, 400) % 1000)),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(REGISTRY))
@settings(max_examples=8)
@given(column=COLUMNS)
def test_law(
    name: str, check: Callable[[type[Synopsis], np.ndarray], None], column: list[int]
) -> None:
    check(REGISTRY[name], np.array(column, np.int64))
