"""What answers were remembered as before each cause had its two sides; read for ever."""

from __future__ import annotations

import numpy as np

from streamgauge.operators.emission import (
    LAST,
    LAST_HIGH,
    LAST_LOW,
    LAST_OWN_BELOW,
    LAST_SILENT,
    LOW,
    MEMORY,
    OWN_BELOW,
    SILENT,
    VALUE,
    WIDTH,
    Floats,
)
from streamgauge.results.old_sides import split

# The width that the technique had spent came after these.
OLD_SPENT = 8
OLD_WIDTH = 11


def with_sides(memory: Floats) -> Floats:
    """Memory of answers as it is laid out now.

    Older memory had one number for what was spent; the oldest had none, and nothing was spent.
    """
    if memory.shape[-1] == MEMORY:
        return memory
    kept = memory.reshape(-1, memory.shape[-1])
    out = np.zeros((len(kept), MEMORY))
    out[:, :OLD_SPENT] = kept[:, :OLD_SPENT]
    spent = kept[:, OLD_SPENT] if kept.shape[1] > OLD_SPENT else np.zeros(len(kept))
    value, low, high = (out[:, place] for place in (LAST, LAST_LOW, LAST_HIGH))
    sides = split(value, low, high, spent, out[:, LAST_SILENT] > 0)
    out[:, LAST_OWN_BELOW:] = sides[:, :4]
    return out.reshape(*memory.shape[:-1], MEMORY)


def listed_with_sides(rows: list[list[float]]) -> list[list[float]]:
    """Rows of a list of heaviest items as they are laid out now; only the sketch widened them."""
    if not rows or len(rows[0]) == WIDTH:
        return rows
    assert len(rows[0]) == OLD_WIDTH, "a list of heaviest items has rows of another layout"
    out = np.zeros((len(rows), WIDTH))
    # Slope and spent width, the last of the old columns, were not used.
    out[:, : SILENT + 2] = np.array(rows)[:, : SILENT + 2]
    out[:, OWN_BELOW] = out[:, VALUE] - out[:, LOW]
    out[:, OWN_BELOW + 1] = out[:, LOW + 1] - out[:, VALUE]
    found: list[list[float]] = out.tolist()
    return found
