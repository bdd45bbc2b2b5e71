"""Stalled operators: the state of operators whose queries are suspended, as of the epoch before.

Names that their state has numbers of stay, so that an operator goes on from its state when its
queries are resumed: it is brought over the epochs that it has missed, and gives their answers then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamgauge.engine.calendar import Calendar
from streamgauge.engine.operator import Arrays, Operator
from streamgauge.kernel.time import Instant
from streamgauge.plan.registry import Registry
from streamgauge.plan.standing import Standing

Who = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stage:
    """How far a stream had come when an operator stalled; `coming` are rows beyond that."""

    closed: int
    awake_until: int
    first: int
    births: Mapping[int, Instant] = field(default_factory=dict)
    coming: Calendar = field(default_factory=Calendar)

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Plain values; arrays are added to `arrays`."""
        arrays[f"{prefix}/ticks"], arrays[f"{prefix}/rows"] = self.coming.ticks, self.coming.rows
        births = {str(epoch): at for epoch, at in self.births.items()}
        numbers = {name: getattr(self, name) for name in ("closed", "awake_until", "first")}
        return {**numbers, "births": births}

    @classmethod
    def unpack(cls, prefix: str, values: dict[str, Any], arrays: Arrays) -> Stage:
        """Read it back."""
        births = {int(epoch): at for epoch, at in values["births"].items()}
        coming = Calendar(arrays[f"{prefix}/ticks"], arrays[f"{prefix}/rows"])
        return cls(values["closed"], values["awake_until"], values["first"], births, coming)


@dataclass(frozen=True, slots=True)
class Stalled:
    """An operator that a stream feeds, without work since an epoch.

    `columns` are those whose names have numbers in its state, `queries` the numbers and versions of
    those it worked for.
    """

    operator: Operator
    since: int
    stage: Stage
    columns: tuple[str, ...]
    queries: tuple[Who, ...]

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Plain values; arrays are added to `arrays`."""
        return {
            "since": self.since,
            "stage": self.stage.pack(f"{prefix}/stage", arrays),
            "columns": list(self.columns),
            "queries": [list(one) for one in self.queries],
            "piece": self.operator.pack(f"{prefix}/piece", arrays),
        }

    @classmethod
    def unpack(
        cls, prefix: str, values: dict[str, Any], arrays: Arrays, operator: Operator
    ) -> Stalled:
        """Read it back, given its operator."""
        return cls(
            operator,
            values["since"],
            Stage.unpack(f"{prefix}/stage", values["stage"], arrays),
            tuple(values["columns"]),
            tuple((number, version) for number, version in values["queries"]),
        )


def is_wanted(queries: Iterable[Who], registry: Registry) -> bool:
    """Whether some query of a stalled operator may still be resumed."""
    waiting = {(one.id, one.version) for one in registry.queries.values() if one.suspended}
    return not waiting.isdisjoint(queries)


def goes_on(known: Iterable[Who], queries: Iterable[Standing]) -> bool:
    """Whether queries go on from the state of an operator that stalled.

    With one that it did not work for they begin again from kept rows.
    """
    return {(one.id, one.version) for one in queries} <= set(known)
