"""Synopses: small mergeable state that stands for large data, one file each.

A new one is a file and a line of `REGISTRY`; the checks, the laws and the guarantee tests then run
on it without further code.
"""

from __future__ import annotations

from streamgauge.kernel.wire import kind_of
from streamgauge.synopses.frequencies.count_min import CountMin
from streamgauge.synopses.synopsis import Synopsis

REGISTRY: dict[str, type[Synopsis]] = {kind.name: kind for kind in (CountMin,)}


def from_bytes(data: bytes) -> Synopsis:
    """Read any registered synopsis from its bytes."""
    return REGISTRY[kind_of(data)].from_bytes(data)
