"""Panes of banks of sketches in the wire format."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.kernel.wire import Array
from streamgauge.synopses.bank import bank_of
from streamgauge.windows.bank_panes import BankPanes, Pane

Arrays = dict[str, Array]


def pack_panes(prefix: str, panes: BankPanes, arrays: Arrays) -> dict[str, Any]:
    """Rows of all panes in one pair of columns, then the banks of those that have one."""
    numbers = sorted(panes.panes)
    rows = [panes.panes[n].raw() for n in numbers if panes.panes[n].n_raw]
    if rows:
        arrays[f"{prefix}/groups"] = np.concatenate([group for group, _ in rows])
        arrays[f"{prefix}/items"] = np.concatenate([item for _, item in rows])
    banks = []
    for number in numbers:
        pane = panes.panes[number]
        arrays[f"{prefix}/{number}/counts"] = pane.counts
        if pane.bank is not None:
            saved = pane.bank.save()
            banks.append([number, sorted(saved)])
            arrays.update({f"{prefix}/{number}/bank/{n}": saved[n] for n in sorted(saved)})
    held = [[number, panes.panes[number].n_raw] for number in numbers]
    return {"n_groups": panes.n_groups, "panes": held, "banks": banks}


def unpack_panes(prefix: str, values: dict[str, Any], arrays: Arrays, panes: BankPanes) -> None:
    """Read the panes back."""
    panes.n_groups = values["n_groups"]
    done = 0
    for number, n_raw in values["panes"]:
        pane = panes.panes[number] = Pane(n_raw=n_raw, counts=arrays[f"{prefix}/{number}/counts"])
        if n_raw:
            pane.groups = [arrays[f"{prefix}/groups"][done : done + n_raw]]
            pane.items = [arrays[f"{prefix}/items"][done : done + n_raw]]
            done += n_raw
    for number, names in values["banks"]:
        bank = bank_of(panes.model, 0)
        bank.restore({name: arrays[f"{prefix}/{number}/bank/{name}"] for name in names})
        panes.panes[number].bank = bank
    panes.hold_again()
