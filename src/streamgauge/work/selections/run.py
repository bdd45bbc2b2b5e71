"""Bringing the selections of one stream and shard forward: one index for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamgauge.engine.distribution import LOCAL
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.selected import selected
from streamgauge.engine.store import Store, empty_store, widened, with_rows
from streamgauge.engine.stream_inputs import UNSTARTED
from streamgauge.log.home import Home
from streamgauge.operators.predicate_index import PredicateIndex
from streamgauge.plan.nodes import Named
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.selections import Selection
from streamgauge.results.row_blocks import RowBlock
from streamgauge.streams.stream import Stream

Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(slots=True)
class SelectionState:
    """Rows that wait for their tick to close, and late rows left out so far.

    Rows of pages up to `alone` were kept by every shard, each for the selections of its own.
    """

    waiting: Store
    missed: int = 0
    alone: int = 0


@dataclass(slots=True)
class SelectionRun:
    """Selections of one stream, with what is needed to bring them forward."""

    home: Home
    shard: int
    registry: Registry
    stream: Stream
    views: list[tuple[Standing, Selection]]
    state: SelectionState | None = None
    _index: PredicateIndex | None = None
    _active: list[Standing] = field(default_factory=list)
    _lists: dict[Named, Mask] = field(default_factory=dict)

    def seat(self) -> None:
        """Build the index of the selections that are running."""
        columns = self._columns()
        state = self.state or SelectionState(empty_store(self.stream, columns))
        state.waiting = widened(state.waiting, self.stream, columns, self.home)
        self.state = state
        running = [pair for pair in self.views if pair[0].status == "running"]
        self._active = [standing for standing, _ in running]
        self._index = PredicateIndex.of(
            [selection.where for _, selection in running], self.stream.schema
        )
        self._lists = {}
        for number, (_, selection) in enumerate(running):
            none = np.zeros(len(running), np.bool_)
            self._lists.setdefault(selection.items, none)[number] = True

    def _columns(self) -> tuple[str, ...]:
        used: set[str] = set()
        for _, selection in self.views:
            exprs = [*selection.where, *(expr for _, expr in selection.items)]
            used |= {name for expr in exprs for name in expr.columns()}
        return tuple(sorted(used))

    def advance(self, run: StreamRun) -> list[RowBlock]:
        """Take a page's rows; give those that selections ask for."""
        state = self.state
        assert state is not None, "advance before seat"
        assert self._index is not None, "advance before seat"
        store = with_rows(state.waiting, self.stream, run.brought.logged[LOCAL])
        if run.state.closed == UNSTARTED:
            state.waiting = store
            return []
        ready = store.eff <= run.closed_instant
        state.waiting = store.take(~ready)
        return self._given(store.take(ready), self._index)

    def _given(self, store: Store, index: PredicateIndex) -> list[RowBlock]:
        assert self.state is not None, "advance before seat"
        missing = self.state.missed + np.cumsum(~store.used)
        self.state.missed = int(missing[-1]) if len(missing) else self.state.missed
        missing, store = missing[store.used], store.take(store.used)
        functions = self.registry.functions
        start, query = self._mine(store, *index.by_row(store.rows, functions))
        blocks = []
        for items, ours in self._lists.items():
            if len(self._lists) == 1:
                begin, of = start, query
            else:
                here = ours[query]
                begin, of = np.append(0, np.cumsum(here))[start], query[here]
            if len(of):
                found = begin, of
                blocks.append(selected(items, store, missing, found, self._active, functions))
        return blocks

    def _mine(self, store: Store, start: Ints, query: Numbers) -> tuple[Ints, Numbers]:
        """Which selections rows go to: of rows that all shards kept, those that were this one's."""
        assert self.state is not None, "advance before seat"
        kept_by_all = store.page <= self.state.alone
        if not kept_by_all.any():
            return start, query
        ids = np.array([standing.id for standing in self._active], np.int64)
        row = np.repeat(np.arange(len(store)), np.diff(start))
        here = ~kept_by_all[row] | (ids[query] % self.home.shards == self.shard)
        return np.append(0, np.cumsum(here))[start], query[here]
