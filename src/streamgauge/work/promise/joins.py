"""The operator of a join under a work budget."""

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
from streamgauge.log.journal import Page
from streamgauge.plan.promising import is_spread
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.costs import Spent
from streamgauge.promise.figures import Figures
from streamgauge.work.promise.budget import LOOKED_AT, allowed, measured, stopwatch
from streamgauge.work.promise.join_run import JoinRun, JoinState
from streamgauge.work.promise.moving import keep_owned, put_together
from streamgauge.work.promise.state import pack_join, restored_states, unpack_join


@dataclass(slots=True)
class JoinOperator(CompiledOperator[JoinRun]):
    """Rows of the windows of one join, and the pairs that were found."""

    state: JoinState = field(default_factory=JoinState)
    spent: Spent = field(default_factory=stopwatch)
    run: JoinRun | None = None

    def compile(self, site: Site, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile its query, with what it may spend."""
        (standing,) = queries
        allowance = allowed(site, registry)[standing.name]
        self.run = JoinRun(
            site.home, registry, standing, site.shard, allowance, self.spent, self.state
        )

    def adopt(self, other: JoinOperator) -> None:
        """Take over what another copy has compiled."""
        self.run = replace(other.compiled, state=self.state, spent=self.spent)

    def reprice(self, site: Site, registry: Registry) -> None:
        """Go by new prices of probes."""
        run = self.compiled
        run.allowance = allowed(site, registry)[run.standing.name]

    def advance(self, runs: Runs, page: Page) -> list[Out]:
        """Take a page; the pairs that came and went."""
        given = self.compiled.advance(runs, page)
        return [] if given is None else [given]

    def join(self, other: JoinOperator, site: Site, registry: Registry) -> None:
        """Take in the rows and pairs of another shard's keys; all else is the same on all."""
        put_together(self.state, other.state)

    def settle(self, site: Site) -> None:
        """Keep the rows and pairs of the keys that this shard owns."""
        run = self.compiled
        if is_spread(run.plan):
            keep_owned(run)

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Rows of the windows, pairs and what waits."""
        return pack_join(prefix, self.state, arrays)

    def kept(self, standing: Standing) -> list[Kept]:
        """Rows that are looked up or may yet be."""
        rows = sum(len(side.serial) + len(side.waiting) for side in self.state.sides)
        return [Kept(LOOKED_AT, rows, self.nbytes())]

    def rows_now(self, standing: Standing) -> pa.Table:
        """The pairs that were found and are alive."""
        return self.compiled.rows_now()

    def figures(self, standing: Standing) -> Figures | None:
        """What the query has done so far."""
        return self.state.figures

    def measures(self) -> Measures:
        """Shards that share the keys of a join all choose alike; the first counts them."""
        run = self.compiled
        counts = run.shard == 0 or not is_spread(run.plan)
        return measured("join", self.spent, [self.state.figures] if counts else [])


def opened() -> JoinOperator:
    """A new operator."""
    return JoinOperator()


def restored(prefix: str, values: dict[str, Any], arrays: Arrays) -> JoinOperator:
    """An operator from its stored state."""
    return JoinOperator(unpack_join(prefix, values, arrays))


def restored_all(values: dict[str, Any], arrays: Arrays) -> dict[str, PageOperator]:
    """All operators of a shard, by key, from state of version 4 or before."""
    states = restored_states(values, arrays)["joins"]
    return {key: JoinOperator(state) for key, state in states.items()}
