"""Correlated aggregates: an aggregate over rows chosen by comparison with another aggregate."""

from __future__ import annotations

from streamgauge.synopses.correlated.focused_extreme import FocusedExtreme
from streamgauge.synopses.correlated.focused_mean import FocusedMean
from streamgauge.synopses.correlated.windowed_extreme import WindowedExtreme
from streamgauge.synopses.correlated.windowed_mean import WindowedMean
from streamgauge.synopses.synopsis import Synopsis

KINDS: tuple[type[Synopsis], ...] = (FocusedExtreme, FocusedMean, WindowedExtreme, WindowedMean)
