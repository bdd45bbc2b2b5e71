"""Family: series grouped by columns of their rows, one cell of a deferred query each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamgauge.engine.naming import Groups
from streamgauge.engine.pieces import Bench
from streamgauge.engine.rows import Rows
from streamgauge.kernel.jit import compiled
from streamgauge.operators.emission import ALWAYS, Codes, Flags, Ints


@dataclass(slots=True)
class Family:
    """Groups of series by columns of their rows.

    `homes` is the group of each series on this shard (-1: of another), `known` the combination of
    values it follows from, `newest` the time of the row that said so. `settled` says
    whether the page that was read had new series, `moves` which move in it: ticks, series and
    combinations.
    """

    groups: Groups
    homes: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    known: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    newest: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    settled: bool = False
    filled: bool = False
    moves: tuple[Ints, Codes, Codes] = field(
        default_factory=lambda: (np.empty(0, np.int64), _NONE, _NONE)
    )

    def read(self, bench: Bench, rows: Rows) -> set[int]:
        """Give series that are new their group; return the ticks at which others move."""
        more = len(bench.series.names) - len(self.homes)
        self.homes = np.concatenate((self.homes, np.full(more, -1, np.int32)))
        self.known = np.concatenate((self.known, np.full(more, -1, np.int32)))
        self.newest = np.concatenate((self.newest, np.full(more, ALWAYS)))
        self.groups.encode(rows, bench.words, bench.form)
        combos = self.groups.combiner.encode([rows.words[c] for c in self.groups.columns])
        before = self.known.copy()
        at = _changes(bench.sid, rows.ts, rows.late, combos, bench.revises, self.newest, before)
        sid, new = bench.sid[at], combos[at]
        # The first change of a series without a group is its welcome.
        welcome = np.zeros(len(sid), np.bool_)
        welcome[np.unique(sid, return_index=True)[1]] = True
        welcome &= self.known[sid] < 0
        self._settle(sid[welcome], new[welcome])
        self.settled = bool(welcome.any())
        self.filled = True
        self.moves = rows.tick[at][~welcome], sid[~welcome], new[~welcome]
        return set(self.moves[0].tolist())

    def move(self, tick: int) -> None:
        """Move the series that have another group from a tick on."""
        ticks, sid, new = self.moves
        self._settle(sid[ticks == tick], new[ticks == tick])

    def catch_up(self, bench: Bench, rows: Rows) -> None:
        """Take the groups of series from rows of the past."""
        for tick in sorted(self.read(bench, rows)):
            self.move(tick)

    def count(self, valued: Flags) -> int:
        """How many groups have series among some, on all shards."""
        return len(np.unique(self.known[valued[: len(self.known)]]))

    def share_out(self, bench: Bench) -> None:
        """Take the groups that are of this shard by their pools."""
        self.groups = Groups(
            self.groups.columns, bench.shard, bench.shards, self.groups.combiner, pools=bench.pools
        )
        self.groups.number(bench.words, bench.form)
        series = np.flatnonzero(self.known >= 0).astype(np.int32)
        self._settle(series, self.known[series])

    def _settle(self, series: Codes, combos: Codes) -> None:
        self.known[series] = combos
        self.homes[series] = np.array(self.groups.local, np.int32)[combos]


_NONE: Codes = np.empty(0, np.int32)


@compiled
def _changes(sid, ts, late, combos, revise, newest, known) -> npt.NDArray[np.int64]:  # type: ignore[no-untyped-def]
    """Rows that give their series another group: newer than what was known, and used."""
    out = np.empty(len(sid), np.int64)
    n = 0
    for i in range(len(sid)):
        s = sid[i]
        if (late[i] and not revise) or ts[i] < newest[s]:
            continue
        newest[s] = ts[i]
        if known[s] != combos[i]:
            known[s] = combos[i]
            out[n] = i
            n += 1
    return out[:n]
