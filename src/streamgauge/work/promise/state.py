"""State of promising queries in the wire format."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.engine.old_memory import with_sides
from streamgauge.engine.store_state import (
    pack_delta,
    pack_store,
    pack_table,
    perhaps_delta,
    unpack_store,
    unpack_table,
)
from streamgauge.kernel.wire import Array
from streamgauge.promise.figures import Figures
from streamgauge.work.promise.giving import Late, Owed
from streamgauge.work.promise.join_run import JoinState, SideState
from streamgauge.work.promise.panes import AggregateState
from streamgauge.work.promise.reach import SelectState
from streamgauge.work.promise.selection_run import SelectionsState

Arrays = dict[str, Array]
_KNOWN = ("prev", "born", "awake_until", "whole", "settled", "base", "given", "share")


def restored_states(values: dict[str, Any], arrays: Arrays) -> dict[str, dict[str, Any]]:
    """States of joins, selections and aggregates, by key, of version 4 or before."""
    known = values.get("promise", {})
    return {
        "joins": {
            key: unpack_join(f"promise/join/{key}", item, arrays)
            for key, item in known.get("joins", {}).items()
        },
        "selections": {
            key: unpack_selections(f"promise/selections/{serial}", item, arrays)
            for serial, (key, item) in enumerate(known.get("selections", {}).items())
        },
        "aggregates": {
            key: unpack_aggregate(f"promise/aggregate/{key}", item, arrays)
            for key, item in known.get("aggregates", {}).items()
        },
    }


def pack_join(prefix: str, state: JoinState, arrays: Arrays) -> dict[str, Any]:
    """Plain values of a join; its arrays are added to `arrays`."""
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


def unpack_join(prefix: str, values: dict[str, Any], arrays: Arrays) -> JoinState:
    """Read a join back."""
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


def pack_selections(prefix: str, state: SelectionsState, arrays: Arrays) -> dict[str, Any]:
    """Plain values of the selections of a stream; their arrays are added to `arrays`."""
    assert state.waiting is not None, "seated before"
    assert state.kept is not None, "seated before"
    pack_store(f"{prefix}/waiting", state.waiting, arrays)
    pack_store(f"{prefix}/kept", state.kept, arrays)
    queries = {
        key: pack_select(f"{prefix}/{key}", one, arrays) for key, one in state.queries.items()
    }
    numbers = [state.prev, state.base, state.missed]
    return {"numbers": numbers, "queries": queries}


def unpack_selections(prefix: str, values: dict[str, Any], arrays: Arrays) -> SelectionsState:
    """Read the selections of a stream back."""
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


def pack_select(prefix: str, state: SelectState, arrays: Arrays) -> dict[str, Any]:
    """Plain values of one selection; its arrays are added to `arrays`."""
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


def pack_aggregate(prefix: str, state: AggregateState, arrays: Arrays) -> dict[str, Any]:
    """Plain values of an aggregate; its arrays are added to `arrays`."""
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


def unpack_aggregate(prefix: str, values: dict[str, Any], arrays: Arrays) -> AggregateState:
    """Read an aggregate back."""
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
