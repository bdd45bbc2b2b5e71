"""Samples: rows that stand for all rows, with the chance each had to be kept."""

from __future__ import annotations

from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = ()
