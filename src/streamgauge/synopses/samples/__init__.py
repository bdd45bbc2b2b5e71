"""Samples: rows that stand for all rows, with the chance each had to be kept."""

from __future__ import annotations

from streamgauge.synopses.on_use import family
from streamgauge.synopses.synopsis import Synopsis

# Each in its own module, imported when it is asked for.
PLACES = {
    "Bernoulli": "bernoulli",
    "Poisson": "poisson",
    "Reservoir": "reservoir",
    "Sequential": "sequential",
    "Stratified": "stratified",
    "Systematic": "systematic",
    "Every": "every",
    "BiasedReservoir": "biased_reservoir",
    "Halving": "halving",
    "BernoulliWindow": "bernoulli_window",
    "PassiveWindow": "passive_window",
    "ResampledWindow": "resampled_window",
    "Chain": "chain",
    "StratifiedWindow": "stratified_window",
    "Priority": "priority",
    "RandomPairing": "random_pairing",
    "VarOpt": "varopt",
}

KINDS: tuple[type[Synopsis], ...]

__getattr__ = family(__name__, PLACES)
