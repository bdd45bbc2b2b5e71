"""Blocks of format 1, which said what the technique spent of the width; they are read for ever."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.results.old_sides import split
from streamgauge.results.widening import CAUSES, Widened

FORMAT = b"1"
Floats = npt.NDArray[np.float64]


def read(table: pa.Table, silent: npt.NDArray[np.int32]) -> Widened:
    """Values, ends and what each cause adds, of answers of such a block."""
    value, names = table["value"], table.column_names
    low, high = (table[end] if end in names else value for end in ("low", "high"))
    bars = value.to_numpy(), low.to_numpy(), high.to_numpy()
    sides = split(*bars, _spent(table), silent > 0)
    causes = {name: (sides[:, 2 * n], sides[:, 2 * n + 1]) for n, name in enumerate(CAUSES)}
    return Widened(value, low, high, causes)


def charged(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Which answers of such a block charge the technique they rest on."""
    return _spent(table) > 0.0


def _spent(table: pa.Table) -> Floats:
    if "spent" not in table.column_names:
        return np.zeros(table.num_rows)
    spent: Floats = table["spent"].to_numpy()
    return spent
