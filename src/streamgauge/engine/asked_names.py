"""Who asks: what the answers of a shard say of their queries, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamgauge.engine.unusable import Reach
from streamgauge.kernel.moves import Moves
from streamgauge.plan.assignment import Change
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.view import View
from streamgauge.results.blocks import Contracts


@dataclass(frozen=True, slots=True)
class AskedNames:
    """Numbers, names, versions and contracts of the queries that are answered, by number.

    `reached` are the rows that a query looks at, by its place, once that was asked.
    """

    numbers: npt.NDArray[np.int64]
    versions: npt.NDArray[np.int32]
    names: list[str]
    contracts: Contracts
    queries: list[Query | View]
    reached: dict[int, tuple[Reach, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, registry: Registry) -> AskedNames:
        """All queries but those that are suspended."""
        return cls._of([one for one in registry.queries.values() if one.suspended is None])

    @classmethod
    def _of(cls, asked: list[Standing]) -> AskedNames:
        return cls(
            np.array([standing.id for standing in asked], np.int64),
            np.array([standing.version for standing in asked], np.int32),
            [standing.name for standing in asked],
            Contracts.of([standing.asked.contract for standing in asked]),
            [standing.asked for standing in asked],
        )

    def changed(self, change: Change) -> AskedNames:
        """The same after some queries have left and others come."""
        new = AskedNames._of(change.added)
        gone = [standing.id for standing in change.dropped]
        moves = Moves.among(self.numbers.tolist(), gone, new.numbers.tolist())
        contracts = Contracts(
            moves.column(self.contracts.tolerance, new.contracts.tolerance),
            moves.column(self.contracts.within, new.contracts.within),
        )
        return AskedNames(
            moves.column(self.numbers, new.numbers),
            moves.column(self.versions, new.versions),
            moves.listed(self.names, new.names),
            contracts,
            moves.listed(self.queries, new.queries),
        )
