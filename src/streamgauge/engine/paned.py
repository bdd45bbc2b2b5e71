"""Paned operators: tables whose rows lie in panes of event time, whole from some instant on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from streamgauge.engine.operator import Past
from streamgauge.engine.pane_shapes import UNSET
from streamgauge.engine.pieces import NO_LIMIT, Bench
from streamgauge.engine.tables import Table

# Windows that hold all rows since some instant.
WHOLE = ("landmark", "decay")


class Paned(Table):
    """A table of panes: `vouched` is the instant after which no row is missing from them."""

    vouched: int
    newest: int
    n_panes: int

    @property
    def extent(self) -> int:
        """The panes it holds."""
        return self.n_panes

    def begin(self, bench: Bench) -> None:
        """Note where the stream has begun, if that was not known before."""
        if self.vouched == UNSET:
            self.vouched = NO_LIMIT if self.key.kind in WHOLE else bench.first

    def take_past(self, bench: Bench, past: Past) -> None:
        """Fill new panes, or those that longer windows need."""
        whole = self.key.kind in WHOLE
        if not past.fresh:
            self._lengthened(bench, past)
        elif self.key.born:
            self.vouched = NO_LIMIT if whole else past.closed
        else:
            self.fill(bench, past.rows, past.span)
            since = whole and past.floor <= max(past.first, self.key.start)
            self.vouched = NO_LIMIT if since else past.floor

    def _lengthened(self, bench: Bench, past: Past) -> None:
        kept_from = max(self.vouched, (self.newest - past.held) * self.key.width)
        if past.floor < kept_from:
            older = past.rows.take(past.rows.ts <= kept_from)
            self.fill(replace(bench, sid=np.empty(0, np.int32)), older, past.span)
        self.vouched = min(kept_from, past.floor)
