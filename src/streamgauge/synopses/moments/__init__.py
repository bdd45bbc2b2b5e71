"""Moments: powers of frequencies, join sizes and distances between streams."""

from __future__ import annotations

from streamgauge.synopses.moments.ams import Ams
from streamgauge.synopses.moments.dominance import Dominance
from streamgauge.synopses.moments.dyadic_ams import DyadicAms
from streamgauge.synopses.moments.fast_ams import FastAms
from streamgauge.synopses.moments.join_sketch import JoinSketch
from streamgauge.synopses.moments.l0 import L0
from streamgauge.synopses.moments.stable import Stable
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (
    FastAms,
    Ams,
    DyadicAms,
    JoinSketch,
    Stable,
    L0,
    Dominance,
)
