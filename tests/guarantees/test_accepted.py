"""What the planner still accepts is held: the interval has the truth and is as narrow as asked for.

A trial is a fresh seed and fresh rows. It breaks when the truth is outside the interval, or when
an end of the interval is further from the value than the contract allows. Fifteen verdicts, each a
false alarm with chance 1e-6 at most; 60 trials notice breaks at a rate of 0.35 with chance 0.95.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from streamgauge.checks.trials import cutoff
from streamgauge.contracts.contract import Contract
from streamgauge.contracts.estimate import Estimate
from streamgauge.operators.aggregate import (
    Aggregate,
    distinct,
    frequency,
    quantile,
    self_join,
    top_k,
)
from streamgauge.operators.expression import column
from streamgauge.plan.bidding import taken
from streamgauge.plan.part import Part
from streamgauge.plan.query import Query
from streamgauge.plan.summary import named_model
from streamgauge.synopses.distinct.set_expression import SetExpression
from streamgauge.synopses.questions import JoinSize
from streamgauge.synopses.synopsis import Synopsis
from streamgauge.windows.window import Range

pytestmark = pytest.mark.slow

MINUTE = Range("1 minute")
TRIALS = 60
Ints = npt.NDArray[np.int64]


def model(query: Query, seed: int) -> Synopsis:
    """The synopsis that the planner takes, with a seed of the trial."""
    chosen = named_model(taken(query).model)
    return type(chosen)(**chosen.parameters, seed=seed)


def asked(select: Aggregate, contract: Contract, streams: int = 0) -> Query:
    parts = tuple(Part(f"s{i}", MINUTE, (column("x"),)) for i in range(streams))
    return Query("q", "s0", select, window=MINUTE, contract=contract, parts=parts)


def broken(found: Estimate, truth: float, allowed: float) -> bool:
    reach = max(found.high - found.value, found.value - found.low)
    slack = 1e-9 * max(1.0, abs(truth))
    return not found.low - slack <= truth <= found.high + slack or reach > allowed + slack


def equal_rows(seed: int) -> Ints:
    """Items of equal weight: no skew helps a sketch."""
    return np.repeat(np.arange(1500, dtype=np.int64) + 10_000 * seed, 2)


ONE: dict[str, tuple[Aggregate, Contract]] = {
    "distinct": (distinct("x"), Contract.relative(0.05, confidence=0.95)),
    "frequency": (frequency("x", 1), Contract.rank(0.02, confidence=0.95)),
    "frequency guaranteed": (frequency("x", 1), Contract.rank(0.02)),
    "self-join": (self_join("x"), Contract.relative(0.2, confidence=0.95)),
    "quantile": (quantile("x", 0.5), Contract.relative(0.01, confidence=0.95)),
    "top": (top_k("x", 5), Contract.rank(0.02, confidence=0.95)),
}


@pytest.mark.parametrize("name", ONE)
def test_one_stream(name: str) -> None:
    select, contract = ONE[name]
    query, question = asked(select, contract), select.question()
    breaks = 0
    for seed in range(TRIALS):
        rows = equal_rows(seed)
        if name.startswith("frequency"):
            question = frequency("x", int(rows[0])).question()
        synopsis = model(query, seed)
        synopsis.update(rows)
        weights = np.ones(len(rows))
        given = synopsis.query(question)
        if isinstance(given, tuple):
            wide = any(found.weight.high - found.weight.low > 0.04 * len(rows) for found in given)
            breaks += question.broken_by(given, rows, weights) or wide
            continue
        truth = question.truth(rows, weights)
        scale = len(rows) if contract.tolerance == "rank" else abs(given.value)
        breaks += broken(given, truth, contract.within * scale)
    assert breaks <= cutoff(TRIALS, 1.0 - contract.confidence)


def ranks_within(seed: int) -> bool:
    """Whether the interval of a median has the ranks that a contract of 0.02 allows."""
    rows = np.random.default_rng(seed).permutation(3000)
    query = asked(quantile("x", 0.5), Contract.rank(0.02, confidence=0.95))
    synopsis = model(query, seed)
    synopsis.update(rows)
    found = synopsis.query(query.select.question())
    # The value of rank r is r - 1 here; twice the error is the furthest that two ends can be.
    return found.low <= 1499 <= found.high and found.high - found.low <= 4 * 0.02 * 3000


def test_ranks() -> None:
    assert sum(not ranks_within(seed) for seed in range(TRIALS)) <= cutoff(TRIALS, 0.05)


SETS: dict[str, tuple[str, Callable[[set[int], set[int]], set[int]]]] = {
    "union": ("p0 | p1", set.union),
    "intersect": ("p0 & p1", set.intersection),
    "except": ("p0 - p1", set.difference),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("shared", [5, 600], ids=["few shared", "many shared"])
def test_sets(name: str, shared: int) -> None:
    text, exact = SETS[name]
    union = name == "union"
    contract = (Contract.relative if union else Contract.rank)(0.1, confidence=0.95)
    query = asked(Aggregate("set_size", argument=text), contract, 2)
    breaks = 0
    for seed in range(TRIALS):
        left = np.arange(1000, dtype=np.int64) + 10_000 * seed
        right = left + 1000 - shared
        held = {"p0": model(query, seed), "p1": model(query, seed)}
        held["p0"].update(left)
        held["p1"].update(right)
        found = SetExpression.parse(text).estimate(held)  # type: ignore[arg-type]
        truth = len(exact(set(left.tolist()), set(right.tolist())))
        breaks += broken(found, truth, 0.1 * (found.value if union else 2000.0))
    assert breaks <= cutoff(TRIALS, 0.05)


@pytest.mark.parametrize("items", [1, 1000], ids=["one item", "many items"])
def test_joins(items: int) -> None:
    """One item in both streams is the worst: all pairs meet."""
    query = asked(
        Aggregate("join_size", argument="p0 = p1"), Contract.rank(0.1, confidence=0.95), 2
    )
    breaks = 0
    for seed in range(TRIALS):
        left = np.arange(1000, dtype=np.int64) % items + 10_000 * seed
        right = np.arange(2000, dtype=np.int64) % (2 * items) + 10_000 * seed
        one, two = model(query, seed), model(query, seed)
        one.update(left)
        two.update(right)
        truth = JoinSize(two, (right, None)).truth(left, np.ones(len(left)))
        found = one.query(JoinSize(two))
        breaks += broken(found, truth, 0.1 * len(left) * len(right))
    assert breaks <= cutoff(TRIALS, 0.05)
