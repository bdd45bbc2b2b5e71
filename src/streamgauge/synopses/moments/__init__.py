"""Moments: powers of frequencies, join sizes and distances between streams."""

from __future__ import annotations

from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = ()
