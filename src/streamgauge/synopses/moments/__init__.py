"""Moments: powers of frequencies, join sizes and distances between streams."""

from __future__ import annotations

from streamgauge.synopses.on_use import family
from streamgauge.synopses.synopsis import Synopsis

# Each in its own module, imported when it is asked for.
PLACES = {
    "FastAms": "fast_ams",
    "Ams": "ams",
    "DyadicAms": "dyadic_ams",
    "JoinSketch": "join_sketch",
    "Stable": "stable",
    "L0": "l0",
    "Dominance": "dominance",
}

KINDS: tuple[type[Synopsis], ...]

__getattr__ = family(__name__, PLACES)
