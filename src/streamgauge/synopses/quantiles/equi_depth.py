"""Equi-depth histogram: buckets of equal weight, read from any synopsis of quantiles."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.errors import BindError, IncompatibleSynopsis
from streamgauge.synopses.questions import Quantile
from streamgauge.synopses.synopsis import Synopsis


@dataclass(frozen=True, slots=True)
class EquiDepth:
    """Edges of buckets that hold the same weight each.

    Parameters
    ----------
    edges
        The smallest item, the inner edges and the largest item, each with its bar.
    depth
        Weight of a bucket.
    confidence
        Probability that all bars hold at once.
    """

    edges: tuple[Estimate, ...]
    depth: float
    confidence: float


def equi_depth(synopsis: Synopsis, buckets: int) -> EquiDepth:
    """Cut the items into `buckets` of equal weight.

    Examples
    --------
    >>> from streamgauge.synopses.quantiles.kll import Kll
    >>> sketch = Kll()
    >>> sketch.update(range(1, 101))
    >>> [edge.value for edge in equi_depth(sketch, 4).edges]
    [1.0, 25.0, 50.0, 75.0, 100.0]
    """
    if buckets < 1:
        raise BindError(
            "a histogram needs a bucket at least", f"got buckets={buckets}", "write buckets=10"
        )
    if Quantile not in synopsis.answers:
        raise IncompatibleSynopsis(
            f"{synopsis.name} cannot make an equi-depth histogram",
            "it does not answer Quantile",
            "use kll, gk, log_histogram or another synopsis of quantiles",
        )
    edges = tuple(synopsis.query(Quantile(i / buckets)) for i in range(buckets + 1))
    failing = sum(1.0 - edge.confidence for edge in edges)
    return EquiDepth(edges, synopsis.mass / buckets, max(0.0, 1.0 - failing))
