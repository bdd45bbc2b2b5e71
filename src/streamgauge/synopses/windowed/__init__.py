"""Windowed: synopses that expire or fade rows by themselves."""

from __future__ import annotations

from streamgauge.synopses.synopsis import Synopsis
from streamgauge.synopses.windowed.decay import Decay
from streamgauge.synopses.windowed.eh_count import EhCount
from streamgauge.synopses.windowed.eh_count_min import EhCountMin
from streamgauge.synopses.windowed.eh_histogram import EhHistogram
from streamgauge.synopses.windowed.eh_mean import EhMean
from streamgauge.synopses.windowed.eh_norm import EhNorm
from streamgauge.synopses.windowed.eh_sum import EhSum
from streamgauge.synopses.windowed.eh_variance import EhVariance
from streamgauge.synopses.windowed.polynomial_decay import PolynomialDecay
from streamgauge.synopses.windowed.rarity import Rarity
from streamgauge.synopses.windowed.similarity import Similarity
from streamgauge.synopses.windowed.window_extreme import WindowExtreme

KINDS: tuple[type[Synopsis], ...] = (
    EhCount,
    EhSum,
    EhMean,
    EhVariance,
    EhNorm,
    EhCountMin,
    EhHistogram,
    WindowExtreme,
    Similarity,
    Rarity,
    Decay,
    PolynomialDecay,
)
