"""Samples: rows that stand for all rows, with the chance each had to be kept."""

from __future__ import annotations

from streamgauge.synopses.samples.bernoulli import Bernoulli
from streamgauge.synopses.samples.bernoulli_window import BernoulliWindow
from streamgauge.synopses.samples.biased_reservoir import BiasedReservoir
from streamgauge.synopses.samples.chain import Chain
from streamgauge.synopses.samples.every import Every
from streamgauge.synopses.samples.halving import Halving
from streamgauge.synopses.samples.passive_window import PassiveWindow
from streamgauge.synopses.samples.poisson import Poisson
from streamgauge.synopses.samples.priority import Priority
from streamgauge.synopses.samples.random_pairing import RandomPairing
from streamgauge.synopses.samples.resampled_window import ResampledWindow
from streamgauge.synopses.samples.reservoir import Reservoir
from streamgauge.synopses.samples.sequential import Sequential
from streamgauge.synopses.samples.stratified import Stratified
from streamgauge.synopses.samples.stratified_window import StratifiedWindow
from streamgauge.synopses.samples.systematic import Systematic
from streamgauge.synopses.samples.varopt import VarOpt
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (
    Bernoulli,
    Poisson,
    Reservoir,
    Sequential,
    Stratified,
    Systematic,
    Every,
    BiasedReservoir,
    Halving,
    BernoulliWindow,
    PassiveWindow,
    ResampledWindow,
    Chain,
    StratifiedWindow,
    Priority,
    RandomPairing,
    VarOpt,
)
