"""Constraints: what standing queries allow the widths of objects to be.

A query over several objects allows `sum_i |K_ij| W_i <= delta_j`; K holds the weights, for an
average already divided by the number of objects. A query over one object, and an extreme over
any number, limits each width by itself: a cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled

Floats = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.int32]
Truths = npt.NDArray[np.bool_]

# A sum of k products is off by at most about k units in the last place, whatever its order. What
# may be spent is less than the budget by more than that, so no way to add the widths exceeds it.
_UNIT = 2.0**-50


class Demand(NamedTuple):
    """What one query asks of the widths of its objects.

    Parameters
    ----------
    members
        Numbers of the objects it reads.
    weights
        Their weights, signed; None: one each. An object of weight 0 is not asked for.
    delta
        Width that its answer may have: twice the `w` of `GUARANTEED WITHIN w`.
    kind
        `linear` for sums and averages, `each` for extremes: every member at most delta wide.

    Examples
    --------
    >>> Demand([0, 1], [1.0, -1.0], 4.0).kind
    'linear'
    """

    members: npt.ArrayLike
    weights: npt.ArrayLike | None
    delta: float
    kind: Literal["linear", "each"] = "linear"


@dataclass(frozen=True, eq=False)
class Constraints:
    """Budgets of queries and caps of objects, as columns.

    The matrix |K| is kept by query (`starts`, `members`, `weights`) and by object
    (`object_starts`, `object_queries`, `object_weights`). Queries keep the order in which they
    came; those that became caps have no members and an unlimited budget.

    Parameters
    ----------
    budgets
        Per query the delta it allows.
    spendable
        The same less what rounding may take: sums within it are within the budget in any order.
    caps
        Per object the largest width it may have by itself; infinite without one.
    unqueried
        Objects that no query asks for.

    Examples
    --------
    An average of objects 0 and 1, and the difference of 1 and 2; nobody asks for object 3.

    >>> asked = [([0, 1], [0.5, 0.5], 3.0, "linear"), ([1, 2], [1.0, -1.0], 4.0, "linear")]
    >>> constraints = Constraints.of(4, asked)
    >>> constraints.uniform()
    array([ 3.,  2.,  2., inf])
    >>> constraints.held([2.0, 1.0, 2.0, 0.0])
    array([1.5, 3. ])
    >>> constraints.room(1, [2.0, 1.0, 2.0, 0.0])
    array([1.])
    """

    n_objects: int
    n_queries: int
    starts: Indexes
    members: Indexes
    weights: Floats
    object_starts: Indexes
    object_queries: Indexes
    object_weights: Floats
    budgets: Floats
    spendable: Floats
    caps: Floats
    unqueried: Truths

    @classmethod
    def of(cls, n_objects: int, demands: Sequence[Demand | tuple[Any, ...]]) -> Constraints:
        """Constraints that a list of queries puts on objects 0 to n - 1.

        Each is a `Demand` or a tuple in its order. Building takes about as long as reading them.
        """
        table = _gathered(n_objects, demands)
        single = np.diff(table.matrix.indptr) == 1
        # Nothing can be shared out of a budget of 0; all its members are exact.
        alone = table.each | single | (table.deltas == 0.0)
        caps = _caps(n_objects, table, alone)
        unqueried = np.ones(n_objects, dtype=np.bool_)
        unqueried[table.matrix.indices] = False
        linear = ~alone & np.isfinite(table.deltas)
        lengths = np.diff(table.matrix.indptr)
        kept = np.repeat(linear, lengths)
        starts = np.concatenate([[0], np.cumsum(np.where(linear, lengths, 0))]).astype(np.int32)
        members, weights = table.matrix.indices[kept], table.matrix.data[kept]
        matrix = sparse.csr_matrix((weights, members, starts), shape=table.matrix.shape)
        by_object = matrix.tocsc()
        budgets = np.where(linear, table.deltas, np.inf)
        return cls(
            n_objects,
            len(demands),
            starts,
            members.astype(np.int32, copy=False),
            weights,
            by_object.indptr.astype(np.int32, copy=False),
            by_object.indices.astype(np.int32, copy=False),
            by_object.data,
            budgets,
            budgets * (1.0 - (np.diff(starts) + 4.0) * _UNIT),
            caps,
            unqueried,
        )

    def held(self, widths: npt.ArrayLike) -> Floats:
        """Width of each query's answer at given widths of the objects; 0 for those of caps."""
        sums: Floats = _held(self.starts, self.members, self.weights, _column(widths))
        return sums

    def leftover(self, widths: npt.ArrayLike) -> Floats:
        """What each query could still spend; negative where a budget is exceeded."""
        rest: Floats = self.spendable - self.held(widths)
        return rest

    def room(
        self,
        objects: npt.ArrayLike,
        widths: npt.ArrayLike,
        leftover: Floats | None = None,
    ) -> Floats:
        """By how much each object could grow if it were the only one to grow.

        Parameters
        ----------
        objects
            Their numbers.
        widths
            Of all objects.
        leftover
            Per query, if the caller keeps count of it; else it is worked out anew.
        """
        chosen = np.atleast_1d(np.asarray(objects, dtype=np.int64))
        all_widths = _column(widths)
        rest = self.leftover(all_widths) if leftover is None else leftover
        growth: Floats = _room(
            chosen,
            all_widths,
            rest,
            self.caps,
            self.object_starts,
            self.object_queries,
            self.object_weights,
        )
        return growth

    def filled(self, widths: npt.ArrayLike, order: npt.ArrayLike) -> Floats:
        """Widths after each object of an order has taken all the room it then has.

        Examples
        --------
        >>> constraints = Constraints.of(3, [([0, 1], None, 3.0), ([1, 2], None, 4.0)])
        >>> constraints.filled([1.0, 1.0, 1.0], [0, 1, 2])
        array([2., 1., 3.])
        """
        grown = _column(widths).copy()
        _fill(
            np.asarray(order, dtype=np.int64),
            grown,
            self.leftover(grown),
            self.caps,
            self.object_starts,
            self.object_queries,
            self.object_weights,
        )
        return grown

    def uniform(self) -> Floats:
        """Widths if each query gave all its objects the same, and each object took the least."""
        loads = self.held(np.ones(self.n_objects))
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(loads > 0.0, self.spendable / loads, np.inf)
        widths: Floats = _least(shares, self.caps, self.object_starts, self.object_queries)
        return widths

    def violations(self, widths: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], ...]:
        """Queries whose budget, and objects whose cap, is exceeded."""
        column = _column(widths)
        return (
            np.flatnonzero(self.held(column) > self.budgets),
            np.flatnonzero(column > self.caps),
        )


class _Table(NamedTuple):
    """All demands in one: |K| by query with members in order, deltas, which are extremes."""

    matrix: Any
    deltas: Floats
    each: Truths


def _column(widths: npt.ArrayLike) -> Floats:
    return np.ascontiguousarray(widths, dtype=np.float64)


def _gathered(n_objects: int, demands: Sequence[Demand | tuple[Any, ...]]) -> _Table:
    n_queries = len(demands)
    members = [np.asarray(demand[0], dtype=np.int64) for demand in demands]
    weights = [
        np.ones(len(own)) if demand[1] is None else np.asarray(demand[1], dtype=np.float64)
        for own, demand in zip(members, demands, strict=True)
    ]
    lengths = np.fromiter((len(own) for own in members), np.int64, n_queries)
    given = np.fromiter((len(own) for own in weights), np.int64, n_queries)
    deltas = np.fromiter((demand[2] for demand in demands), np.float64, n_queries)
    kinds = ["linear" if len(demand) < 4 else demand[3] for demand in demands]
    _refuse(lengths != given, "a weight for each object, or none", lengths)
    _refuse(~(deltas >= 0.0), "a width of its answer that is 0 or more", deltas)
    known = np.fromiter((kind in ("linear", "each") for kind in kinds), np.bool_, n_queries)
    _refuse(~known, "a kind that is 'linear' or 'each'", np.array(kinds, dtype=object))
    flat = np.concatenate([np.empty(0, np.int64), *members])
    data = np.concatenate([np.empty(0), *weights])
    owners = np.repeat(np.arange(n_queries), lengths)
    outside = (flat < 0) | (flat >= n_objects)
    _refuse(outside, f"objects from 0 to {n_objects - 1}", flat, owners)
    _refuse(~np.isfinite(data), "finite weights", data, owners)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    matrix = sparse.csr_matrix((data, flat, starts), shape=(n_queries, n_objects))
    # Transposing twice sorts members within queries, in linear time.
    matrix = matrix.tocsc().tocsr()
    twice = (np.diff(matrix.indices) == 0) & (np.diff(owners) == 0)
    if twice.any():
        matrix.has_canonical_format = False
        matrix.sum_duplicates()
    np.abs(matrix.data, out=matrix.data)
    if not matrix.data.all():
        matrix.eliminate_zeros()
    return _Table(matrix, deltas, np.fromiter((k == "each" for k in kinds), np.bool_, n_queries))


def _refuse(
    wrong: Truths, wanted: str, values: npt.NDArray[Any], owners: npt.NDArray[Any] | None = None
) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        query = first if owners is None else int(owners[first])
        raise BindError(
            "a query that asks for no possible widths",
            f"query {query} has {values[first]}, and {int(wrong.sum())} in all are like that",
            f"give it {wanted}",
        )


def _caps(n_objects: int, table: _Table, alone: Truths) -> Floats:
    lengths = np.diff(table.matrix.indptr)
    chosen = np.repeat(alone, lengths)
    each = np.repeat(table.each, lengths)[chosen]
    deltas = np.repeat(table.deltas, lengths)[chosen]
    weights = np.where(each, 1.0, table.matrix.data[chosen])
    with np.errstate(over="ignore"):
        limits = np.where(weights == 1.0, deltas, deltas / weights * (1.0 - _UNIT))
    caps: Floats = np.full(n_objects, np.inf)
    np.minimum.at(caps, table.matrix.indices[chosen], limits)
    return caps


@compiled
def _held(starts: Indexes, members: Indexes, weights: Floats, widths: Floats) -> Floats:
    sums = np.zeros(starts.size - 1)
    for query in range(sums.size):
        total = 0.0
        for place in range(starts[query], starts[query + 1]):
            total += weights[place] * widths[members[place]]
        sums[query] = total
    return sums


@compiled
def _room(
    objects: npt.NDArray[np.int64],
    widths: Floats,
    leftover: Floats,
    caps: Floats,
    starts: Indexes,
    queries: Indexes,
    weights: Floats,
) -> Floats:
    growth = np.empty(objects.size)
    for rank in range(objects.size):
        one = objects[rank]
        if widths[one] == np.inf:
            growth[rank] = 0.0
            continue
        most = caps[one] - widths[one]
        for place in range(starts[one], starts[one + 1]):
            most = min(most, leftover[queries[place]] / weights[place])
        if most > 0.0 and widths[one] + most > caps[one]:
            most -= _UNIT * caps[one]
        growth[rank] = max(most, 0.0)
    return growth


@compiled
def _fill(
    order: npt.NDArray[np.int64],
    widths: Floats,
    leftover: Floats,
    caps: Floats,
    starts: Indexes,
    queries: Indexes,
    weights: Floats,
) -> None:
    for one in order:
        if widths[one] == np.inf:
            continue
        to_cap = caps[one] - widths[one]
        room = to_cap
        for place in range(starts[one], starts[one + 1]):
            room = min(room, leftover[queries[place]] / weights[place])
        if room > 0.0:
            # The sum may round to either side of the cap.
            widths[one] = caps[one] if room == to_cap else min(widths[one] + room, caps[one])
            for place in range(starts[one], starts[one + 1]):
                leftover[queries[place]] -= weights[place] * room


@compiled
def _least(shares: Floats, caps: Floats, starts: Indexes, queries: Indexes) -> Floats:
    widths = caps.copy()
    for one in range(widths.size):
        for place in range(starts[one], starts[one + 1]):
            widths[one] = min(widths[one], shares[queries[place]])
    return widths
