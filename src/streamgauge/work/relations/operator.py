"""The operator of the views over the same streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from streamgauge.engine.operator import (
    Arrays,
    CompiledOperator,
    Kept,
    Out,
    PageOperator,
    Runs,
    Site,
)
from streamgauge.engine.store_state import store_bytes
from streamgauge.log.journal import Page
from streamgauge.plan.keeping import changing_in, holds
from streamgauge.plan.nodes import Numbers
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.tree import lines
from streamgauge.work.relations.dataflow import held_key
from streamgauge.work.relations.moving import keep_read, put_together
from streamgauge.work.relations.state import answer_bytes, held_bytes, pack_view, unpack_view
from streamgauge.work.relations.view_run import (
    ViewRun,
    ViewState,
    covered_now,
    number_key,
    rows_now,
)


@dataclass(slots=True)
class ViewOperator(CompiledOperator[ViewRun]):
    """Views that keep their rows together."""

    state: ViewState = field(default_factory=ViewState)
    run: ViewRun | None = None

    def compile(self, site: Site, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the views."""
        self.run = ViewRun(site, registry, list(queries), self.state)

    def advance(self, runs: Runs, page: Page) -> list[Out]:
        """Take a page; what came and went."""
        return list(self.compiled.advance(runs, page))

    def join(self, other: ViewOperator, site: Site, registry: Registry) -> None:
        """Take in the views of another shard."""
        put_together(self.state, other.state, registry, site.home)

    def settle(self, site: Site) -> None:
        """Keep what the views of this shard read."""
        keep_read(self.compiled)

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Rows, groups and changes that wait."""
        return pack_view(prefix, self.state, arrays)

    def kept(self, standing: Standing) -> list[Kept]:
        """The rows of its streams, and its groups."""
        return [*self._stores(standing), *self._groups(standing)]

    def _stores(self, standing: Standing) -> list[Kept]:
        found = []
        for name in standing.view.streams:
            store = self.state.stores.get(name)
            if store is not None:
                found.append(Kept(f"rows of {name}", len(store), store_bytes(store)))
        return found

    def _groups(self, standing: Standing) -> list[Kept]:
        """Groups that are kept instead of rows, and answers that are read as rows."""
        run = self.compiled
        since, changing = run.since(standing), changing_in(run.streams)
        found = []
        for _, text, node in lines(standing.view.plan):
            if isinstance(node, Numbers):
                known = self.state.numbers[number_key(node)]
                found.append(Kept(f"groups of {text}", len(known.current), answer_bytes(known)))
            elif holds(node, changing):
                held = self.state.held.get(held_key(node, since))
                if held is not None:
                    found.append(Kept(f"groups of {text}", len(held.groups), held_bytes(held)))
        return found

    def rows_now(self, standing: Standing) -> pa.Table:
        """The rows that a view holds."""
        return rows_now(self.compiled, standing)

    def covered(self, standing: Standing) -> tuple[float, int | None]:
        """Share of the windows of a view that is kept, and when all will be."""
        return covered_now(self.compiled, standing)


def opened() -> ViewOperator:
    """A new operator."""
    return ViewOperator()


def restored(prefix: str, values: dict[str, Any], arrays: Arrays) -> ViewOperator:
    """An operator from its stored state."""
    return ViewOperator(unpack_view(prefix, values, arrays))


def restored_all(values: dict[str, Any], arrays: Arrays) -> dict[str, PageOperator]:
    """All operators of a shard, by key, from state of version 4 or before."""
    return {
        key: ViewOperator(unpack_view(f"rows/view/{serial}", view, arrays))
        for serial, (key, view) in enumerate(values.get("rows", {}).get("views", {}).items())
    }
