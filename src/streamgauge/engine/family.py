"""Family: series grouped by columns of their rows, one cell of a deferred query each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streamgauge.engine.naming import Groups
from streamgauge.engine.pieces import Bench
from streamgauge.engine.rows import Rows
from streamgauge.operators.emission import Codes


@dataclass(slots=True)
class Family:
    """Groups of series by columns of their rows; `homes` is the group of each series."""

    groups: Groups
    homes: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    known: Codes = field(default_factory=lambda: np.empty(0, np.int32))

    def welcome(self, bench: Bench, rows: Rows) -> bool:
        """Give new series the group of their first row; say whether there were some."""
        self._widen(len(bench.series.names))
        if not len(rows):
            return False
        combos = self._combos(bench, rows)
        new = self.known[bench.sid] < 0
        if not new.any():
            return False
        series, first = np.unique(bench.sid[new], return_index=True)
        self._settle(series, combos[new][first], bench)
        return True

    def moves(self, bench: Bench, rows: Rows) -> list[int]:
        """Ticks at which some series has a row of another group than before."""
        if not len(rows):
            return []
        combos = self._combos(bench, rows)
        order = np.argsort(bench.sid, kind="stable")
        sid, now = bench.sid[order], combos[order]
        before = np.concatenate((self.known[sid[:1]], now[:-1]))
        first = np.concatenate(([True], sid[1:] != sid[:-1]))
        before[first] = self.known[sid[first]]
        return [int(tick) for tick in np.unique(rows.tick[order][now != before])]

    def resettle(self, bench: Bench, rows: Rows, sid: Codes) -> None:
        """Move series to the groups of their last rows here."""
        combos = self._combos(bench, rows)
        series, last = np.unique(sid[::-1], return_index=True)
        self._settle(series, combos[::-1][last], bench)

    def _settle(self, series: Codes, combos: Codes, bench: Bench) -> None:
        self.known[series] = combos
        self.homes[series] = np.array(self.groups.local, np.int32)[combos]

    def _combos(self, bench: Bench, rows: Rows) -> Codes:
        self.groups.encode(rows, bench.words)
        columns = [rows.words[column] for column in self.groups.columns]
        return self.groups.combiner.encode(columns)

    def _widen(self, n_series: int) -> None:
        more = np.full(max(0, n_series - len(self.homes)), -1, np.int32)
        self.homes = np.concatenate((self.homes, more))
        self.known = np.concatenate((self.known, more))
