"""Distinct: how many different items there are, and sets of them combined."""

from __future__ import annotations

from streamgauge.synopses.distinct.ams_distinct import AmsDistinct
from streamgauge.synopses.distinct.bjkst import Bjkst
from streamgauge.synopses.distinct.cohen import Cohen
from streamgauge.synopses.distinct.coordinated import Coordinated
from streamgauge.synopses.distinct.counting_fm import CountingFm
from streamgauge.synopses.distinct.cpc import Cpc
from streamgauge.synopses.distinct.distinct_sampling import DistinctSampling
from streamgauge.synopses.distinct.fm import Fm
from streamgauge.synopses.distinct.hll import Hll
from streamgauge.synopses.distinct.linear_counting import LinearCounting
from streamgauge.synopses.distinct.loglog import Loglog
from streamgauge.synopses.distinct.pcsa import Pcsa
from streamgauge.synopses.distinct.randomized_wave import RandomizedWave
from streamgauge.synopses.distinct.super_loglog import SuperLoglog
from streamgauge.synopses.distinct.theta import Theta
from streamgauge.synopses.distinct.windowed_fm import WindowedFm
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (
    Hll,
    Cpc,
    Theta,
    LinearCounting,
    Loglog,
    SuperLoglog,
    Pcsa,
    Fm,
    AmsDistinct,
    Cohen,
    Coordinated,
    Bjkst,
    DistinctSampling,
    CountingFm,
    WindowedFm,
    RandomizedWave,
)
