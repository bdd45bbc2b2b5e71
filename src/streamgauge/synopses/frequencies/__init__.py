"""Frequencies: how often each item occurs, and which occur most."""

from __future__ import annotations

from streamgauge.synopses.on_use import family
from streamgauge.synopses.synopsis import Synopsis

# Each in its own module, imported when it is asked for.
PLACES = {
    "CountMin": "count_min",
    "CountSketch": "count_sketch",
    "SpaceSaving": "space_saving",
    "MisraGries": "misra_gries",
    "LossyCounting": "lossy_counting",
    "StickySampling": "sticky_sampling",
    "SketchTopK": "sketch_top_k",
    "GroupTesting": "group_testing",
    "Hierarchical": "hierarchical",
    "Flows": "flows",
    "FrequentItems": "frequent_items",
    "WindowFrequent": "window_frequent",
}

KINDS: tuple[type[Synopsis], ...]

__getattr__ = family(__name__, PLACES)
