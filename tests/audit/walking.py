"""Homes to be audited, and bars that are narrower than they may be."""

from __future__ import annotations

import pytest

from bench.audited import Walk, deferred, narrowing, sampled, sketches
from streamgauge.engine import shard

__all__ = ["Walk", "deferred", "narrow_bars", "sampled", "sketches"]


def narrow_bars(monkeypatch: pytest.MonkeyPatch, times: float = 3.0) -> None:
    """Store bars as if the error were so many times smaller than it is."""
    monkeypatch.setattr(shard, "write_block", narrowing(times))
