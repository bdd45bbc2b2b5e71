"""State of questions across streams in the wire format."""

from __future__ import annotations

from typing import Any

from streamgauge.engine.bank_state import Arrays, pack_panes, unpack_panes
from streamgauge.engine.old_memory import with_sides
from streamgauge.engine.store_state import pack_store, unpack_store
from streamgauge.plan.summary import model_name, named_model
from streamgauge.windows.bank_panes import BankPanes
from streamgauge.work.across.run import AcrossState, PartState


def pack_across(prefix: str, states: dict[str, AcrossState], arrays: Arrays) -> dict[str, Any]:
    """Plain values of the states; their arrays are added to `arrays`."""
    out: dict[str, Any] = {}
    for key, state in states.items():
        place = f"{prefix}/{key}"
        arrays[f"{place}/memory"] = state.memory
        parts = []
        for serial, part in enumerate(state.parts):
            pack_store(f"{place}/{serial}/waiting", part.waiting, arrays)
            parts.append(
                {
                    "model": model_name(part.panes.model),
                    "raw": part.panes.raw,
                    "whole": part.whole,
                    "panes": pack_panes(f"{place}/{serial}/pane", part.panes, arrays),
                    "late": pack_panes(f"{place}/{serial}/late", part.late, arrays),
                }
            )
        out[key] = [state.prev, state.born, state.awake_until, parts]
    return out


def unpack_across(prefix: str, values: dict[str, Any], arrays: Arrays) -> dict[str, AcrossState]:
    """Read the states back."""
    out = {}
    for key, (prev, born, awake_until, parts) in values.items():
        place = f"{prefix}/{key}"
        state = AcrossState(prev, born, awake_until, memory=with_sides(arrays[f"{place}/memory"]))
        for serial, item in enumerate(parts):
            model = named_model(item["model"])
            both = [BankPanes(model, raw=item["raw"]) for _ in range(2)]
            unpack_panes(f"{place}/{serial}/pane", item["panes"], arrays, both[0])
            unpack_panes(f"{place}/{serial}/late", item["late"], arrays, both[1])
            waiting = unpack_store(f"{place}/{serial}/waiting", arrays)
            state.parts.append(PartState(waiting, both[0], both[1], item["whole"]))
        out[key] = state
    return out
