"""Quantiles: summaries of the order of numbers, with a bar in rank or in value."""

from __future__ import annotations

from streamgauge.synopses.on_use import family
from streamgauge.synopses.synopsis import Synopsis

# Each in its own module, imported when it is asked for.
PLACES = {
    "ArasuManku": "arasu_manku",
    "BlockWindow": "block_window",
    "DyadicCountMin": "dyadic_count_min",
    "Gk": "gk",
    "Kll": "kll",
    "LogHistogram": "log_histogram",
    "Mrl": "mrl",
    "QDigest": "q_digest",
    "Req": "req",
    "SampledGk": "sampled_gk",
    "Tdigest": "tdigest",
}

KINDS: tuple[type[Synopsis], ...]

__getattr__ = family(__name__, PLACES)
