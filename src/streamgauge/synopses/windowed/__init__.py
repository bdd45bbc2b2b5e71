"""Windowed: synopses that expire or fade rows by themselves."""

from __future__ import annotations

from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = ()
