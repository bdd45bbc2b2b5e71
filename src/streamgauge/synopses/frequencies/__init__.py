"""Frequencies: how often each item occurs, and which occur most."""

from __future__ import annotations

from streamgauge.synopses.frequencies.count_min import CountMin
from streamgauge.synopses.frequencies.space_saving import SpaceSaving
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (CountMin, SpaceSaving)
