"""Moments: formulas, worked examples, and what must be refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from streamgauge.checks.trials import cutoff
from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import (
    BindError,
    ContractUnsatisfiable,
    IncompatibleSynopsis,
    StateTooOld,
)
from streamgauge.synopses.moments.accumulators import carry, deposit, logarithms, scale
from streamgauge.synopses.moments.ams import Ams
from streamgauge.synopses.moments.change import ChangeDetector
from streamgauge.synopses.moments.dominance import Dominance
from streamgauge.synopses.moments.dyadic_ams import DyadicAms
from streamgauge.synopses.moments.fast_ams import FastAms
from streamgauge.synopses.moments.forecasts import FORECASTS, mix
from streamgauge.synopses.moments.join_sketch import JoinSketch
from streamgauge.synopses.moments.l0 import L0
from streamgauge.synopses.moments.medians import bar_of_product, fewest_copies, grouping
from streamgauge.synopses.moments.stable import Stable, law
from streamgauge.synopses.moments.stable_law import (
    distribution,
    log_moment,
    log_quantile,
    quantile_of_mean_log,
)
from streamgauge.synopses.questions import (
    Count,
    Distance,
    Distinct,
    DominanceNorm,
    Frequency,
    JoinSize,
    Moment,
    Quantile,
    RangeCount,
    Rank,
)
from streamgauge.synopses.synopsis import Need

pytestmark = pytest.mark.slow

ZIPF = np.minimum(np.random.default_rng(3).zipf(1.3, 4000), 5000)


def fed(synopsis: Any, column: Any, weights: Any = None) -> Any:
    synopsis.update(column, weights)
    return synopsis


# Medians of means.


@pytest.mark.parametrize("delta", [0.2, 0.05, 0.01, 1e-4])
def test_the_median_fails_as_often_as_the_binomial_says(delta: float) -> None:
    cut = grouping(90, delta)
    half = (cut.groups + 1) // 2
    assert math.isclose(stats.binom.sf(half - 1, cut.groups, cut.chance), delta, rel_tol=1e-6)
    groups, copies = fewest_copies(0.1, delta)
    cut = grouping(groups * math.ceil(copies), delta)
    assert cut.reach <= 0.1 + 1e-9


@pytest.mark.parametrize("epsilon", [0.3, 0.1])
@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_the_sizes_of_the_paper_are_enough(epsilon: float, delta: float) -> None:
    width = math.ceil(16 / epsilon**2)
    depth = math.ceil(4 * math.log2(1 / delta))
    assert FastAms(width, depth, delta).guarantee.epsilon <= epsilon


@given(
    value=st.floats(-50, 50),
    reach=st.floats(0.01, 3.0),
    squares=st.floats(0.1, 1000),
    own=st.sampled_from([-1.0, 1.0]),
    share=st.floats(-1, 1),
)
def test_the_bar_of_a_product_is_all_that_is_near_enough(
    value: float, reach: float, squares: float, own: float, share: float
) -> None:
    truth = share * math.sqrt(squares)
    low, high = bar_of_product(value, reach, squares=squares, own=own)
    near = abs(value - truth) <= reach * math.sqrt(max(0.0, squares + own * truth**2))
    assert not near or low - 1e-6 <= truth <= high + 1e-6


# AMS and fast AMS.


@pytest.mark.parametrize("width", [1, 8])
def test_squares_have_the_mean_and_variance_of_the_proof(width: int) -> None:
    totals = np.array([9.0, 5.0, 4.0, 4.0, 3.0, 1.0, 1.0, -2.0, -6.0])
    sketch = fed(FastAms(width, 8000, seed=5), np.arange(len(totals)), totals)
    rows = np.square(sketch.counters).sum(axis=1)
    f2, f4 = (totals**2).sum(), (totals**4).sum()
    variance = 2 * (f2**2 - f4) / width
    assert abs(rows.mean() - f2) < 5 * math.sqrt(variance / 8000)
    assert math.isclose(rows.var(), variance, rel_tol=0.12)


def test_join_rows_have_the_variance_of_the_proof() -> None:
    one, two = np.array([20.0, 5.0, 10.0, 2.0]), np.array([2.0, 15.0, 3.0, 10.0])
    left = fed(FastAms(4, 8000, seed=2), np.arange(4), one)
    right = fed(FastAms(4, 8000, seed=2), np.arange(4), two)
    rows = (left.counters * right.counters).sum(axis=1)
    join = one @ two
    variance = ((one**2).sum() * (two**2).sum() + join**2 - 2 * (one**2 * two**2).sum()) / 4
    assert abs(rows.mean() - join) < 5 * math.sqrt(variance / 8000)
    assert math.isclose(rows.var(), variance, rel_tol=0.1)


@pytest.mark.parametrize("model", [FastAms(128, 5, seed=4), Ams(300, seed=4)])
def test_sketches_are_linear(model: FastAms) -> None:
    x, y = fed(model.empty(), ZIPF[:500]), fed(model.empty(), ZIPF[500:900])
    both = model.empty()
    both.update(ZIPF[:500], np.full(500, 2.5))
    both.update(ZIPF[500:900], np.full(400, -3.0))
    assert np.allclose(mix((2.5, x), (-3.0, y)).counters, both.counters)
    x.update(ZIPF[:500], -np.ones(500))
    assert not x.counters.any()
    assert x.query(Moment(2)).high == 0.0


def test_answers_of_two_streams() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.integers(0, 300, 3000), rng.integers(100, 400, 2000)
    left = fed(FastAms(1024, 9, 0.01, seed=3), one)
    right = fed(FastAms(1024, 9, 0.01, seed=3), two)
    for question in (JoinSize(right, (two, None)), Distance(right, 2.0, (two, None))):
        found = left.query(question)
        truth = question.truth(one, np.ones(3000))
        assert found.low <= truth <= found.high
        assert abs(found.value - truth) < 0.1 * truth
        assert found.confidence == 0.99
    assert left.query(Count()).value == 3000


def test_a_join_with_itself_is_the_sum_of_squares() -> None:
    sketch = fed(FastAms(256, 5, seed=1), ZIPF)
    join, squares = sketch.query(JoinSize(sketch)), sketch.query(Moment(2))
    assert math.isclose(join.value, squares.value, rel_tol=1e-12)


def test_frequencies_of_all_items_hold() -> None:
    sketch = fed(FastAms(512, 7, 0.02, seed=8), ZIPF)
    distinct, totals = np.unique(ZIPF, return_counts=True)
    bars = [sketch.query(Frequency(int(item))) for item in distinct]
    missed = sum(not bar.holds(truth) for bar, truth in zip(bars, totals, strict=True))
    assert missed <= 0.02 * len(distinct)
    heaviest = bars[int(totals.argmax())]
    assert heaviest.high - heaviest.low < 0.5 * totals.max()


@pytest.mark.parametrize(
    ("question", "within"), [(Moment(2), 0.2), (Frequency(3), 0.05), (Distance(None), 0.1)]
)
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_sizes_hold_their_contract(question: Any, within: float, confidence: float) -> None:
    owed = Contract.rank if isinstance(question, Frequency) else Contract.relative
    contract = owed(within, confidence=confidence)
    sketch = fed(FastAms.sized_for(Need(question, contract), seed=2), ZIPF)
    if isinstance(question, Distance):
        question = Distance(sketch.empty(), 2.0, (np.empty(0, np.int64), None))
    found = sketch.query(question)
    scale_of = sketch.mass if isinstance(question, Frequency) else found.value
    assert max(found.high - found.value, found.value - found.low) <= within * scale_of * 1.0001
    assert found.holds(question.truth(ZIPF, np.ones(len(ZIPF))))
    assert found.confidence >= confidence - 1e-12


def test_what_sketches_of_signs_refuse() -> None:
    sketch = FastAms(16, 3)
    for question in (Moment(1), Moment(3), Distance(sketch, 1.0)):
        with pytest.raises(IncompatibleSynopsis):
            sketch.query(question)
    for other in (FastAms(16, 3, seed=1), FastAms(17, 3), Ams(16)):
        with pytest.raises(IncompatibleSynopsis):
            sketch.query(JoinSize(other))
    for wrong in ((0, 3), (16, 0), (16, 3, 0.0)):
        with pytest.raises(BindError):
            FastAms(*wrong)
    loose = Contract.relative(0.1, confidence=0.9)
    for need in (
        Need(JoinSize(sketch), loose),
        Need(Moment(2), Contract.relative(0.1)),
        Need(Moment(1), loose),
    ):
        with pytest.raises(ContractUnsatisfiable):
            FastAms.sized_for(need)


def test_a_bar_without_an_upper_end_says_so() -> None:
    small, other = FastAms(2, 1), FastAms(2, 1)
    assert small.query(Moment(2)).high == math.inf
    small.update(["a", "b"])
    other.update(["b"])
    assert small.query(Moment(2)).high == math.inf
    assert small.query(Frequency("a")).high == math.inf
    assert small.query(JoinSize(other)).low == -math.inf


# Joins of many streams.


def chain(copies: int, seed: int, *, two_edges: bool = False) -> tuple[list[JoinSketch], float]:
    """R1(a), R2(a, b), R3(b) or R3(b) with a second edge c to R2, and the size of their join."""
    rng = np.random.default_rng(9)
    a1 = rng.integers(0, 6, 40)
    a2, b2, c2 = (rng.integers(0, 6, 60) for _ in range(3))
    b3, c3 = rng.integers(0, 6, 30), rng.integers(0, 6, 30)
    more = ["c"] if two_edges else []
    first = fed(JoinSketch(["a"], copies, seed=seed), a1)
    middle, last = JoinSketch(["a", "b", *more], copies, seed=seed), None
    columns = [a2, b2, c2] if two_edges else [a2, b2]
    middle.update(pa.StructArray.from_arrays([pa.array(x) for x in columns], middle.edges))
    last = JoinSketch(["b", *more], copies, seed=seed)
    columns = [b3, c3] if two_edges else [b3]
    last.update(pa.StructArray.from_arrays([pa.array(x) for x in columns], last.edges))
    size = sum(
        int((a1 == a).sum()) * int(((b3 == b) & ((c3 == c) | (not two_edges))).sum())
        for a, b, c in zip(a2, b2, c2, strict=True)
    )
    return [first, middle, last], float(size)


@pytest.mark.parametrize("two_edges", [False, True])
def test_a_chain_is_estimated_without_bias(two_edges: bool) -> None:
    (first, middle, last), size = chain(30_000, 4, two_edges=two_edges)
    products = first.sums * middle.sums * last.sums
    assert abs(products.mean() - size) < 5 * products.std() / math.sqrt(30_000)
    squares = [float(np.square(stream.sums).mean()) for stream in (first, middle, last)]
    n_edges = 3 if two_edges else 2
    assert np.square(products).mean() < 1.1 * 3**n_edges * math.prod(squares)
    found = first.query(JoinSize((middle, last)))
    assert found.low <= size <= found.high
    assert found.high - found.low < 40 * size
    assert middle.query(JoinSize((last, first))).value == pytest.approx(found.value)


def test_the_variance_of_a_single_join() -> None:
    one, two = np.array([20.0, 5.0, 10.0, 2.0]), np.array([2.0, 15.0, 3.0, 10.0])
    left = fed(JoinSketch(["a"], 30_000, seed=6), np.arange(4), one)
    right = fed(JoinSketch(["a"], 30_000, seed=6), np.arange(4), two)
    products = left.sums * right.sums
    assert products.mean() == pytest.approx(165.0, abs=5 * math.sqrt(188_977 / 30_000))
    assert products.var() == pytest.approx(188_977, rel=0.05)


def test_a_star_with_a_measure_and_deletions() -> None:
    center = JoinSketch(["x", "y", "z"], 9000, seed=1)
    rows = [{"x": i % 3, "y": i % 2, "z": "k"} for i in range(12)]
    center.update(rows, [10.0] * 12)
    center.update(rows[:6], [-10.0] * 6)
    arms = [
        fed(JoinSketch(["x"], 9000, seed=1), [0, 1, 1]),
        fed(JoinSketch(["y"], 9000, seed=1), [0, 1]),
        fed(JoinSketch(["z"], 9000, seed=1), ["k", "k", "other"]),
    ]
    found = center.query(JoinSize(tuple(arms)))
    assert found.low <= 10.0 * (2 * 1 + 2 * 2) * 2 <= found.high
    assert abs(found.value - 120.0) < 60.0
    assert center.query(Moment(2)).holds(6 * 100.0)
    assert center.query(Count()).value == 60.0


def test_rows_with_a_null_attribute_join_nothing() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"b": [1.0, math.nan, 2.0], "a": ["x", "y", None], "c": [0] * 3}
    )
    sketch = fed(JoinSketch(["a", "b"], 50), batch)
    assert (sketch.rows, sketch.skipped) == (1, 2)
    same = fed(JoinSketch(["a", "b"], 50), [{"a": "x", "b": 1.0}])
    assert np.array_equal(sketch.sums, same.sums)


def test_joins_that_are_no_trees_are_refused() -> None:
    one, two, three = (JoinSketch(e, 20) for e in (["a", "b"], ["b", "c"], ["c", "a"]))
    with pytest.raises(IncompatibleSynopsis, match="cycle"):
        one.query(JoinSize((two, three)))
    with pytest.raises(IncompatibleSynopsis, match="two streams"):
        one.query(JoinSize(two))
    for other in (JoinSketch(["a", "b"], 21), JoinSketch(["a", "b"], 20, seed=1), FastAms(4, 4)):
        with pytest.raises(IncompatibleSynopsis, match="one size"):
            one.query(JoinSize(other))
    with pytest.raises(IncompatibleSynopsis, match="squares"):
        one.query(Moment(1))
    with pytest.raises(BindError, match="records"):
        one.update([1, 2])
    with pytest.raises(BindError, match="lack"):
        one.update([{"a": 1, "x": 2}])
    for edges in ([], ["a", "a"]):
        with pytest.raises(BindError):
            JoinSketch(edges, 20)
    with pytest.raises(ContractUnsatisfiable):
        JoinSketch.sized_for(Need(Moment(2), Contract.relative(0.1, confidence=0.9)))


# Exact sums and stable laws.

DEPOSITS = st.lists(
    st.tuples(st.integers(0, 2**63 - 1), st.integers(-40, 200), st.booleans()), max_size=30
)


@given(deposits=DEPOSITS, numerator=st.integers(-50, 50), denominator=st.integers(1, 60))
@settings(max_examples=60)
def test_sums_are_whole_numbers(
    deposits: list[tuple[int, int, bool]], numerator: int, denominator: int
) -> None:
    sums = np.zeros((1, 12), np.int64)
    total = 0
    for size, exponent, negative in deposits:
        deposit(sums[0], np.uint64(size), exponent, negative)
        part = size << exponent if exponent >= 0 else size >> -exponent
        total += -part if negative else part
    carry(sums)
    logs = np.empty(1)
    logarithms(sums, 7, logs)
    expected = math.log(abs(total)) - 7 * math.log(2) if total else -math.inf
    assert logs[0] == pytest.approx(expected, rel=1e-12, abs=1e-9)
    times = round_half_up(total * numerator, denominator)
    logarithms(scale(sums, numerator, denominator), 0, logs)
    assert logs[0] == pytest.approx(math.log(abs(times)) if times else -math.inf, rel=1e-12)


def round_half_up(above: int, below: int) -> int:
    return (2 * above + below) // (2 * below)


@pytest.mark.parametrize(
    ("p", "median"),
    [(0.1, 22.255), (0.25, 2.54), (0.5, 1.283), (1.0, 1.0), (1.5, 0.969), (2.0, 0.9539)],
)
def test_medians_of_the_stable_laws(p: float, median: float) -> None:
    assert math.exp(log_quantile(0.5, p)) == pytest.approx(median, rel=0.002)
    assert distribution(log_quantile(0.9, p), p) == pytest.approx(0.9, abs=1e-7)


def test_small_powers_tend_to_one_over_an_exponential() -> None:
    assert math.exp(0.001 * log_quantile(0.5, 0.001)) == pytest.approx(1 / math.log(2), rel=0.002)
    assert math.exp(0.02 * log_quantile(0.5, 0.02)) == pytest.approx(1.427, rel=0.002)


@pytest.mark.parametrize("p", [0.02, 0.5, 1.0, 1.7, 2.0])
def test_draws_follow_their_law(p: float) -> None:
    sketch = fed(Stable(p, 4001, seed=3), ["only"])
    logs = np.empty(4001)
    logarithms(sketch.sums, sketch.unit, logs)
    for q in (0.1, 0.5, 0.9, 0.99):
        below = int((logs <= log_quantile(q, p)).sum())
        assert stats.binomtest(below, 4001, q).pvalue > 1e-4
    order = p / 10
    mean = np.exp(order * logs)
    assert abs(mean.mean() - math.exp(log_moment(order, p))) < 5 * mean.std() / math.sqrt(4001)
    means = logs[:4000].reshape(-1, 5).mean(axis=1)
    below = int((means <= quantile_of_mean_log(0.2, p, 5)).sum())
    assert stats.binomtest(below, 800, 0.2).pvalue > 1e-4


@pytest.mark.parametrize(
    ("p", "estimator"),
    [(0.5, "median"), (0.5, "geometric"), (1.5, "median"), (2.0, "geometric"), (2.0, "euclidean")],
)
def test_bars_of_norms_hold_as_often_as_they_say(p: float, estimator: str) -> None:
    rng = np.random.default_rng(1)
    column, weights = rng.integers(0, 25, 40), rng.integers(-50, 51, 40) / 4
    truth = Moment(p).truth(column, weights)
    bars = [
        fed(Stable(p, 15, 0.1, estimator, seed=s), column, weights).query(Moment(p))
        for s in range(300)
    ]
    missed = sum(not bar.holds(truth) for bar in bars)
    # The law is exact: too few misses would show a bar that is too wide.
    assert stats.binom.ppf(1e-4, 300, 0.1) <= missed <= cutoff(300, 0.1)
    if estimator != "median":
        mean = np.array([bar.value for bar in bars])
        assert abs(mean.mean() - truth) < 5 * mean.std() / math.sqrt(300)


def test_sums_do_not_depend_on_order_or_batches() -> None:
    rng = np.random.default_rng(2)
    weights = rng.normal(0, 100, 300)
    whole = fed(Stable(0.3, 21, seed=1), ZIPF[:300], weights)
    pieces = Stable(0.3, 21, seed=1)
    for part in np.array_split(rng.permutation(300), 7):
        pieces.update(ZIPF[part], weights[part])
    assert np.array_equal(whole.sums, pieces.sums)
    whole.subtract(pieces)
    assert not whole.sums.any()


def test_distances_averages_and_decay() -> None:
    model = Stable(1.0, 1001, estimator="geometric", seed=5)
    days = [np.random.default_rng(day).integers(0, 200, 500) for day in range(7)]
    sketches = [fed(model.empty(), day) for day in days]
    week = model.empty()
    for sketch in sketches:
        week.merge(sketch)
    rows = np.concatenate(days)
    average = week.scaled(1 / 7)
    question = Distance(average, 1.0, (rows, np.full(len(rows), 1 / 7)))
    found = sketches[0].query(question)
    truth = question.truth(days[0], np.ones(500))
    assert found.holds(truth)
    assert abs(found.value - truth) < 0.15 * truth
    decayed = sketches[0].scaled(0.75)
    decayed.merge(sketches[1].scaled(0.25))
    weights = np.repeat([0.75, 0.25], 500)
    truth = Moment(1.0).truth(np.concatenate(days[:2]), weights)
    assert decayed.query(Moment(1.0)).holds(truth)
    assert decayed.mass == 500.0


def test_sizes_of_stable_sketches() -> None:
    contract = Contract.relative(0.2, confidence=0.9)
    for question in (Moment(0.7), Distance(None, 0.7)):
        sized = Stable.sized_for(Need(question, contract))
        smaller = law(0.7, sized.copies - 2, sized.delta, "geometric")
        root = 1 / 0.7 if isinstance(question, Distance) else 1.0
        assert math.exp(root * (smaller.high - smaller.value)) - 1 > 0.2
    assert Stable.sized_for(Need(Moment(0.7), contract)).guarantee.epsilon <= 0.2
    for need in (
        Need(Moment(2.0), contract),
        Need(Moment(3.0), contract),
        Need(Moment(1.0), Contract.exact()),
        Need(Moment(1.0), Contract.relative(1e-5, confidence=0.9)),
    ):
        with pytest.raises(ContractUnsatisfiable):
            Stable.sized_for(need)


def test_what_stable_sketches_refuse() -> None:
    for wrong in ((2.5, 9), (0.0, 9), (1.0, 2), (1.0, 9, 1.0), (1.0, 9, 0.1, "mean")):
        with pytest.raises(BindError):
            Stable(*wrong)
    with pytest.raises(BindError, match="p = 2"):
        Stable(1.0, 9, 0.1, "euclidean")
    sketch = Stable(1.0, 9)
    with pytest.raises(IncompatibleSynopsis):
        sketch.query(Moment(2.0))
    with pytest.raises(BindError, match="2\\^53"):
        sketch.update([1], [1e17])
    assert sketch.rows == 0


def test_items_present_after_most_were_taken_back() -> None:
    keys = np.arange(3000)
    sketch = fed(L0(200, 3, 0.02, seed=2), keys, np.full(3000, 3.0))
    sketch.update(keys[:2700], np.full(2700, -3.0))
    found = sketch.query(Distinct())
    assert found.low <= 300 <= found.high
    assert abs(found.value - 300) < 75
    alone = L0(200, 3, 0.02, seed=2)
    for key in keys[2700:]:
        alone.update([key], [3.0])
    assert np.array_equal(alone.sums, sketch.sums), "what was taken back left a trace"


def test_tables_that_differ_in_some_keys() -> None:
    keys = np.arange(1000)
    one = fed(L0(301, 10, seed=4), keys, np.full(1000, 5.0))
    two = fed(L0(301, 10, seed=4), keys, np.where(keys < 120, 7.0, 5.0))
    question = Distance(two, 0.0, (keys, np.where(keys < 120, 7.0, 5.0)))
    found = one.query(question)
    assert question.truth(keys, np.full(1000, 5.0)) == 120
    assert found.holds(120)
    assert one.query(Distance(one, 0.0)).high == 0.0
    assert one.query(Moment(0)).value == one.query(Distinct()).value


def test_sizes_and_refusals_of_l0() -> None:
    loose = Contract.relative(0.4, confidence=0.9)
    sized = L0.sized_for(Need(Distinct(), loose, rows=1000))
    assert sized.guarantee.epsilon <= 0.4
    assert sized.largest == 1000
    for need in (
        Need(Distinct(), loose),
        Need(Moment(1), loose, rows=9),
        Need(Distinct(), Contract.relative(0.001, confidence=0.9), rows=10**9),
    ):
        with pytest.raises(ContractUnsatisfiable):
            L0.sized_for(need)
    for wrong in ((9, 0), (9, 5, 1.5)):
        with pytest.raises(BindError):
            L0(*wrong)
    with pytest.raises(BindError, match="whole"):
        sized.update([1], [0.5])
    with pytest.raises(IncompatibleSynopsis):
        sized.query(Moment(1))
    assert sized.rows == 0


# Dominance norm.


def test_repeats_and_smaller_values_do_not_count() -> None:
    rng = np.random.default_rng(4)
    column, values = rng.integers(0, 50, 400), rng.exponential(10, 400)
    sketch = fed(Dominance(2000, seed=1), column, values)
    before = sketch.to_bytes()
    waits = sketch.waits.copy()
    sketch.update(column, values * 0.99)
    assert np.array_equal(sketch.waits, waits)
    assert (
        Dominance.from_bytes(before)
        .query(DominanceNorm())
        .holds(DominanceNorm().truth(column, values))
    )
    top = [values[column == item].max() for item in np.unique(column)]
    assert DominanceNorm().truth(column, values) == pytest.approx(sum(top))


def test_sizes_of_dominance() -> None:
    sized = Dominance.sized_for(Need(DominanceNorm(), Contract.relative(0.1, confidence=0.95)))
    assert sized.guarantee.epsilon <= 0.1
    assert Dominance(sized.copies - 1).guarantee.epsilon > 0.1
    with pytest.raises(ContractUnsatisfiable):
        Dominance.sized_for(Need(DominanceNorm(), Contract.exact()))
    with pytest.raises(BindError):
        Dominance(1)


# Dyadic sketches.


def test_ranges_are_cut_into_blocks() -> None:
    sketch = DyadicAms(-8, 6, 64, 3, seed=1)
    assert sketch.n_sketched == 0
    column = np.arange(-8, 56)
    sketch.update(column, np.arange(64.0))
    for low, high in ((-8, 55), (-3, 17.5), (20, 20), (9, 3), (-100, 100)):
        question = RangeCount(low, high)
        assert sketch.query(question).value == question.truth(column, np.arange(64.0))
    assert sketch.query(Rank(0)).value == 36.0
    assert sketch.query(Frequency(4)).value == 12.0
    assert sketch.query(Frequency(4.5)).value == 0.0
    assert sketch.query(Quantile(0.5)).value == Quantile(0.5).truth(column, np.arange(64.0))


def test_the_error_of_a_range_does_not_grow_with_its_length() -> None:
    rng = np.random.default_rng(0)
    column = rng.integers(0, 1 << 20, 20_000)
    sketch = fed(DyadicAms(0, 20, 512, 5, seed=9), column)
    ends = {length: rng.integers(0, (1 << 20) - length, 40) for length in (1 << 4, 1 << 18)}
    errors = {
        length: np.mean(
            [
                abs(
                    sketch.query(RangeCount(start, start + length)).value
                    - RangeCount(start, start + length).truth(column, np.ones(20_000))
                )
                for start in starts
            ]
        )
        for length, starts in ends.items()
    }
    assert errors[1 << 18] < 8 * max(errors[1 << 4], 5.0)


def test_quantiles_after_deletions() -> None:
    rng = np.random.default_rng(5)
    column = rng.integers(0, 5000, 4000)
    sketch = fed(DyadicAms(0, 13, 1024, 9, seed=2), column)
    gone = column[column < 2500]
    sketch.update(gone, -np.ones(len(gone)))
    kept = column[column >= 2500]
    for phi in (0.1, 0.5, 0.9):
        found = sketch.query(Quantile(phi))
        assert found.holds(Quantile(phi).truth(kept, np.ones(len(kept))))
        assert found.high - found.low < 1500
    sketch.update(kept, -np.ones(len(kept)))
    assert math.isnan(sketch.query(Quantile(0.5)).value)


def test_numbers_outside_the_universe_are_refused_whole() -> None:
    sketch = DyadicAms(0, 4, 8, 3)
    for wrong in ([3, 16], [-1], [2.5]):
        with pytest.raises(BindError):
            sketch.update(wrong)
    assert (sketch.rows, sketch.mass) == (0, 0.0)
    with pytest.raises(BindError):
        DyadicAms(0, 60, 8, 3)


@pytest.mark.parametrize(
    ("question", "tolerance"),
    [(Rank(700), "rank"), (Frequency(700), "rank"), (Quantile(0.5), "rank")],
)
def test_sizes_of_dyadic_sketches(question: Any, tolerance: str) -> None:
    contract = Contract(tolerance, 0.2, 0.9)
    column = ZIPF % 1024
    sketch = fed(DyadicAms.sized_for(Need(question, contract, universe=(0, 1023))), column)
    found = sketch.query(question)
    if isinstance(question, Quantile):
        ends = [float((column <= end).mean()) for end in (found.low - 1, found.high)]
        assert ends[0] - 0.5 >= -0.4
        assert found.holds(question.truth(column, np.ones(len(column))))
    else:
        assert found.high - found.low <= 0.4 * len(column)
    with pytest.raises(ContractUnsatisfiable):
        DyadicAms.sized_for(Need(question, contract))


# Changes.


@pytest.mark.parametrize("name", sorted(FORECASTS))
def test_a_forecast_of_sketches_is_the_sketch_of_forecasts(name: str) -> None:
    parameters = {"period": 3} if name == "seasonal" else {}
    sketches, items = FORECASTS[name](**parameters), FORECASTS[name](**parameters)
    rng = np.random.default_rng(7)
    model = FastAms(64, 3, seed=1)
    single = FastAms(1, 1, seed=1)
    for _ in range(8):
        weights = rng.integers(0, 100, 5).astype(np.float64)
        sketches.learn(fed(model.empty(), np.arange(5), weights))
        one = single.empty()
        one.counters[0, 0] = weights[2]
        items.learn(one)
    told, exact = sketches.predict(), items.predict()
    assert told is not None
    assert exact is not None
    assert told.query(Frequency(2)).value == pytest.approx(exact.counters[0, 0])


def test_a_spike_is_found_and_silence_is_not() -> None:
    rng = np.random.default_rng(1)
    detector = ChangeDetector(FastAms(2048, 5, seed=3), "ewma", warm_up=3)
    usual = rng.zipf(1.2, 500).clip(1, 2000).astype(np.float64)
    told = []
    for interval in range(8):
        counts = rng.poisson(usual).astype(np.float64)
        if interval == 6:
            counts[77] += 0.1 * usual.sum()
        detector.update(np.arange(500), counts)
        told.append(detector.close())
    assert told[:3] == [None, None, None]
    found = told[6].among(np.arange(500), 0.6)
    assert [heavy.item for heavy in found] == [77]
    assert found[0].weight.low > 0.0
    assert told[6].size.value > 2 * told[5].size.value
    assert told[6].among([], 0.1) == ()


def test_a_detector_goes_on_from_its_bytes() -> None:
    detector = ChangeDetector(FastAms(64, 3, seed=3), "holt", {"beta": 0.2}, warm_up=1)
    for day in range(4):
        detector.update(["a", "b"], [10.0 + day, 5.0])
        detector.close()
    detector.update(["a"])
    data = detector.to_bytes()
    again = ChangeDetector.from_bytes(data)
    assert again.to_bytes() == data
    for each in (detector, again):
        other = ChangeDetector(FastAms(64, 3, seed=3))
        other.update(["c"])
        each.merge(other)
    one, two = detector.close(), again.close()
    assert one is not None
    assert two is not None
    assert (one.interval, one.size) == (two.interval, two.size)
    with pytest.raises(StateTooOld):
        ChangeDetector.from_bytes(data[:-1])


def test_unknown_and_impossible_forecasts_are_refused() -> None:
    with pytest.raises(BindError, match="unknown"):
        ChangeDetector(FastAms(4, 3), "arima")
    for name, wrong in (
        ("ewma", {"alpha": 0.0}),
        ("holt", {"beta": 2.0}),
        ("moving_average", {"length": 0}),
        ("seasonal", {"period": 0}),
    ):
        with pytest.raises(BindError):
            ChangeDetector(FastAms(4, 3), name, wrong)
