"""The operator of selections under work budgets over one stream and window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from streamgauge.engine.operator import (
    Arrays,
    CompiledOperator,
    Kept,
    Measures,
    Out,
    PageOperator,
    Runs,
    Site,
)
from streamgauge.engine.row_answers import row_blocks
from streamgauge.log.journal import Page
from streamgauge.plan.promising import SelectionPlan, selection_plan
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.costs import Spent
from streamgauge.promise.figures import Figures
from streamgauge.work.promise.budget import LOOKED_AT, allowed, measured, stopwatch
from streamgauge.work.promise.moving import select_together
from streamgauge.work.promise.reach import Asking, SelectState
from streamgauge.work.promise.selection_run import SelectionsRun, SelectionsState
from streamgauge.work.promise.state import (
    pack_select,
    pack_selections,
    restored_states,
    unpack_selections,
)


@dataclass(slots=True)
class SelectionsOperator(CompiledOperator[SelectionsRun]):
    """Rows of one stream and window, and the selections that look at them."""

    state: SelectionsState = field(default_factory=SelectionsState)
    spent: Spent = field(default_factory=stopwatch)
    run: SelectionsRun | None = None

    def compile(self, site: Site, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the selections, each with what it may spend."""
        state, may = self.state, allowed(site, registry)
        state.queries = {one.key: state.queries.get(one.key, SelectState()) for one in queries}
        asking = [Asking(one, _plan(one), may[one.name], state.queries[one.key]) for one in queries]
        first = asking[0].plan
        self.run = SelectionsRun(
            site.home,
            registry,
            registry.stream(first.stream),
            first.window,
            self.spent,
            asking,
            state,
        )

    def adopt(self, other: SelectionsOperator) -> None:
        """Take over what another copy has compiled."""
        asking = [
            replace(asked, state=self.state.queries[asked.standing.key])
            for asked in other.compiled.asking
        ]
        self.run = replace(other.compiled, asking=asking, state=self.state, spent=self.spent)

    def reprice(self, site: Site, registry: Registry) -> None:
        """Go by new prices of probes."""
        for asked in self.compiled.asking:
            asked.allowance = allowed(site, registry)[asked.standing.name]

    def advance(self, runs: Runs, page: Page) -> list[Out]:
        """Take a page; the rows that selections ask for."""
        shared, own = self.compiled.advance(runs, page)
        with self.spent.giving():
            return [*shared, *row_blocks(own)]

    def join(self, other: SelectionsOperator, site: Site, registry: Registry) -> None:
        """Take in the selections of another shard, which looks at the same rows."""
        select_together(self.state, other.state)

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Rows that wait or may yet be looked at, and what each selection holds."""
        return pack_selections(prefix, self.state, arrays)

    def kept(self, standing: Standing) -> list[Kept]:
        """Rows that a selection holds."""
        arrays: Arrays = {}
        known = self.state.queries[standing.key]
        pack_select("", known, arrays)
        held = 0 if known.held is None else len(known.held)
        return [Kept(LOOKED_AT, held, sum(array.nbytes for array in arrays.values()))]

    def rows_now(self, standing: Standing) -> pa.Table:
        """The rows that a selection found and that are in its window."""
        return self.compiled.rows_now(standing.name)

    def figures(self, standing: Standing) -> Figures | None:
        """What a selection has done so far; None before it began."""
        known = self.state.queries.get(standing.key)
        return None if known is None else known.figures

    def measures(self) -> Measures:
        """What was spent, and how far the budgets reached."""
        each = [known.figures for known in self.state.queries.values()]
        return measured("selection", self.spent, each)


def opened() -> SelectionsOperator:
    """A new operator."""
    return SelectionsOperator()


def restored(prefix: str, values: dict[str, Any], arrays: Arrays) -> SelectionsOperator:
    """An operator from its stored state."""
    return SelectionsOperator(unpack_selections(prefix, values, arrays))


def restored_all(values: dict[str, Any], arrays: Arrays) -> dict[str, PageOperator]:
    """All operators of a shard, by key, from state of version 4 or before."""
    states = restored_states(values, arrays)["selections"]
    return {key: SelectionsOperator(state) for key, state in states.items()}


def _plan(standing: Standing) -> SelectionPlan:
    plan = selection_plan(standing.view)
    assert plan is not None, f"{standing.name!r} selects no rows of one stream"
    return plan
