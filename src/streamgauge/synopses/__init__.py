"""Synopses: small mergeable state that stands for large data, one file each.

A new one is a file and a line in `KINDS` of its family; the checks, the laws and the guarantee
tests then run on it without further code.
"""

from __future__ import annotations

from streamgauge.kernel.wire import kind_of
from streamgauge.synopses import (
    correlated,
    distinct,
    exact,
    frequencies,
    histograms,
    moments,
    quantiles,
    samples,
    windowed,
)
from streamgauge.synopses.synopsis import Synopsis

FAMILIES = (
    exact,
    samples,
    quantiles,
    frequencies,
    distinct,
    moments,
    histograms,
    windowed,
    correlated,
)

REGISTRY: dict[str, type[Synopsis]] = {
    kind.name: kind for family in FAMILIES for kind in family.KINDS
}


def from_bytes(data: bytes) -> Synopsis:
    """Read any registered synopsis from its bytes."""
    return REGISTRY[kind_of(data)].from_bytes(data)
