"""Bringing the selections of one stream and shard forward: one index for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.progress import UNSTARTED, StreamRun
from streamgauge.engine.store import Store, empty_store, merged, read_rows, widened
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.predicate_index import PredicateIndex
from streamgauge.plan.nodes import Named
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.selections import Selection, selection_of
from streamgauge.results.row_blocks import RowBlock
from streamgauge.streams.stream import Stream

Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class SelectionState:
    """Rows that wait for their tick to close, and late rows left out so far."""

    waiting: Store
    missed: int = 0


@dataclass(slots=True)
class SelectionRun:
    """Selections of one stream, with what is needed to bring them forward."""

    home: Home
    registry: Registry
    stream: Stream
    views: list[Standing]
    state: SelectionState | None = None
    _index: PredicateIndex | None = None
    _active: list[Standing] = field(default_factory=list)
    _lists: dict[Named, Ints] = field(default_factory=dict)

    def seat(self) -> None:
        """Build the index of the selections that are running."""
        columns = self._columns()
        state = self.state or SelectionState(empty_store(self.stream, columns))
        state.waiting = widened(state.waiting, self.stream, columns, self.home)
        self.state = state
        self._active = [standing for standing in self.views if standing.status == "running"]
        asked = [_selection(standing) for standing in self._active]
        self._index = PredicateIndex.of([selection.where for selection in asked])
        lists: dict[Named, list[int]] = {}
        for number, selection in enumerate(asked):
            lists.setdefault(selection.items, []).append(number)
        self._lists = {items: np.array(numbers) for items, numbers in lists.items()}

    def _columns(self) -> tuple[str, ...]:
        used: set[str] = set()
        for standing in self.views:
            selection = _selection(standing)
            exprs = [*selection.where, *(expr for _, expr in selection.items)]
            used |= {name for expr in exprs for name in expr.columns()}
        return tuple(sorted(used))

    def advance(self, run: StreamRun, page: Page) -> list[RowBlock]:
        """Take a page's rows; give those that selections ask for."""
        state = self.state
        assert state is not None, "advance before seat"
        assert self._index is not None, "advance before seat"
        parts = [state.waiting]
        for serial, segment in enumerate(page.segments):
            if segment.stream == self.stream.name:
                columns = state.waiting.rows.column_names
                parts.append(read_rows(self.stream, segment, (page.number, serial), columns))
        store = merged(parts) if len(parts) > 1 else state.waiting
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
        row, query = index.match(store.rows, functions)
        blocks = []
        for items, numbers in self._lists.items():
            ours = np.zeros(len(self._active), np.bool_)
            ours[numbers] = True
            here = ours[query]
            if here.any():
                block = self._block(items, store, missing, row[here], query[here])
                blocks.append(block)
        return blocks

    def _block(
        self, items: Named, store: Store, missing: Ints, row: Ints, query: npt.NDArray[np.int32]
    ) -> RowBlock:
        places, counts = np.unique(row, return_counts=True)
        asked, to = np.unique(query, return_inverse=True)
        rows = store.rows.take(pa.array(places))
        functions = self.registry.functions
        arrays = [evaluate(expr, rows, functions) for _, expr in items]
        return RowBlock(
            pa.table(arrays, names=[name for name, _ in items]),
            store.eff[places],
            np.ones(len(places), np.int64),
            missing[places],
            missing[places] == 0,
            tuple((self._active[q].name, self._active[q].version) for q in asked.tolist()),
            to.astype(np.int32),
            np.concatenate((np.zeros(1), np.cumsum(counts))).astype(np.int32),
        )


def _selection(standing: Standing) -> Selection:
    selection = selection_of(standing.view)
    assert selection is not None, f"{standing.name!r} is no selection"
    return selection
