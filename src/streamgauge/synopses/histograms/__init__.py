"""Histograms: piecewise and wavelet pictures of a distribution or a signal."""

from __future__ import annotations

from streamgauge.synopses.histograms.approx_v_optimal import ApproxVOptimal
from streamgauge.synopses.histograms.dynamic_wavelet import DynamicWavelet
from streamgauge.synopses.histograms.haar import Haar
from streamgauge.synopses.histograms.piecewise_linear import PiecewiseLinear
from streamgauge.synopses.histograms.range_optimal import RangeOptimal
from streamgauge.synopses.histograms.robust_histogram import RobustHistogram
from streamgauge.synopses.histograms.v_optimal import VOptimal
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (
    Haar,
    VOptimal,
    ApproxVOptimal,
    RobustHistogram,
    PiecewiseLinear,
    RangeOptimal,
    DynamicWavelet,
)
