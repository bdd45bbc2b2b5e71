"""The operator of a query across streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.engine.memory import Memories
from streamgauge.engine.operator import (
    Arrays,
    CompiledOperator,
    Kept,
    Newest,
    Out,
    PageOperator,
    Runs,
    Site,
    remembered,
)
from streamgauge.log.journal import Page
from streamgauge.plan.registry import Registry, Standing
from streamgauge.work.across.run import AcrossRun, AcrossState
from streamgauge.work.across.state import pack_across, unpack_across

# The only query of an operator.
ALONE = "query"


@dataclass(slots=True)
class AcrossOperator(CompiledOperator[AcrossRun]):
    """Sketches of the streams of one query."""

    state: AcrossState = field(default_factory=AcrossState)
    run: AcrossRun | None = None

    def compile(self, site: Site, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile its query."""
        (standing,) = queries
        self.run = AcrossRun(site.home, registry, standing, self.state)

    def advance(self, runs: Runs, page: Page) -> list[Out]:
        """Take a page; the answers up to where all streams are closed."""
        run = self.compiled
        given = run.advance(runs, page)
        given.tick = run.tick
        return [given]

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Panes of sketches, rows that wait, and the last answer."""
        return pack_across(prefix, {ALONE: self.state}, arrays)

    def latest_answers(self) -> Iterator[tuple[Newest, int]]:
        """The newest answer."""
        run = self.compiled
        who = [(run.standing.id, run.standing.version)]
        memory = Memories(who, self.state.memory[np.newaxis])
        for newest in remembered(memory, [""], *run.sworn):
            yield newest, run.tick

    def kept(self, standing: Standing) -> list[Kept]:
        """Its panes."""
        panes = sum(len(part.panes.panes) for part in self.state.parts)
        return [Kept("panes", panes, self.nbytes())]


def opened() -> AcrossOperator:
    """A new operator."""
    return AcrossOperator()


def restored(prefix: str, values: dict[str, Any], arrays: Arrays) -> AcrossOperator:
    """An operator from its stored state."""
    return AcrossOperator(unpack_across(prefix, values, arrays)[ALONE])


def restored_all(values: dict[str, Any], arrays: Arrays) -> dict[str, PageOperator]:
    """All operators of a shard, by key, from state of version 4 or before."""
    states = unpack_across("across", values.get("across", {}), arrays)
    return {key: AcrossOperator(state) for key, state in states.items()}
