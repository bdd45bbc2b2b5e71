"""Quantiles: summaries of the order of numbers, with a bar in rank or in value."""

from __future__ import annotations

from streamgauge.synopses.quantiles.gk import Gk
from streamgauge.synopses.quantiles.kll import Kll
from streamgauge.synopses.quantiles.log_histogram import LogHistogram
from streamgauge.synopses.quantiles.mrl import Mrl
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (Gk, Kll, LogHistogram, Mrl)
