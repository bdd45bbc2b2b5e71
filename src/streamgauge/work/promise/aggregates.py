"""The operator of an aggregate under a work budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from streamgauge.engine.memory import Memories
from streamgauge.engine.operator import (
    Arrays,
    CompiledOperator,
    Kept,
    Measures,
    Newest,
    Out,
    PageOperator,
    Runs,
    Site,
    remembered,
)
from streamgauge.log.journal import Page
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.costs import Spent
from streamgauge.promise.figures import Figures
from streamgauge.work.promise.aggregate_run import AggregateRun
from streamgauge.work.promise.budget import LOOKED_AT, allowed, measured, stopwatch
from streamgauge.work.promise.panes import AggregateState
from streamgauge.work.promise.state import pack_aggregate, restored_states, unpack_aggregate


@dataclass(slots=True)
class AggregateOperator(CompiledOperator[AggregateRun]):
    """Panes of rows of one aggregate, looked at as far as its budget reaches."""

    state: AggregateState = field(default_factory=AggregateState)
    spent: Spent = field(default_factory=stopwatch)
    run: AggregateRun | None = None

    def compile(self, site: Site, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile its query, with what it may spend."""
        (standing,) = queries
        allowance = allowed(site, registry)[standing.name]
        self.run = AggregateRun(site.home, registry, standing, allowance, self.spent, self.state)

    def adopt(self, other: AggregateOperator) -> None:
        """Take over what another copy has compiled."""
        self.run = replace(other.compiled, state=self.state, spent=self.spent)

    def reprice(self, site: Site, registry: Registry) -> None:
        """Go by new prices of probes."""
        run = self.compiled
        run.allowance = allowed(site, registry)[run.standing.name]

    def advance(self, runs: Runs, page: Page) -> list[Out]:
        """Take a page; the answers up to where the stream is closed."""
        run = self.compiled
        found = run.advance(runs, page)
        for given in found:
            given.tick = run.stream.tick
        return list(found)

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Rows that may yet be looked at, strata and the last answer."""
        return pack_aggregate(prefix, self.state, arrays)

    def latest_answers(self) -> Iterator[tuple[Newest, int]]:
        """The newest answer."""
        run = self.compiled
        who = [(run.standing.id, run.standing.version)]
        memory = Memories(who, self.state.memory[np.newaxis])
        for newest in remembered(memory, [""], *run.sworn):
            yield replace(newest, share=self.state.share), run.stream.tick

    def kept(self, standing: Standing) -> list[Kept]:
        """Rows that may yet be looked at."""
        return [Kept(LOOKED_AT, self.state.given - self.state.base, self.nbytes())]

    def figures(self, standing: Standing) -> Figures | None:
        """What the query has done so far."""
        return self.state.figures

    def measures(self) -> Measures:
        """What was spent, and how far the budget reached."""
        return measured("aggregate", self.spent, [self.state.figures])


def opened() -> AggregateOperator:
    """A new operator."""
    return AggregateOperator()


def restored(prefix: str, values: dict[str, Any], arrays: Arrays) -> AggregateOperator:
    """An operator from its stored state."""
    return AggregateOperator(unpack_aggregate(prefix, values, arrays))


def restored_all(values: dict[str, Any], arrays: Arrays) -> dict[str, PageOperator]:
    """All operators of a shard, by key, from state of version 4 or before."""
    states = restored_states(values, arrays)["aggregates"]
    return {key: AggregateOperator(state) for key, state in states.items()}
