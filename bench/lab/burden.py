"""The published rule for widths: all shrink, and the most burdened objects grow again.

Every period each width is cut by the same share. The burden of an object is what it costs per
unit of width, `C N / (period W)`; burden targets say what its queries may expect of it, and
objects are let grow in the order in which their burdens exceed the targets. Kept to be compared
with: it needs no model of the objects, and gives all that is free to few of them at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import linalg

from streamgauge.filters.constraints import Constraints, Floats, Truths

# Of the right side. Where queries are about as many as objects, less would fit the noise.
ERROR = 1e-3
STEPS_MOST = 300
# A growth below this share of a width is rounding, and not worth a message.
_GROWTH_LEAST = 1e-9


class Targets(NamedTuple):
    """Burden targets of queries, and whether the solver got there.

    Parameters
    ----------
    values
        Per query; 0 for those that became caps.
    converged
        If not, the values are the best in the sense of least squares.
    """

    values: Floats
    converged: bool


def burdens(
    counts: npt.ArrayLike,
    widths: npt.ArrayLike,
    period: float,
    cost: npt.ArrayLike | None = None,
) -> Floats:
    """What each object cost in the last period, per unit of width; 0 if it sent nothing.

    Examples
    --------
    >>> burdens([5, 0, 2], [2.0, 1.0, np.inf], 10.0)
    array([0.25, 0.  , 0.  ])
    """
    sent = np.asarray(counts, dtype=np.float64) * (1.0 if cost is None else np.asarray(cost))
    column = np.asarray(widths, dtype=np.float64)
    # A width of 0 is exact by contract and can never grow.
    adjustable = (column > 0.0) & np.isfinite(column)
    scores: Floats = np.zeros(column.size)
    scores[adjustable] = sent[adjustable] / (period * column[adjustable])
    return scores


def burden_targets(
    constraints: Constraints, scores: Floats, start: npt.ArrayLike | None = None
) -> Targets:
    """Burden each query may expect of a unit of its budget.

    With R the matrix of `1 / |K_ij|` and K that of `|K_ij|`, both by query, the published
    equations are `(R K') T = R B`: for equal weights the normal equations of `K' T = B`. The
    product is never formed. Nothing in the equations keeps a target from being negative.

    BiCGSTAB starts from the last targets; where it does not converge (queries that say the same
    twice) least squares give the smallest solution there is. An object with a cap is in a query
    of its own that takes what the others leave of its burden, so it says nothing about theirs.

    Examples
    --------
    A query alone has the mean burden of its objects as its target.

    >>> constraints = Constraints.of(3, [([0, 1, 2], None, 6.0, "linear")])
    >>> burden_targets(constraints, np.array([1.0, 2.0, 6.0])).values
    array([3.])
    """
    weights = np.where(np.isfinite(constraints.caps)[constraints.members], 0.0, constraints.weights)
    shape = (constraints.n_queries, constraints.n_objects)
    backward = np.divide(1.0, weights, out=np.zeros(weights.size), where=weights > 0.0)
    matrix = sparse.csr_matrix((weights, constraints.members, constraints.starts), shape=shape)
    inverse = sparse.csr_matrix((backward, constraints.members, constraints.starts), shape=shape)
    right = inverse @ scores
    if not right.any():
        return Targets(np.zeros(constraints.n_queries), True)
    product = linalg.LinearOperator(
        (constraints.n_queries, constraints.n_queries),
        matvec=lambda targets: inverse @ (targets @ matrix),
        rmatvec=lambda rest: matrix @ (rest @ inverse),
        dtype=np.float64,
    )
    lengths = np.bincount(_owners(constraints), weights > 0.0, constraints.n_queries)
    scaling = sparse.diags_array(1.0 / np.maximum(lengths, 1.0))
    with np.errstate(all="ignore"):
        values, failed = linalg.bicgstab(
            product, right, x0=start, rtol=ERROR, maxiter=STEPS_MOST, M=scaling
        )
    if not failed and np.isfinite(values).all():
        return Targets(values, True)
    values, why, *_ = linalg.lsmr(product, right, atol=ERROR, btol=ERROR, maxiter=STEPS_MOST)
    return Targets(values, why in (0, 1))


def deviations(constraints: Constraints, scores: Floats, targets: Floats) -> Floats:
    """By how much the burden of each object exceeds the targets of its queries, at least 0.

    Examples
    --------
    >>> constraints = Constraints.of(3, [([0, 1, 2], None, 6.0, "linear")])
    >>> deviations(constraints, np.array([1.0, 2.0, 6.0]), np.array([3.0]))
    array([0., 0., 3.])
    """
    paid = constraints.weights * targets[_owners(constraints)]
    expected = np.bincount(constraints.members, paid, constraints.n_objects)
    own = (np.diff(constraints.object_starts) > 0) & np.isinf(constraints.caps)
    excess: Floats = np.where(own, np.maximum(scores - expected, 0.0), 0.0)
    return excess


def shrunk(constraints: Constraints, widths: Floats, shrink: float) -> Floats:
    """Widths a share narrower, where objects share a budget; the others stay as they are.

    Examples
    --------
    >>> constraints = Constraints.of(3, [([0, 1], None, 6.0, "linear"), ([2], None, 3.0, "linear")])
    >>> shrunk(constraints, np.array([2.0, 4.0, 3.0]), 0.05)
    array([1.9, 3.8, 3. ])
    """
    sharing = np.diff(constraints.object_starts) > 0
    narrower: Floats = np.where(sharing, widths * (1.0 - shrink), widths)
    return narrower


def all_to_highest(
    constraints: Constraints, widths: Floats, excess: Floats, generator: np.random.Generator
) -> Floats:
    """In falling order of deviation each object takes all the room it has; ties by lot.

    Examples
    --------
    >>> constraints = Constraints.of(2, [([0, 1], None, 6.0, "linear")])
    >>> excess = np.array([0.0, 3.0])
    >>> all_to_highest(constraints, np.array([2.0, 3.0]), excess, np.random.default_rng(1))
    array([2., 4.])
    """
    order = np.lexsort((generator.random(excess.size), -excess))
    return constraints.filled(widths, order)


def shared_out(constraints: Constraints, widths: Floats, excess: Floats) -> Floats:
    """What each query has left goes to its objects in proportion to their deviations.

    An object takes the least of what its queries offer. Where no object of any of its queries
    deviates, it grows in proportion to its width instead.

    Examples
    --------
    >>> constraints = Constraints.of(3, [([0, 1, 2], None, 9.0, "linear")])
    >>> shared_out(constraints, np.array([2.0, 2.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    array([2., 3., 4.])
    """
    restless = constraints.held(excess) > 0.0
    owners = _owners(constraints)
    stirred = np.bincount(constraints.members, restless[owners], constraints.n_objects) > 0.0
    measure = np.where(stirred, excess, np.where(np.isfinite(widths), widths, 0.0))
    parts = constraints.held(measure)
    left = np.maximum(constraints.leftover(widths), 0.0)
    offers = np.divide(left, parts, out=np.full(left.size, np.inf), where=parts > 0.0)
    least = np.full(constraints.n_objects, np.inf)
    np.minimum.at(least, constraints.members, offers[owners])
    growing = np.isfinite(least)
    growth = np.zeros(constraints.n_objects)
    growth[growing] = least[growing] * measure[growing]
    wider: Floats = np.minimum(widths + growth, np.maximum(constraints.caps, widths))
    return wider


def _owners(constraints: Constraints) -> npt.NDArray[np.intp]:
    """The query of each entry of the matrix."""
    return np.repeat(np.arange(constraints.n_queries), np.diff(constraints.starts))


class PrintedManager:
    """The published rule as it runs: a period at a time, from counts of messages to widths.

    Parameters
    ----------
    constraints
        What the queries allow; may be replaced between periods.
    period
        Seconds between adjustments.
    shrink
        Share by which all widths fall each period.
    share
        Whether what is free is shared out in proportion to the deviations, not as published.
    seed
        Chooses the order of objects that deviate equally.

    Examples
    --------
    >>> constraints = Constraints.of(2, [([0, 1], None, 8.0, "linear")])
    >>> rule = PrintedManager(constraints, period=10.0, shrink=0.25, seed=1)
    >>> widths, grown = rule.adjust([1, 5], constraints.uniform())
    >>> widths, grown
    (array([3., 5.]), array([False,  True]))
    """

    def __init__(
        self,
        constraints: Constraints,
        *,
        period: float = 10.0,
        shrink: float = 0.05,
        share: bool = False,
        seed: int,
    ) -> None:
        self.constraints = constraints
        self.period = period
        self.shrink = shrink
        self.share = share
        self.converged = True
        self._targets: Floats | None = None
        self._generator = np.random.default_rng(seed)

    def adjust(
        self, counts: npt.ArrayLike, widths: Floats, cost: npt.ArrayLike | None = None
    ) -> tuple[Floats, Truths]:
        """Widths for the next period, and which objects must be told that they grew."""
        scores = burdens(counts, widths, self.period, cost)
        start = self._targets
        if start is not None and start.size != self.constraints.n_queries:
            start = None
        targets = burden_targets(self.constraints, scores, start)
        self._targets, self.converged = targets
        excess = deviations(self.constraints, scores, targets.values)
        narrower = shrunk(self.constraints, widths, self.shrink)
        if self.share:
            wider = shared_out(self.constraints, narrower, excess)
        else:
            wider = all_to_highest(self.constraints, narrower, excess, self._generator)
        return wider, wider > narrower * (1.0 + _GROWTH_LEAST)
