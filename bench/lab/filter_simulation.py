"""Message counts by simulation: values of objects run through policies, every answer checked.

Each tick all objects are read, updates reach the coordinator at once and replies the sources;
shrinks are confirmed a tick later. An update costs one message and so does a grant that is not in
the reply to one. What the coordinator believes is kept apart from the sources and compared with
the values at every tick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.lab.fleet import Fleet, Sent
from streamgauge.filters.constraints import Constraints
from streamgauge.filters.curve import SECOND
from streamgauge.filters.manager import Policy, PrecisionManager
from streamgauge.kernel.jit import compiled

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Blocks = Iterable[Floats]

# Ticks between two adjustments.
PERIOD = 10
# Sums of floats are off by this share at most; the bounds themselves have no tolerance.
_ROUNDING = 1e-9


@dataclass(slots=True)
class Count:
    """Messages of one run, after its warm-up.

    Parameters
    ----------
    ticks
        How many were counted.
    updates, control
        Messages from and to sources.
    checked, wrong
        Bounds and answers compared with the truth, and those that did not hold.

    Examples
    --------
    >>> Count(ticks=10, updates=4, control=1).per_tick
    0.5
    """

    ticks: int = 0
    updates: int = 0
    control: int = 0
    checked: int = 0
    wrong: int = 0

    @property
    def per_tick(self) -> float:
        """Messages a tick, control counted."""
        return (self.updates + self.control) / max(self.ticks, 1)


class Belief(NamedTuple):
    """Bounds as the coordinator has them: centres, since when, slopes, held widths."""

    centres: Floats
    since: Floats
    slopes: Floats
    held: Floats

    @classmethod
    def of(cls, n_objects: int) -> Belief:
        """Nothing known yet."""
        return cls(*(np.zeros(n_objects) for _ in cls._fields))

    def take(self, sent: Sent) -> None:
        """Note updates, the later ones of an object last."""
        self.centres[sent.objects] = sent.values
        self.since[sent.objects] = sent.at
        self.slopes[sent.objects] = sent.slopes


class Checker:
    """Compares bounds and answers with the truth at every tick.

    Parameters
    ----------
    constraints
        Whose answers are checked.
    """

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints

    def wrong(self, belief: Belief, values: Floats, first: int) -> int:
        """How many bounds and answers over some ticks did not hold."""
        c = self.constraints
        return int(
            _wrong(belief, values, first, c.starts, c.members, c.weights, c.budgets, c.unqueried)
        )


def adaptive(
    blocks: Blocks,
    constraints: Constraints,
    *,
    warm_up: int = 0,
    policy: Policy | None = None,
    models: bool = True,
) -> Count:
    """Our own way: sources that know their curves, widths by replies.

    Parameters
    ----------
    blocks
        Values, ticks by objects, in pieces.
    constraints
        What the queries allow.
    warm_up
        Ticks that are run and checked but not counted.
    policy
        Of the manager.
    models
        Whether bounds may move with values that drift.

    Examples
    --------
    >>> walks = np.cumsum(np.random.default_rng(1).normal(size=(2000, 4)), axis=0)
    >>> constraints = Constraints.of(4, [(np.arange(4), np.full(4, 0.25), 20.0, "linear")])
    >>> count = adaptive([walks], constraints, warm_up=500)
    >>> count.wrong, 0.01 < count.per_tick < 0.1
    (0, True)
    """
    manager = PrecisionManager(constraints, policy=policy)
    run = _Run(Fleet(constraints.n_objects, models=models), manager, Checker(constraints), warm_up)
    first = 0
    for block in blocks:
        run.block(np.ascontiguousarray(block, np.float64), first)
        first += len(block)
    run.count.ticks = max(first - warm_up, 0)
    return run.count


class _Run:
    """One run of our own way."""

    def __init__(
        self, fleet: Fleet, manager: PrecisionManager, checker: Checker, warm_up: int
    ) -> None:
        self.fleet, self.manager, self.checker = fleet, manager, checker
        self.warm_up = warm_up
        self.count = Count()
        self.belief = Belief.of(len(fleet.rows))
        self.unconfirmed: list[tuple[Whole, Whole]] = []

    def block(self, values: Floats, first: int) -> None:
        """Run some ticks."""
        done = 0
        while done < len(values):
            tick = first + done
            # Up to the end of the period, but only one while confirmations are under way.
            stop = done + (1 if self.unconfirmed else PERIOD - tick % PERIOD)
            self._confirm()
            last, sent = self.fleet.run(values[done:stop], tick)
            quiet = values[done : last - first] if sent.objects.size else values[done:stop]
            self._check(quiet, tick)
            if sent.objects.size:
                self._take(sent, last)
            if (last + 1) % PERIOD == 0:
                self._adjust(last)
            if sent.objects.size:
                self._check(values[last - first : last - first + 1], last)
            done = last - first + 1

    def _confirm(self) -> None:
        for objects, versions in self.unconfirmed:
            self.manager.applied_many(objects, versions)
        self.unconfirmed.clear()

    def _take(self, sent: Sent, tick: int) -> None:
        """Updates reach the coordinator, replies the sources."""
        while sent.objects.size:
            self.belief.take(sent)
            if tick >= self.warm_up:
                self.count.updates += sent.objects.size
            grants = self.manager.update_many(
                sent.objects, tick * SECOND, sent.versions, sent.rates, sent.powers
            )
            sent = self._deliver(grants.objects, grants.versions, grants.widths, tick)

    def _deliver(self, objects: Whole, versions: Whole, widths: Floats, tick: int) -> Sent:
        sent = self.fleet.grant(objects, versions, widths, tick * SECOND)
        self.unconfirmed.append((objects, versions))
        return sent

    def _adjust(self, tick: int) -> None:
        grants = self.manager.adjust_many(tick * SECOND)
        if tick >= self.warm_up:
            self.count.control += grants.objects.size
        if grants.objects.size:
            self._take(self._deliver(*grants, tick), tick)

    def _check(self, values: Floats, tick: int) -> None:
        self.belief.held[:] = self.manager.held
        self.count.checked += len(values)
        self.count.wrong += self.checker.wrong(self.belief, values, tick)


def static(
    blocks: Blocks,
    constraints: Constraints,
    widths: Floats | Callable[[int], Floats],
    *,
    warm_up: int = 0,
) -> Count:
    """Fixed widths, or widths that change at the beginning of blocks and are known at once.

    Parameters
    ----------
    blocks, constraints, warm_up
        As for `adaptive`.
    widths
        Full widths, or what gives them for the number of a block.
    """
    count, checker = Count(), Checker(constraints)
    belief = Belief.of(constraints.n_objects)
    belief.centres[:] = np.nan
    first = 0
    for number, block in enumerate(blocks):
        values = np.ascontiguousarray(block, np.float64)
        belief.held[:] = widths(number) if callable(widths) else widths
        _static_block(values, first, warm_up, belief, checker, count)
        first += len(values)
    count.ticks = max(first - warm_up, 0)
    return count


class Printed(NamedTuple):
    """A rule that is told the messages of a period, and gives widths and who must hear of them."""

    adjust: Callable[[Whole, Floats], tuple[Floats, npt.NDArray[np.bool_]]]
    widths: Floats


def printed(blocks: Blocks, constraints: Constraints, rule: Printed, *, warm_up: int = 0) -> Count:
    """The printed rule and its like: shrinks without messages, growth messages every period.

    Parameters
    ----------
    blocks, constraints, warm_up
        As for `adaptive`.
    rule
        What to do every period, and the widths to begin with.
    """
    count, checker = Count(), Checker(constraints)
    belief = Belief.of(constraints.n_objects)
    belief.centres[:] = np.nan
    belief.held[:] = rule.widths
    first = 0
    for block in blocks:
        values = np.ascontiguousarray(block, np.float64)
        for start in range(0, len(values), PERIOD):
            piece = values[start : start + PERIOD]
            sent = _static_block(piece, first, warm_up, belief, checker, count)
            widths, grown = rule.adjust(sent, belief.held.copy())
            belief.held[:] = widths
            first += len(piece)
            if first > warm_up:
                count.control += int(np.count_nonzero(grown))
    count.ticks = max(first - warm_up, 0)
    return count


def _static_block(
    values: Floats, first: int, warm_up: int, belief: Belief, checker: Checker, count: Count
) -> Whole:
    """Run ticks at fixed widths; give the messages of each object."""
    c = checker.constraints
    counted = min(max(warm_up - first, 0), len(values))
    sent = np.zeros((2, values.shape[1]), np.int64)
    wrong = _exits(
        belief, values, first, counted, sent, c.starts, c.members, c.weights, c.budgets, c.unqueried
    )
    count.updates += int(sent[1].sum())
    count.checked += len(values)
    count.wrong += int(wrong)
    both: Whole = sent.sum(axis=0)
    return both


@compiled
def _exits(
    belief: Belief,
    values: Floats,
    first: int,
    counted: int,
    sent: Whole,
    starts: npt.NDArray[np.int32],
    members: npt.NDArray[np.int32],
    weights: Floats,
    budgets: Floats,
    unqueried: npt.NDArray[np.bool_],
) -> int:
    wrong = 0
    for place in range(values.shape[0]):
        part = 1 if place >= counted else 0
        for one in range(values.shape[1]):
            value = values[place, one]
            half = 0.5 * belief.held[one]
            if not abs(value - belief.centres[one]) <= half * (1.0 - 4.5e-16):
                belief.centres[one] = value
                sent[part, one] += 1
        wrong += _wrong(
            belief,
            values[place : place + 1],
            first + place,
            starts,
            members,
            weights,
            budgets,
            unqueried,
        )
    return wrong


@compiled
def _wrong(
    belief: Belief,
    values: Floats,
    first: int,
    starts: npt.NDArray[np.int32],
    members: npt.NDArray[np.int32],
    weights: Floats,
    budgets: Floats,
    unqueried: npt.NDArray[np.bool_],
) -> int:
    wrong = 0
    n_objects = belief.centres.size
    n_queries = starts.size - 1
    for place in range(values.shape[0]):
        at = (first + place) * SECOND
        for one in range(n_objects):
            centre = belief.centres[one]
            if belief.slopes[one] != 0.0:
                centre += belief.slopes[one] * ((at - belief.since[one]) / SECOND)
            if (
                not unqueried[one]
                and not abs(values[place, one] - centre) <= 0.5 * belief.held[one]
            ):
                wrong += 1
        for query in range(n_queries):
            truth, middle, held, scale = 0.0, 0.0, 0.0, 0.0
            for spot in range(starts[query], starts[query + 1]):
                one, weight = members[spot], weights[spot]
                centre = belief.centres[one]
                if belief.slopes[one] != 0.0:
                    centre += belief.slopes[one] * ((at - belief.since[one]) / SECOND)
                truth += weight * values[place, one]
                middle += weight * centre
                held += weight * belief.held[one]
                scale += weight * abs(values[place, one])
            if held > budgets[query]:
                wrong += 1
            if not abs(truth - middle) <= 0.5 * held + _ROUNDING * scale:
                wrong += 1
    return wrong
