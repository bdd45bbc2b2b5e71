"""The newest answers of deferred queries, from what their cells remember."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.contracts.bars import Sides, compose
from streamgauge.contracts.causes import INTERRUPTION, LATE_ROWS
from streamgauge.drift.cells import WATCH
from streamgauge.engine.operator import Newest
from streamgauge.operators.emission import (
    GIVEN,
    LAST,
    LAST_COVERAGE,
    LAST_EPOCH,
    LAST_HIGH,
    LAST_LOW,
    LAST_OWN_BELOW,
    LAST_SILENT,
    LAST_TICK,
    MEMORY,
    Floats,
    Ints,
)
from streamgauge.work.deferral.basis import sworn

if TYPE_CHECKING:
    from streamgauge.work.deferral.operator import DeferralOperator


def newest(piece: DeferralOperator) -> Iterator[Newest]:
    """The newest answer of each cell that has given one."""
    assert piece.roster is not None
    cells, memory = piece.roster.cells, piece.memory
    sizes = zip(piece.standings, piece.roster.sizes, strict=True)
    asked = [standing for standing, size in sizes for _ in range(size)]
    which = np.flatnonzero(memory.cell["evaluations"])
    remembered, silent = _remembered(piece, which)
    for place, c in enumerate(which.tolist()):
        exact, watched = bool(cells["width"][c] == 0.0), bool(memory.cell[c]["given"] == WATCH)
        rests_on = sworn(exact, watched, float(cells["confidence"][c]))
        text, slope = piece.roster.texts[c].as_py(), float(memory.cell[c]["slope"])
        cell = remembered[place].tolist()
        who = asked[c].id, asked[c].version
        yield Newest(*who, text, cell, *rests_on, slope, silent=float(silent[place]))


def _remembered(piece: DeferralOperator, which: Ints) -> tuple[Floats, Floats]:
    """What cells answered last, as other pieces remember it, and the doubt of a silence."""
    assert piece.roster is not None
    mine, asked = piece.memory.cell[which], piece.roster.cells[which]
    value, none = mine["value"], np.isnan(mine["value"])
    eps = asked["width"] * np.where(asked["relative"], np.abs(value), 1.0)
    doubt = np.minimum(mine["below"], mine["above"])
    causes = [
        Sides("deferral", eps, eps),
        Sides(LATE_ROWS, _beyond(mine["below"], doubt), _beyond(mine["above"], doubt)),
        Sides(INTERRUPTION, doubt, doubt),
    ]
    out = np.zeros((len(which), MEMORY))
    out[:, GIVEN], out[:, LAST], out[:, LAST_TICK] = 1.0, value, mine["since"]
    out[:, LAST_LOW], out[:, LAST_HIGH], _ = compose(value, causes)
    out[:, LAST_COVERAGE], out[:, LAST_SILENT] = mine["coverage"], mine["silent"]
    out[:, LAST_EPOCH] = mine["epoch"]
    sides = [side for _, below, above, _ in causes[:2] for side in (below, above)]
    out[:, LAST_OWN_BELOW:] = np.where(none[:, np.newaxis], 0.0, np.stack(sides, axis=1))
    return out, np.where(none, np.where(mine["silent"] > 0, np.inf, 0.0), doubt)


def _beyond(side: Floats, doubt: Floats) -> Floats:
    """What a side has more than doubt, which may be unbounded."""
    more = side > doubt
    return np.where(more, side - np.where(more, doubt, 0.0), 0.0)
