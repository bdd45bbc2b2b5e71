"""State of promising queries in the wire format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.engine.across_run import state_key
from streamgauge.engine.old_memory import with_sides
from streamgauge.engine.promise_giving import Late, Owed
from streamgauge.engine.promise_join_run import JoinState, SideState
from streamgauge.engine.promise_panes import AggregateState
from streamgauge.engine.promise_reach import SelectState
from streamgauge.engine.promise_selection_run import SelectionsState
from streamgauge.engine.row_state import (
    pack_delta,
    pack_store,
    pack_table,
    perhaps_delta,
    unpack_store,
    unpack_table,
)
from streamgauge.engine.stream_state import Arrays
from streamgauge.kernel.wire import Array
from streamgauge.plan.registry import Standing
from streamgauge.promise.figures import Figures

_KNOWN = ("prev", "born", "awake_until", "whole", "settled", "base", "given", "share")


@dataclass(slots=True)
class PromiseState:
    """What a shard knows of its promising queries after an epoch.

    Joins and aggregates go by the number and version of the query, selections by their stream and
    window, which they share.
    """

    joins: dict[str, JoinState] = field(default_factory=dict)
    selections: dict[str, SelectionsState] = field(default_factory=dict)
    aggregates: dict[str, AggregateState] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.joins or self.selections or self.aggregates)

    def of(self, standing: Standing) -> JoinState | SelectState | AggregateState | None:
        """What is known of one query; None where this shard has no part in it."""
        key = state_key(standing)
        selects = {k: one for group in self.selections.values() for k, one in group.queries.items()}
        return self.joins.get(key) or self.aggregates.get(key) or selects.get(key)

    def figures(self, standing: Standing) -> Figures | None:
        """What a query has done so far; None where this shard has no part in it."""
        known = self.of(standing)
        return None if known is None else known.figures

    def nbytes(self, standing: Standing) -> int:
        """Bytes of one query as they are stored, without rows that it shares with others."""
        arrays: Arrays = {}
        known = self.of(standing)
        if isinstance(known, JoinState):
            _pack_join("", known, arrays)
        elif isinstance(known, AggregateState):
            _pack_aggregate("", known, arrays)
        elif known is not None:
            _pack_select("", known, arrays)
        return sum(array.nbytes for array in arrays.values())


def pack_promise(prefix: str, state: PromiseState, arrays: Arrays) -> dict[str, Any]:
    """Plain values of the state; its arrays are added to `arrays`."""
    joins = {
        key: _pack_join(f"{prefix}/join/{key}", one, arrays) for key, one in state.joins.items()
    }
    selections = {
        key: _pack_selections(f"{prefix}/selections/{serial}", one, arrays)
        for serial, (key, one) in enumerate(state.selections.items())
    }
    aggregates = {
        key: _pack_aggregate(f"{prefix}/aggregate/{key}", one, arrays)
        for key, one in state.aggregates.items()
    }
    return {"joins": joins, "selections": selections, "aggregates": aggregates}


def unpack_promise(prefix: str, values: dict[str, Any], arrays: Arrays) -> PromiseState:
    """Read the state back."""
    return PromiseState(
        {
            key: _unpack_join(f"{prefix}/join/{key}", item, arrays)
            for key, item in values.get("joins", {}).items()
        },
        {
            key: _unpack_selections(f"{prefix}/selections/{serial}", item, arrays)
            for serial, (key, item) in enumerate(values.get("selections", {}).items())
        },
        {
            key: _unpack_aggregate(f"{prefix}/aggregate/{key}", item, arrays)
            for key, item in values.get("aggregates", {}).items()
        },
    )


def _pack_join(prefix: str, state: JoinState, arrays: Arrays) -> dict[str, Any]:
    for number, side in enumerate(state.sides):
        place = f"{prefix}/side/{number}"
        pack_store(f"{place}/waiting", side.waiting, arrays)
        arrays[f"{place}/kept"] = pack_table(side.kept)
        arrays[f"{place}/serial"], arrays[f"{place}/leave"] = side.serial, side.leave
        _pack_late(place, side.late, arrays)
    arrays[f"{prefix}/pairs"], arrays[f"{prefix}/until"] = state.pairs, state.pairs_leave
    _pack_owed(prefix, state.owed, arrays)
    return {
        "prev": state.prev,
        "born": state.born,
        "given": [side.given for side in state.sides],
        "whole": state.whole,
        "figures": state.figures.as_dict(),
        "kernel": _pack_kernel(prefix, state.kernel, state.stored, arrays),
    }


def _unpack_join(prefix: str, values: dict[str, Any], arrays: Arrays) -> JoinState:
    state = JoinState(values["prev"], values["born"], whole=values["whole"])
    for number, given in enumerate(values["given"]):
        place = f"{prefix}/side/{number}"
        state.sides.append(
            SideState(
                unpack_store(f"{place}/waiting", arrays),
                unpack_table(arrays[f"{place}/kept"]),
                arrays[f"{place}/serial"],
                arrays[f"{place}/leave"],
                given,
                _unpack_late(place, arrays),
            )
        )
    state.pairs, state.pairs_leave = arrays[f"{prefix}/pairs"], arrays[f"{prefix}/until"]
    state.owed = Owed(perhaps_delta(f"{prefix}/owed", arrays))
    state.figures = Figures(**values["figures"])
    state.stored = _unpack_kernel(prefix, values["kernel"], arrays)
    return state


def _pack_selections(prefix: str, state: SelectionsState, arrays: Arrays) -> dict[str, Any]:
    assert state.waiting is not None, "seated before"
    assert state.kept is not None, "seated before"
    pack_store(f"{prefix}/waiting", state.waiting, arrays)
    pack_store(f"{prefix}/kept", state.kept, arrays)
    queries = {
        key: _pack_select(f"{prefix}/{key}", one, arrays) for key, one in state.queries.items()
    }
    numbers = [state.prev, state.base, state.missed]
    return {"numbers": numbers, "queries": queries}


def _unpack_selections(prefix: str, values: dict[str, Any], arrays: Arrays) -> SelectionsState:
    prev, base, missed = values["numbers"]
    return SelectionsState(
        prev,
        base,
        missed,
        unpack_store(f"{prefix}/waiting", arrays),
        unpack_store(f"{prefix}/kept", arrays),
        {
            key: _unpack_select(f"{prefix}/{key}", item, arrays)
            for key, item in values["queries"].items()
        },
    )


def _pack_select(prefix: str, state: SelectState, arrays: Arrays) -> dict[str, Any]:
    if state.held is not None:
        pack_delta(f"{prefix}/held", state.held, arrays)
    _pack_owed(prefix, state.owed, arrays)
    _pack_late(prefix, state.late, arrays)
    return {
        "known": [state.born, state.seated, state.share, state.unseen],
        "whole": state.whole,
        "figures": state.figures.as_dict(),
        "kernel": _pack_kernel(prefix, state.kernel, state.stored, arrays),
    }


def _unpack_select(prefix: str, values: dict[str, Any], arrays: Arrays) -> SelectState:
    born, seated, share, unseen = values["known"]
    return SelectState(
        born,
        seated,
        share,
        unseen,
        perhaps_delta(f"{prefix}/held", arrays),
        Owed(perhaps_delta(f"{prefix}/owed", arrays)),
        _unpack_late(prefix, arrays),
        values["whole"],
        Figures(**values["figures"]),
        _unpack_kernel(prefix, values["kernel"], arrays),
    )


def _pack_aggregate(prefix: str, state: AggregateState, arrays: Arrays) -> dict[str, Any]:
    assert state.waiting is not None, "seated before"
    assert state.kept is not None, "seated before"
    pack_store(f"{prefix}/waiting", state.waiting, arrays)
    arrays[f"{prefix}/kept"] = pack_table(state.kept)
    arrays[f"{prefix}/late"], arrays[f"{prefix}/memory"] = state.late, state.memory
    return {
        "known": {name: getattr(state, name) for name in _KNOWN},
        "figures": state.figures.as_dict(),
        "kernel": _pack_kernel(prefix, state.kernel, state.stored, arrays),
    }


def _unpack_aggregate(prefix: str, values: dict[str, Any], arrays: Arrays) -> AggregateState:
    return AggregateState(
        waiting=unpack_store(f"{prefix}/waiting", arrays),
        kept=unpack_table(arrays[f"{prefix}/kept"]),
        late=arrays[f"{prefix}/late"],
        memory=with_sides(arrays[f"{prefix}/memory"]),
        figures=Figures(**values["figures"]),
        stored=_unpack_kernel(prefix, values["kernel"], arrays),
        **values["known"],
    )


def _pack_late(prefix: str, late: Late, arrays: Arrays) -> None:
    arrays[f"{prefix}/late"] = np.stack((late.enter, late.leave))


def _unpack_late(prefix: str, arrays: Arrays) -> Late:
    enter, leave = arrays[f"{prefix}/late"]
    return Late(enter, leave)


def _pack_owed(prefix: str, owed: Owed, arrays: Arrays) -> None:
    if owed.pending is not None:
        pack_delta(f"{prefix}/owed", owed.pending, arrays)


def _pack_kernel(prefix: str, kernel: Any, stored: dict[str, Array], arrays: Arrays) -> list[str]:
    """Add the arrays of a kernel, as it is or as it was read; return their names."""
    found = stored if kernel is None else kernel.to_arrays()
    arrays.update({f"{prefix}/kernel/{name}": array for name, array in found.items()})
    return list(found)


def _unpack_kernel(prefix: str, names: list[str], arrays: Arrays) -> dict[str, Array]:
    return {name: arrays[f"{prefix}/kernel/{name}"] for name in names}
