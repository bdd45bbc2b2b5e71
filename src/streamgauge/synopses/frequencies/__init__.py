"""Frequencies: how often each item occurs, and which occur most."""

from __future__ import annotations

from streamgauge.synopses.frequencies.count_min import CountMin
from streamgauge.synopses.frequencies.count_sketch import CountSketch
from streamgauge.synopses.frequencies.flows import Flows
from streamgauge.synopses.frequencies.frequent_items import FrequentItems
from streamgauge.synopses.frequencies.group_testing import GroupTesting
from streamgauge.synopses.frequencies.hierarchical import Hierarchical
from streamgauge.synopses.frequencies.lossy_counting import LossyCounting
from streamgauge.synopses.frequencies.misra_gries import MisraGries
from streamgauge.synopses.frequencies.sketch_top_k import SketchTopK
from streamgauge.synopses.frequencies.space_saving import SpaceSaving
from streamgauge.synopses.frequencies.sticky_sampling import StickySampling
from streamgauge.synopses.frequencies.window_frequent import WindowFrequent
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (
    CountMin,
    CountSketch,
    SpaceSaving,
    MisraGries,
    LossyCounting,
    StickySampling,
    SketchTopK,
    GroupTesting,
    Hierarchical,
    Flows,
    FrequentItems,
    WindowFrequent,
)
