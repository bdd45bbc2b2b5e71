"""Policies side by side on the same values, for the workload `filters`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.lab.burden import PrintedManager
from bench.lab.filter_simulation import Count, Printed, adaptive, printed, static
from streamgauge.filters.allocation import static_optimum
from streamgauge.filters.constraints import Constraints

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cell:
    """Messages a tick of each policy on one set of values and queries.

    Parameters
    ----------
    data, queries, delta
        What was run.
    counts
        By policy.

    Examples
    --------
    >>> cell = Cell("walks", 1, 5.0, {"ours": Count(10, 4, 1), "uniform": Count(10, 10)})
    >>> cell.ratio("ours", "uniform")
    0.5
    """

    data: str
    queries: int
    delta: float
    counts: dict[str, Count]

    def ratio(self, policy: str, other: str) -> float:
        """Messages of one policy for each of another."""
        return self.counts[policy].per_tick / max(self.counts[other].per_tick, 1e-12)

    @property
    def wrong(self) -> int:
        """Answers that did not hold, of all policies."""
        return sum(count.wrong for count in self.counts.values())

    def as_dict(self) -> dict[str, object]:
        """JSON form."""
        messages = {
            name: {"updates": count.updates / count.ticks, "control": count.control / count.ticks}
            for name, count in self.counts.items()
        }
        return {
            "data": self.data,
            "queries": self.queries,
            "delta": self.delta,
            "messages_per_tick": messages,
            "wrong": self.wrong,
        }


def compared(
    data: str,
    blocks: Sequence[Floats],
    constraints: Constraints,
    delta: float,
    warm_up: int,
    *,
    steps: Sequence[Floats] | None = None,
    still: bool = False,
    baselines: bool = False,
) -> Cell:
    """Run the policies that apply.

    Parameters
    ----------
    data, delta
        For the table.
    blocks
        Values in pieces.
    constraints
        What the queries allow.
    warm_up
        Ticks that are not counted.
    steps
        Step sizes of each block, if they are random walks: the optimum then knows them at once.
    still
        Whether to run our own way without models of drift too.
    baselines
        Whether to run the printed rule and the one that shares out.
    """
    uniform = constraints.uniform()
    counts = {"uniform": static(blocks, constraints, uniform, warm_up=warm_up)}
    if steps is not None:
        known = {id(sizes): static_optimum(constraints, sizes) for sizes in steps}
        best = [known[id(sizes)] for sizes in steps]
        counts["optimum"] = static(blocks, constraints, best.__getitem__, warm_up=warm_up)
    counts["ours"] = adaptive(blocks, constraints, warm_up=warm_up)
    if still:
        counts["still"] = adaptive(blocks, constraints, warm_up=warm_up, models=False)
    if baselines:
        for name, share in (("printed", False), ("shared out", True)):
            rule = PrintedManager(constraints, seed=1, share=share)
            begin = Printed(rule.adjust, uniform)
            counts[name] = printed(blocks, constraints, begin, warm_up=warm_up)
    return Cell(data, constraints.n_queries, delta, counts)
