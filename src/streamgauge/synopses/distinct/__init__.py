"""Distinct: how many different items there are, and sets of them combined."""

from __future__ import annotations

from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = ()
