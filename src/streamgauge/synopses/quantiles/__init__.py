"""Quantiles: summaries of the order of numbers, with a bar in rank or in value."""

from __future__ import annotations

from streamgauge.synopses.quantiles.arasu_manku import ArasuManku
from streamgauge.synopses.quantiles.block_window import BlockWindow
from streamgauge.synopses.quantiles.dyadic_count_min import DyadicCountMin
from streamgauge.synopses.quantiles.gk import Gk
from streamgauge.synopses.quantiles.kll import Kll
from streamgauge.synopses.quantiles.log_histogram import LogHistogram
from streamgauge.synopses.quantiles.mrl import Mrl
from streamgauge.synopses.quantiles.q_digest import QDigest
from streamgauge.synopses.quantiles.req import Req
from streamgauge.synopses.quantiles.sampled_gk import SampledGk
from streamgauge.synopses.quantiles.tdigest import Tdigest
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (
    ArasuManku,
    BlockWindow,
    DyadicCountMin,
    Gk,
    Kll,
    LogHistogram,
    Mrl,
    QDigest,
    Req,
    SampledGk,
    Tdigest,
)
