"""Selected rows: what queries that pick rows give, as one block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.store import Store
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Named
from streamgauge.plan.registry import Standing
from streamgauge.results.row_blocks import RowBlock

Ints = npt.NDArray[np.int64]


def selected(
    items: Named,
    store: Store,
    missing: Ints,
    found: tuple[Ints, npt.NDArray[np.int32]],
    active: Sequence[Standing],
    functions: Functions,
) -> RowBlock:
    """Rows that queries asked for; `found` is where those of each row start, and the queries."""
    start, query = found
    places = np.flatnonzero(np.diff(start))
    seen = np.zeros(len(active), np.bool_)
    seen[query] = True
    asked = np.flatnonzero(seen)
    to = (np.cumsum(seen, dtype=np.int32) - 1)[query]
    rows = store.rows.take(pa.array(places))
    arrays = [evaluate(expr, rows, functions) for _, expr in items]
    return RowBlock(
        pa.table(arrays, names=[name for name, _ in items]),
        store.eff[places],
        np.ones(len(places), np.int64),
        missing[places],
        missing[places] == 0,
        tuple((active[q].name, active[q].version) for q in asked.tolist()),
        to,
        np.append(start[places], len(query)).astype(np.int32),
    )
