"""Widths that cost the fewest messages: a convex problem, solved by prices of the queries.

An object of width W sends about `rate * W ** -power` messages a second. The sum of that over all
objects is least, within the budgets of the queries, when each query has a price for a unit of
its budget and each object is as wide as the prices of its queries make worth while. The prices
are found query after query, each so that its budget is just spent, or 0 where it is not. What
the prices say about the least possible cost (duality) tells when to stop, with a known loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.filters.constraints import Constraints, Floats, Indexes, Truths
from streamgauge.kernel.jit import compiled

# Share of the cost that may be lost to stopping early.
TOLERANCE = 1e-4
# Rounds over all queries; a dozen is usual.
ROUNDS_MOST = 200

# At uniform widths an object counts as sending at least so much of what is usual: one that never
# sent gets a thousandth of the usual width, not 0, which would let all its readings through.
_QUIET = 1e-9
# And at most so much, so that one object does not leave the others without digits.
_LOUD = 1e12
# Messages a second that nothing sends: such a rate is an error, and not known.
_BEYOND_BELIEF = 1e100
# Prices without units add up to about the mean power; a start beyond this is no start.
_DEAREST = 1e6
_RANDOM_WALK = 2.0
_POWERS = (0.1, 4.0)
_FILLS = 4
_INNER = 12
_NEAR = 1e-3


class Allocation(NamedTuple):
    """Widths of objects, and prices of queries to start from next time.

    Parameters
    ----------
    widths
        Full widths; infinite for objects that no query asks for.
    prices
        Messages a second that a query would save if its answer might be one unit wider.
    """

    widths: Floats
    prices: Floats


def optimal_widths(
    constraints: Constraints,
    rate: npt.ArrayLike,
    power: npt.ArrayLike,
    cost: npt.ArrayLike | None = None,
    start_prices: npt.ArrayLike | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> Allocation:
    """Widths at which the objects send least, within every budget and cap.

    Parameters
    ----------
    constraints
        What the queries allow.
    rate, power
        An object sends about `rate * width ** -power` messages a second. A rate that is no number
        is not known and counts as what is usual; so does a power, as that of a random walk.
    cost
        Of a message, per object; one each if None.
    start_prices
        Those of an earlier allocation; not a number for a query that had none.
    tolerance
        Share of the cost that may be lost to stopping early.

    Examples
    --------
    One sum over two random walks, one of which moves eight times as far: as the best widths go
    with the power 2/3 of the steps, it gets four times the width.

    >>> constraints = Constraints.of(2, [([0, 1], None, 10.0, "linear")])
    >>> widths, prices = optimal_widths(constraints, [4.0, 256.0], [2.0, 2.0])
    >>> widths
    array([2., 8.])
    """
    uniform = constraints.uniform()
    prices = np.zeros(constraints.n_queries)
    problem, scale = _scaled(constraints, uniform, rate, power, cost)
    shared = problem.worth > 0.0
    if not shared.any():
        return Allocation(uniform, prices)
    budgets = constraints.spendable
    widths, found = _solved(problem, _begin(problem, start_prices, budgets / scale), tolerance)
    real = np.where(shared, widths * np.where(shared, uniform, 1.0), uniform)
    real = np.minimum(real, constraints.caps)
    # What is left goes to those that send most.
    real = constraints.filled(real, np.argsort(-problem.worth * problem.powers, kind="stable"))
    priced = found > 0.0
    prices[priced] = found[priced] / budgets[priced] * scale
    return Allocation(real, prices)


def least_cost(
    constraints: Constraints,
    rate: npt.ArrayLike,
    power: npt.ArrayLike,
    prices: npt.ArrayLike,
    cost: npt.ArrayLike | None = None,
) -> float:
    """Messages a second below which no widths within the budgets can get, by what prices show.

    Only objects that share a budget count. Any prices give a true bound; the best ones give the
    least cost itself.

    Examples
    --------
    >>> constraints = Constraints.of(2, [([0, 1], None, 10.0, "linear")])
    >>> widths, prices = optimal_widths(constraints, [4.0, 256.0], [2.0, 2.0])
    >>> least_cost(constraints, [4.0, 256.0], [2.0, 2.0], prices)
    5.0
    """
    problem, scale = _scaled(constraints, constraints.uniform(), rate, power, cost, quiet=0.0)
    given = np.asarray(prices, dtype=np.float64)
    priced = given > 0.0
    scaled = np.zeros(given.size)
    scaled[priced] = given[priced] * constraints.spendable[priced] / scale
    return scale * _bound(problem, scaled, *_answered(problem, scaled))


def static_optimum(
    constraints: Constraints, step_sizes: npt.ArrayLike, cost: npt.ArrayLike | None = None
) -> Floats:
    """Best fixed widths for random walks of known step sizes.

    A walk of step s leaves a bound of width W about every `(W / 2 s) ** 2` steps.

    Examples
    --------
    >>> static_optimum(Constraints.of(2, [([0, 1], None, 10.0, "linear")]), [1.0, 8.0])
    array([2., 8.])
    """
    rate = (2.0 * np.asarray(step_sizes, dtype=np.float64)) ** 2
    power = np.full(constraints.n_objects, _RANDOM_WALK)
    return optimal_widths(constraints, rate, power, cost, tolerance=1e-6).widths


def expected_cost(
    widths: npt.ArrayLike,
    rate: npt.ArrayLike,
    power: npt.ArrayLike,
    cost: npt.ArrayLike | None = None,
) -> float:
    """Messages a second, weighted by cost, that objects send at given widths.

    Examples
    --------
    >>> expected_cost([2.0, 8.0, np.inf], [4.0, 256.0, 1.0], [2.0, 2.0, 2.0])
    5.0
    """
    rates = np.asarray(rate, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        sent = rates * np.asarray(widths, dtype=np.float64) ** -np.asarray(power, dtype=np.float64)
    sent = np.where(rates == 0.0, 0.0, sent)
    return float((sent if cost is None else sent * np.asarray(cost, dtype=np.float64)).sum())


class _Problem(NamedTuple):
    """The same problem in units of uniform widths, budgets and the cost at uniform widths."""

    starts: Indexes
    members: Indexes
    weights: Floats
    worth: Floats
    powers: Floats
    caps: Floats


def _powers(power: npt.ArrayLike, n_objects: int) -> Floats:
    powers = np.broadcast_to(np.asarray(power, dtype=np.float64), n_objects)
    known: Floats = np.where(np.isfinite(powers), np.clip(powers, *_POWERS), _RANDOM_WALK)
    return known


def _worth(rates: Floats, powers: Floats, uniform: Floats, shared: Truths, quiet: float) -> Floats:
    """Cost of each object at its uniform width; 0 where nothing is shared."""
    with np.errstate(over="ignore", invalid="ignore"):
        sent = rates * np.where(shared, uniform, 1.0) ** -powers
    known = shared & (sent >= 0.0) & (sent < _BEYOND_BELIEF)
    sending = sent[known & (sent > 1.0 / _BEYOND_BELIEF)]
    usual = float(np.median(sending)) if sending.size else 1.0
    sent = np.minimum(np.where(known, sent, usual), _LOUD * usual)
    worth: Floats = np.where(shared, np.maximum(sent, quiet * usual), 0.0)
    return worth


def _scaled(
    constraints: Constraints,
    uniform: Floats,
    rate: npt.ArrayLike,
    power: npt.ArrayLike,
    cost: npt.ArrayLike | None,
    quiet: float = _QUIET,
) -> tuple[_Problem, float]:
    """The problem without units, and what its cost is to be multiplied by."""
    shared = (np.diff(constraints.object_starts) > 0) & (uniform > 0.0)
    powers = _powers(power, constraints.n_objects)
    with np.errstate(over="ignore", invalid="ignore"):
        rates = np.asarray(rate, dtype=np.float64) * (1.0 if cost is None else np.asarray(cost))
    rates = np.broadcast_to(rates, constraints.n_objects)
    worth = _worth(rates, powers, uniform, shared, quiet)
    scale = float(worth.sum()) or 1.0
    unit = np.where(shared, uniform, 0.0)
    weights = constraints.weights * unit[constraints.members]
    weights /= np.repeat(constraints.spendable, np.diff(constraints.starts))
    caps = np.where(shared, constraints.caps / np.where(shared, uniform, 1.0), 1.0)
    _limit(constraints.members, weights, caps)
    parts = (constraints.starts, constraints.members, weights, worth / scale, powers, caps)
    return _Problem(*parts), scale


def _begin(problem: _Problem, start_prices: npt.ArrayLike | None, units: Floats) -> Floats:
    """Prices to start from, so scaled that the budgets are about spent."""
    used = np.diff(problem.starts) > 0
    begin: Floats = np.where(used, 1.0 / max(int(used.sum()), 1), 0.0)
    if start_prices is not None:
        given = np.asarray(start_prices, dtype=np.float64)
        usable = used & np.isfinite(given) & (given > 0.0)
        old = np.zeros(begin.size)
        with np.errstate(over="ignore"):
            old[usable] = np.minimum(given[usable] * units[usable], _DEAREST)
        begin = old if old.any() else begin
    held: Floats = _sums(problem, _answered(problem, begin)[1])
    steep = 1.0 + float(problem.powers.mean())
    mean = float(begin @ held) / float(begin.sum())
    scaled: Floats = begin * mean**steep
    return scaled


def _sent(problem: _Problem, widths: Floats) -> float:
    shared = problem.worth > 0.0
    sent = problem.worth[shared] * widths[shared] ** -problem.powers[shared]
    return float(sent.sum())


def _bound(problem: _Problem, prices: Floats, tolls: Floats, widths: Floats) -> float:
    """Duality: what all objects send and are charged, less what the budgets are worth."""
    shared = problem.worth > 0.0
    return _sent(problem, widths) + float(tolls[shared] @ widths[shared]) - float(prices.sum())


def _solved(problem: _Problem, prices: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Best widths found, and prices."""
    best, cost, bound = np.ones(problem.worth.size), np.inf, 0.0
    for _ in range(ROUNDS_MOST // 2):
        tolls, widths = _answered(problem, prices)
        _round(problem, prices, tolls, widths)
        _round(problem, prices, tolls, widths)
        # Anew, because what was added and taken away left rounding behind.
        tolls, widths = _answered(problem, prices)
        bound = max(bound, _bound(problem, prices, tolls, widths))
        within = _within(problem, widths)
        sent = _sent(problem, within)
        if sent < cost:
            best, cost = within, sent
        if cost - bound <= tolerance * cost:
            break
    return best, prices


@compiled
def _limit(members: Indexes, weights: Floats, caps: Floats) -> None:
    """No width can spend more than a whole budget; so every cap is finite."""
    for place in range(members.size):
        if weights[place] > 0.0:
            caps[members[place]] = min(caps[members[place]], 1.0 / weights[place])


@compiled
def _width(toll: float, worth: float, power: float, cap: float) -> float:
    """Where one more unit of width saves as much as it is charged."""
    if toll <= 0.0 or worth <= 0.0:
        return cap
    ratio = power * worth / toll
    width = np.cbrt(ratio) if power == 2.0 else ratio ** (1.0 / (power + 1.0))
    return min(float(width), cap)


@compiled
def _answered(problem: _Problem, prices: Floats) -> tuple[Floats, Floats]:
    """What each object is charged for a unit of width, and the width it takes."""
    tolls = np.zeros(problem.worth.size)
    for query in range(prices.size):
        if prices[query] > 0.0:
            for place in range(problem.starts[query], problem.starts[query + 1]):
                tolls[problem.members[place]] += problem.weights[place] * prices[query]
    widths = np.empty(tolls.size)
    for one in range(tolls.size):
        widths[one] = _width(tolls[one], problem.worth[one], problem.powers[one], problem.caps[one])
    return tolls, widths


@compiled
def _sums(problem: _Problem, widths: Floats) -> Floats:
    sums = np.zeros(problem.starts.size - 1)
    for query in range(sums.size):
        for place in range(problem.starts[query], problem.starts[query + 1]):
            sums[query] += problem.weights[place] * widths[problem.members[place]]
    return sums


@compiled
def _slopes(
    problem: _Problem, query: int, tolls: Floats, widths: Floats
) -> tuple[float, float, float]:
    """What a query holds, how that falls with its price, and the mean of power + 1."""
    held, slope, steep = 0.0, 0.0, 0.0
    for place in range(problem.starts[query], problem.starts[query + 1]):
        one = problem.members[place]
        spent = problem.weights[place] * widths[one]
        held += spent
        if widths[one] < problem.caps[one]:
            more = problem.powers[one] + 1.0
            slope += problem.weights[place] * spent / (more * tolls[one])
            steep += spent * more
    return held, slope, max(1.0, steep / held) if held > 0.0 else 1.0


@compiled
def _first_kink(problem: _Problem, query: int, tolls: Floats) -> float:
    """Rise of a price that makes a first member narrower than its cap."""
    rise = np.inf
    for place in range(problem.starts[query], problem.starts[query + 1]):
        one = problem.members[place]
        if problem.weights[place] > 0.0:
            power = problem.powers[one]
            toll = power * problem.worth[one] * problem.caps[one] ** (-power - 1.0)
            rise = min(rise, (toll - tolls[one]) / problem.weights[place])
    return max(rise, 0.0)


@compiled
def _next_price(
    price: float, low: float, high: float, held: float, slope: float, steep: float
) -> float:
    """Newton's step for `held ** -steep`, nearly a line in the price, kept between its ends."""
    step = price + (held ** (steep + 1.0) - held) / (steep * slope)
    if low < 0.0:
        return float(max(step, 0.0))
    if low <= step <= high:
        return float(step)
    return float(np.sqrt(max(low, 1e-6 * high) * high))


@compiled
def _round(problem: _Problem, prices: Floats, tolls: Floats, widths: Floats) -> None:
    """Set each query's price so that its budget is spent, the others' being as they are."""
    for query in range(prices.size):
        low, high = -1.0, np.inf
        for step in range(_INNER):
            held, slope, steep = _slopes(problem, query, tolls, widths)
            price = prices[query]
            if (held <= 1.0 and price == 0.0) or (step > 0 and abs(held - 1.0) < _NEAR):
                break
            if held > 1.0:
                low = price
            else:
                high = price
            if slope > 0.0:
                new = _next_price(price, low, high, held, slope, steep)
            elif held > 1.0:
                new = price + 1.01 * _first_kink(problem, query, tolls)
            else:
                new = max(low, 0.0)
            prices[query] = new
            for place in range(problem.starts[query], problem.starts[query + 1]):
                one = problem.members[place]
                tolls[one] = max(tolls[one] + problem.weights[place] * (new - price), 0.0)
                widths[one] = _width(
                    tolls[one], problem.worth[one], problem.powers[one], problem.caps[one]
                )


@compiled
def _within(problem: _Problem, widths: Floats) -> Floats:
    """Widths made narrower until no budget is exceeded, then wider while some is left."""
    factors = np.ones(widths.size)
    sums = _sums(problem, widths)
    for query in range(sums.size):
        if sums[query] > 1.0:
            for place in range(problem.starts[query], problem.starts[query + 1]):
                one = problem.members[place]
                factors[one] = min(factors[one], 1.0 / sums[query])
    found = widths * factors
    for _ in range(_FILLS):
        sums = _sums(problem, found)
        for one in range(found.size):
            factors[one] = problem.caps[one] / found[one]
        for query in range(sums.size):
            if sums[query] > 0.0:
                most = max(1.0 / sums[query], 1.0)
                for place in range(problem.starts[query], problem.starts[query + 1]):
                    one = problem.members[place]
                    factors[one] = min(factors[one], most)
        found *= factors
    return found
