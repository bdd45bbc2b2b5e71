"""Source aggregation: one object per query, or one per group that queries have in common.

A source that measures several things may send each under its own filter, and the coordinator
adds them up for every query; or it may add them up itself and send one sum per query. The sum
has the whole width of the query, but what two queries share is then sent twice. Neither is
always cheaper; both costs are estimated here, for each source and each set of queries that
overlap there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from streamgauge.filters.allocation import expected_cost, optimal_widths
from streamgauge.filters.constraints import Constraints, Demand, Floats

# Aggregating must save more than this share; a change costs messages and estimates err.
MARGIN = 0.1

_HALVINGS = 60


class Curve(NamedTuple):
    """How often sums would be sent: about `rate * width ** -power`, near the widths asked for."""

    rate: Floats
    power: Floats


class Choice(NamedTuple):
    """Both costs for objects of one source whose queries overlap.

    Parameters
    ----------
    source
        As the caller numbers them.
    objects, queries
        Those concerned.
    separate, aggregated
        Messages a second, weighted by cost, with an object per group and with one per query.
    aggregate
        Whether one per query is clearly cheaper.
    """

    source: int
    objects: npt.NDArray[np.int64]
    queries: npt.NDArray[np.int64]
    separate: float
    aggregated: float
    aggregate: bool


def summed(
    weights: npt.ArrayLike, rate: npt.ArrayLike, power: npt.ArrayLike, widths: npt.ArrayLike
) -> Curve:
    """How often weighted sums of independent objects leave bounds of given widths.

    In a time t an object spreads over about `(rate t) ** (1 / power)`. Squares of spreads add,
    as variances do; a sum leaves its bound when its own spread fills it.

    Parameters
    ----------
    weights
        Matrix, sums by objects.
    rate, power
        Of the objects.
    widths
        Of the sums.

    Examples
    --------
    For random walks the rates themselves add, times the squares of the weights.

    >>> summed([[1.0, 1.0], [1.0, -2.0]], [4.0, 9.0], [2.0, 2.0], [5.0, 5.0])
    Curve(rate=array([13., 40.]), power=array([2., 2.]))
    """
    matrix = np.atleast_2d(np.asarray(weights, dtype=np.float64)) ** 2
    rates = np.asarray(rate, dtype=np.float64)
    powers = np.broadcast_to(np.asarray(power, dtype=np.float64), rates.shape)
    wide = np.asarray(widths, dtype=np.float64)
    total = (matrix * rates).sum(axis=1)
    moving = (total > 0.0) & (wide > 0.0) & np.isfinite(wide)
    found = Curve(total, np.full(wide.size, 2.0))
    if not moving.any():
        return found
    chosen, wide = matrix[moving], wide[moving]
    waits = _waits(chosen, rates, powers, wide)
    squares = chosen * _spreads(rates, powers, waits) ** 2
    # A change of width by one part changes the wait by `power` parts: weighted means of 1 / power.
    found.power[moving] = squares.sum(axis=1) / (squares / powers).sum(axis=1)
    found.rate[moving] = wide ** found.power[moving] / waits
    return found


def separate_cost(
    weights: npt.ArrayLike,
    budgets: npt.ArrayLike,
    rate: npt.ArrayLike,
    power: npt.ArrayLike,
    cost: npt.ArrayLike | None = None,
    caps: npt.ArrayLike | None = None,
) -> float:
    """Least cost with one object per group, within the budgets of the queries.

    Examples
    --------
    Two queries share object 0, the only one that moves: it gets all of the smaller budget.

    >>> shared = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    >>> round(separate_cost(shared, [4.0, 2.0], [16.0, 0.0, 0.0], 2.0), 1)
    4.0
    """
    matrix = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    demands = [
        Demand(np.flatnonzero(row), row[row != 0.0], float(budget))
        for row, budget in zip(matrix, np.asarray(budgets, dtype=np.float64), strict=True)
    ]
    if caps is not None:
        limits = np.asarray(caps, dtype=np.float64)
        limited = np.flatnonzero(np.isfinite(limits))
        demands += [Demand([one], None, float(limits[one]), "each") for one in limited]
    constraints = Constraints.of(matrix.shape[1], demands)
    widths = optimal_widths(constraints, rate, power, cost).widths
    return expected_cost(widths, rate, power, cost)


def aggregated_cost(
    weights: npt.ArrayLike,
    budgets: npt.ArrayLike,
    rate: npt.ArrayLike,
    power: npt.ArrayLike,
    cost: npt.ArrayLike | None = None,
    caps: npt.ArrayLike | None = None,
) -> float:
    """Cost with one object per query, each as wide as its budget.

    A message of a sum costs the mean of what its parts' would. Objects that a cap asks for by
    themselves are sent besides.

    Examples
    --------
    The same two queries: the one object that moves is sent for each of them.

    >>> shared = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    >>> aggregated_cost(shared, [4.0, 2.0], [16.0, 0.0, 0.0], 2.0)
    5.0
    """
    matrix = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    wide = np.asarray(budgets, dtype=np.float64)
    costs = np.ones(matrix.shape[1]) if cost is None else np.asarray(cost, dtype=np.float64)
    present = matrix != 0.0
    charged = (present @ costs) / np.maximum(present.sum(axis=1), 1)
    sums = expected_cost(wide, *summed(matrix, rate, power, wide), charged)
    if caps is None:
        return sums
    limits = np.asarray(caps, dtype=np.float64)
    return sums + expected_cost(limits, rate, power, costs)


def choices(
    constraints: Constraints,
    sources: npt.ArrayLike,
    widths: npt.ArrayLike,
    rate: npt.ArrayLike,
    power: npt.ArrayLike,
    cost: npt.ArrayLike | None = None,
    *,
    margin: float = MARGIN,
) -> list[Choice]:
    """Which sources should aggregate for which queries.

    Of each budget a source counts on what its objects hold of it now, so that a choice of one
    source leaves the others as they are.

    Parameters
    ----------
    constraints
        What the queries allow.
    sources
        The source of each object.
    widths
        Of the objects, within the constraints.
    rate, power, cost
        As for `optimal_widths`.
    margin
        Share that aggregating must save.

    Examples
    --------
    One source, two sums that share object 0; the budgets differ by far, so each query is better
    off with a bound of its own.

    >>> demands = [([0, 1], None, 100.0), ([0, 2], None, 1.0)]
    >>> constraints = Constraints.of(3, demands)
    >>> widths = optimal_widths(constraints, [4.0, 4.0, 4.0], 2.0).widths
    >>> choice, = choices(constraints, [0, 0, 0], widths, [4.0, 4.0, 4.0], 2.0)
    >>> choice.aggregate, round(choice.separate / choice.aggregated, 1)
    (True, 4.0)
    """
    column = np.asarray(widths, dtype=np.float64)
    rates = np.broadcast_to(np.asarray(rate, dtype=np.float64), column.shape)
    powers = np.broadcast_to(np.asarray(power, dtype=np.float64), column.shape)
    costs = np.ones(column.size) if cost is None else np.asarray(cost, dtype=np.float64)
    found = []
    for source, objects, queries, matrix in _overlaps(constraints, np.asarray(sources)):
        budgets = matrix @ column[objects]
        own = (rates[objects], powers[objects], costs[objects], constraints.caps[objects])
        apart = separate_cost(matrix, budgets, *own)
        together = aggregated_cost(matrix, budgets, *own)
        better = together < (1.0 - margin) * apart
        found.append(Choice(source, objects, queries, apart, together, better))
    return found


def _overlaps(
    constraints: Constraints, sources: npt.NDArray[np.int64]
) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]]:
    """Sets of objects of a source that queries tie together, with their part of the matrix."""
    queries = np.repeat(np.arange(constraints.n_queries), np.diff(constraints.starts))
    homes = sources[constraints.members]
    # A query counts once for each source, because sources choose by themselves.
    pairs, seats = np.unique(np.stack([queries, homes]), axis=1, return_inverse=True)
    seats = seats.reshape(-1)
    n_objects, n_seats = constraints.n_objects, pairs.shape[1]
    ties = sparse.coo_matrix(
        (np.ones(seats.size), (constraints.members, n_objects + seats)),
        shape=(n_objects + n_seats, n_objects + n_seats),
    )
    _, labels = csgraph.connected_components(ties, directed=False)
    order = np.argsort(labels[constraints.members], kind="stable")
    cuts = np.flatnonzero(np.diff(labels[constraints.members][order])) + 1
    for places in np.split(order, cuts):
        if places.size:
            objects, columns = np.unique(constraints.members[places], return_inverse=True)
            asked, rows = np.unique(queries[places], return_inverse=True)
            matrix = np.zeros((asked.size, objects.size))
            matrix[rows.reshape(-1), columns.reshape(-1)] = constraints.weights[places]
            yield int(homes[places[0]]), objects.astype(np.int64), asked, matrix


def _spreads(rates: Floats, powers: Floats, waits: Floats) -> Floats:
    spread: Floats = (rates * waits[:, None]) ** (1.0 / powers)
    return spread


def _waits(matrix: Floats, rates: Floats, powers: Floats, widths: Floats) -> Floats:
    """Times after which the spreads of sums fill their widths."""
    parts = rates > 0.0
    matrix, rates, powers = matrix[:, parts], rates[parts], powers[parts]

    def filled(waits: Floats) -> npt.NDArray[np.bool_]:
        full: npt.NDArray[np.bool_] = (matrix * _spreads(rates, powers, waits) ** 2).sum(
            axis=1
        ) >= widths**2
        return full

    # Between the wait of the quickest part, all of whose fellows move as it does, and its own.
    with np.errstate(divide="ignore"):
        alone = (widths[:, None] / np.sqrt(matrix)) ** powers / rates
        share = matrix.shape[1] ** (-0.5 * powers)
    high, low = alone.min(axis=1), (alone * share).min(axis=1)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        full = filled(middle)
        low, high = np.where(full, low, middle), np.where(full, middle, high)
    return np.asarray(np.sqrt(low * high))
