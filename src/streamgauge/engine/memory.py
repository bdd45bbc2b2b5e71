"""Memory: what each query answered last, kept through changes of who is registered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamgauge.operators.emission import MEMORY
from streamgauge.plan.registry import Standing

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class Memories:
    """Rows of memory per query (and group), found again by the query's number and version."""

    who: list[tuple[int, int]] = field(default_factory=list)
    cells: Floats = field(default_factory=lambda: np.zeros((0, 1, MEMORY)))

    def seat(self, queries: Sequence[Standing], n_groups: int) -> None:
        """Arrange the memory for these queries and at least this many groups."""
        wanted = [(standing.id, standing.version) for standing in queries]
        if wanted == self.who and n_groups <= self.cells.shape[1]:
            return
        width = self.cells.shape[1]
        if n_groups > width:
            width = max(n_groups, 2 * width if width > 1 else n_groups)
        cells = np.zeros((len(wanted), width, MEMORY))
        old = {who: row for row, who in enumerate(self.who)}
        pairs = [(row, old[who]) for row, who in enumerate(wanted) if who in old]
        if pairs:
            new_rows, old_rows = np.array(pairs).T
            cells[new_rows, : self.cells.shape[1]] = self.cells[old_rows]
        self.who, self.cells = wanted, cells
