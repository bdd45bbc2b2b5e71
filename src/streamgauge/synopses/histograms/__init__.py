"""Histograms: piecewise and wavelet pictures of a distribution or a signal."""

from __future__ import annotations

from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = ()
