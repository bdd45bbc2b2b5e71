"""Samples: rows that stand for all rows, with the chance each had to be kept."""

from __future__ import annotations

from streamgauge.synopses.samples.bernoulli import Bernoulli
from streamgauge.synopses.samples.every import Every
from streamgauge.synopses.samples.poisson import Poisson
from streamgauge.synopses.samples.reservoir import Reservoir
from streamgauge.synopses.samples.sequential import Sequential
from streamgauge.synopses.samples.systematic import Systematic
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (
    Bernoulli,
    Poisson,
    Reservoir,
    Sequential,
    Systematic,
    Every,
)
