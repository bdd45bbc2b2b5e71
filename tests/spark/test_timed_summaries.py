"""Summaries of DataFrames refuse synopses whose window would follow the partitions."""

from __future__ import annotations

import pytest

from streamgauge import functions
from streamgauge.kernel.errors import BindError
from streamgauge.synopses import registry
from streamgauge.synopses.synopsis import Expiring


@pytest.mark.parametrize(
    "kind", sorted(k for k, c in registry().items() if issubclass(c, Expiring))
)
def test_a_windowed_kind_is_refused(kind: str) -> None:
    with pytest.raises(BindError):
        functions.summary(kind, "v")


def test_kinds_without_a_window_are_taken() -> None:
    assert functions.summary("kll", "v").kind == "kll"
