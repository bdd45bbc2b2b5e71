"""The operator of the selections of one stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.engine.logged_rows import owners_by_place
from streamgauge.engine.operator import (
    Arrays,
    CompiledOperator,
    Kept,
    Out,
    PageOperator,
    Runs,
    Site,
)
from streamgauge.engine.store import Store, merged
from streamgauge.engine.store_state import pack_store, store_bytes, unpack_store
from streamgauge.log.journal import Page
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.selections import Selection, selection_of
from streamgauge.work.selections.run import SelectionRun, SelectionState


@dataclass(slots=True)
class SelectionOperator(CompiledOperator[SelectionRun]):
    """All selections of a stream and shard."""

    state: SelectionState | None = None
    run: SelectionRun | None = None

    def compile(self, site: Site, registry: Registry, queries: Sequence[Standing]) -> None:
        """Build the index of the selections."""
        views = [(standing, _selection(standing)) for standing in queries]
        stream = registry.stream(views[0][1].stream)
        self.run = SelectionRun(site.home, site.shard, registry, stream, views, self.state)
        self.run.seat()
        self.state = self.run.state

    @property
    def known(self) -> SelectionState:
        """Its state, once it was compiled."""
        assert self.state is not None, "used before it was compiled"
        return self.state

    def seat(self, runs: Runs, epoch: int) -> None:
        """Its index was built when it was compiled; kept rows are not selected."""

    def advance(self, runs: Runs, page: Page) -> list[Out]:
        """Take a page; the rows that selections ask for."""
        run = self.compiled
        return list(run.advance(runs[run.stream.name]))

    def join(self, other: SelectionOperator, site: Site, registry: Registry) -> None:
        """Rows that wait are spread over the shards; all know those that are left out."""
        mine, theirs = self.known, other.known
        self.state = SelectionState(
            merged([mine.waiting, theirs.waiting]),
            max(mine.missed, theirs.missed),
            max(mine.alone, theirs.alone),
        )

    def settle(self, site: Site) -> None:
        """Keep the rows that are this shard's, and those that all have."""
        waiting, state = self.known.waiting, self.known
        mine = owners_by_place(waiting, site.home.shards) == site.shard
        state.waiting = waiting.take(mine | ~waiting.used | (waiting.page <= state.alone))

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Rows that wait for their tick to close, and how many late rows were left out."""
        pack_store(prefix, self.known.waiting, arrays)
        return {"missed": self.known.missed, "alone": self.known.alone}

    def kept(self, standing: Standing) -> list[Kept]:
        """Its waiting rows."""
        waiting = self.known.waiting
        what = f"waiting rows of {_selection(standing).stream}"
        return [Kept(what, len(waiting), store_bytes(waiting))]


def opened() -> SelectionOperator:
    """A new operator."""
    return SelectionOperator()


def restored(prefix: str, values: dict[str, Any], arrays: Arrays) -> SelectionOperator:
    """An operator from its stored state."""
    waiting = unpack_store(prefix, arrays)
    return SelectionOperator(_state(waiting, values["missed"], values.get("alone")))


def restored_all(values: dict[str, Any], arrays: Arrays) -> dict[str, PageOperator]:
    """All operators of a shard, by key, from state of version 4 or before."""
    return {
        name: SelectionOperator(
            _state(unpack_store(f"rows/selection/{name}", arrays), missed, None)
        )
        for name, missed in values.get("rows", {}).get("selections", {}).items()
    }


def _state(waiting: Store, missed: int, alone: int | None) -> SelectionState:
    """A state as stored; an earlier release did not spread rows over shards."""
    if alone is None:
        alone = int(waiting.page.max(initial=0))
    return SelectionState(waiting, missed, alone)


def _selection(standing: Standing) -> Selection:
    selection = selection_of(standing.view)
    assert selection is not None, f"{standing.name!r} is no selection"
    return selection
