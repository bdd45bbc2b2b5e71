"""Quantile sketches: worked examples, formulas, bytes of others, and what must be refused."""

from __future__ import annotations

import math
from typing import Any

import datasketches
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.checks.trials import cutoff
from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import (
    BindError,
    ContractUnsatisfiable,
    IncompatibleSynopsis,
    StateTooOld,
)
from streamgauge.synopses.frequencies.count_min import CountMin
from streamgauge.synopses.quantiles.equi_depth import equi_depth
from streamgauge.synopses.quantiles.kll import Kll, KllBank
from streamgauge.synopses.quantiles.kll_levels import NOISE, capacities, sort
from streamgauge.synopses.quantiles.log_bins import alpha_of, bins_for, ends, index_of
from streamgauge.synopses.quantiles.log_histogram import LogHistogram, LogHistogramBank
from streamgauge.synopses.quantiles.q_digest import QDigest
from streamgauge.synopses.quantiles.req import Req
from streamgauge.synopses.quantiles.tdigest import Tdigest
from streamgauge.synopses.questions import Count, Max, Min, Quantile, RangeCount, Rank
from streamgauge.synopses.synopsis import Need

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(17)
LOGNORMAL = RNG.lognormal(0.0, 1.0, 30_000)
FLOATS = st.floats(allow_nan=False, allow_subnormal=False)


def fed(synopsis: Any, column: Any, weights: Any = None) -> Any:
    synopsis.update(column, weights)
    synopsis.validate()
    return synopsis


def noise(sketch: Kll) -> float:
    return float(sketch.state.reals[0, NOISE])


def assert_holds(synopsis: Any, question: Any, column: Any, weights: Any = None) -> None:
    rows = np.asarray(column, np.float64)
    given_weights = np.ones(len(rows)) if weights is None else np.asarray(weights, np.float64)
    result = synopsis.query(question)
    assert not question.broken_by(result, rows, given_weights), f"{question}: {result}"


# KLL


@pytest.mark.parametrize("n", [0, 1, 2, 199, 200, 201, 5000, 30_000])
def test_kll_bytes_are_those_of_datasketches(n: int) -> None:
    ours = fed(Kll(200, seed=3), LOGNORMAL[:n])
    data = ours.to_datasketches()
    theirs = datasketches.kll_doubles_sketch.deserialize(data)
    assert theirs.n == n
    assert theirs.serialize() == data
    assert Kll.from_datasketches(data, seed=3).to_datasketches() == data
    if n:
        assert theirs.get_min_value() == LOGNORMAL[:n].min()
        assert theirs.get_max_value() == LOGNORMAL[:n].max()
        for phi in (0.1, 0.5, 0.99):
            assert theirs.get_quantile(phi, True) == ours.query(Quantile(phi)).value
        assert theirs.get_rank(1.0, True) * n == pytest.approx(ours.query(Rank(1.0)).value)
        theirs.update(LOGNORMAL)
        theirs.merge(datasketches.kll_doubles_sketch.deserialize(data))
        assert theirs.n == 2 * n + len(LOGNORMAL)


@pytest.mark.parametrize("kind", ["doubles", "floats"])
@pytest.mark.parametrize("n", [0, 1, 150, 30_000])
def test_kll_reads_datasketches(kind: str, n: int) -> None:
    column = LOGNORMAL[:n].astype(np.float32).astype(np.float64)
    theirs = getattr(datasketches, f"kll_{kind}_sketch")(200)
    theirs.update(column.astype(np.float32 if kind == "floats" else np.float64))
    ours = Kll.from_datasketches(theirs.serialize())
    ours.validate()
    assert ours.rows == n
    if n:
        assert ours.query(Max()).value == column.max()
        assert ours.query(Quantile(0.5)).value == theirs.get_quantile(0.5, True)
        assert_holds(ours, Quantile(0.5), column)
    ours.merge(fed(Kll(200), LOGNORMAL))
    ours.validate()
    assert_holds(ours, Quantile(0.9), np.concatenate([column, LOGNORMAL]))


def test_kll_reads_datasketches_of_merged_sizes() -> None:
    small, large = datasketches.kll_doubles_sketch(50), datasketches.kll_doubles_sketch(200)
    small.update(LOGNORMAL)
    large.merge(small)
    ours = Kll.from_datasketches(large.serialize())
    ours.validate()
    assert ours.guarantee.epsilon > Kll(200).guarantee.epsilon


def test_kll_refuses_foreign_bytes_that_make_no_sense() -> None:
    data = fed(Kll(200), LOGNORMAL).to_datasketches()
    for size in (0, 5, 12, 30, len(data) - 8, len(data) - 1):
        with pytest.raises(StateTooOld, match="DataSketches"):
            Kll.from_datasketches(data[:size])
    for place in (1, 2, 6, 8, 18, 24):
        changed = bytearray(data)
        changed[place] ^= 0x55
        with pytest.raises(StateTooOld, match="DataSketches"):
            Kll.from_datasketches(bytes(changed))
    with pytest.raises(StateTooOld):
        Kll.from_datasketches(datasketches.req_floats_sketch(12).serialize())


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=8))
def test_kll_does_not_see_batches(sizes: list[int]) -> None:
    column = LOGNORMAL[: sum(sizes)]
    pieces = Kll(8, seed=5)
    for part in np.split(column, np.cumsum(sizes)[:-1]):
        pieces.update(part)
    assert pieces.to_bytes() == fed(Kll(8, seed=5), column).to_bytes()


def test_kll_coins_follow_the_seed() -> None:
    assert len({fed(Kll(16, seed=seed), LOGNORMAL).to_bytes()[-400:] for seed in range(5)}) == 5


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 3000), st.integers(0, 3000))
def test_kll_merging_commutes(n: int, m: int) -> None:
    one, two = fed(Kll(16), LOGNORMAL[:n]), fed(Kll(16), LOGNORMAL[n : n + m])
    other, another = one.copy(), two.copy()
    one.merge(two)
    another.merge(other)
    assert one.to_bytes() == another.to_bytes()
    one.validate()
    assert one.query(Max()).value == pytest.approx(
        LOGNORMAL[: n + m].max() if n + m else math.nan, nan_ok=True
    )


def test_kll_bars_hold_after_merging() -> None:
    trials, delta = 80, 0.05
    broken = dict.fromkeys(("rank", "quantile", "range"), 0)
    for seed in range(trials):
        column = np.random.default_rng(seed).permutation(3000).astype(np.float64)
        whole = Kll(16, delta, seed=seed)
        for part in np.array_split(column, 13):
            whole.merge(fed(Kll(16, delta, seed=seed), part))
        ones = np.ones(3000)
        for name, question in {
            "rank": Rank(1234.0),
            "quantile": Quantile(0.3),
            "range": RangeCount(700.0, 1900.0),
        }.items():
            broken[name] += question.broken_by(whole.query(question), column, ones)
    assert max(broken.values()) <= cutoff(trials, delta)


def test_kll_parts_of_the_same_rows_share_coins_and_say_so() -> None:
    """Their errors may point the same way: the deviations add, not the squares."""
    one = fed(Kll(200), LOGNORMAL[:400])
    alone = noise(one)
    assert alone > 0.0
    one.merge(one.copy())
    apart = fed(Kll(200), LOGNORMAL[:400])
    apart.merge(fed(Kll(200), LOGNORMAL[400:800]))
    # The same compactions follow, so the difference is what the parts brought: 4 against 2.
    assert noise(one) - noise(apart) == pytest.approx(2.0 * alone)


@pytest.mark.parametrize("k", [8, 24, 200])
def test_kll_noise_stays_below_what_sizes_rest_on(k: int) -> None:
    """Compactions depend on the number of rows alone: (n / k)^2 bounds their squared weights."""
    sketch = fed(Kll(k), np.arange(k + 1.0))
    assert noise(sketch) == 1.0, "the first compaction is where the ratio is largest"
    column = np.arange(61.0)
    for _ in range(800):
        sketch.update(column)
        assert noise(sketch) <= (sketch.rows / k) ** 2
    for sizes in ([20] * 100, [151] * 40, [2**i for i in range(14)], [4000, 7] * 20):
        merged = Kll(k)
        for number, size in enumerate(sizes):
            merged.merge(fed(Kll(k), LOGNORMAL[number : number + size]))
            assert noise(merged) <= (merged.rows / k) ** 2


def test_kll_keeps_extremes_and_small_streams_exactly() -> None:
    sketch = fed(Kll(8), LOGNORMAL)
    assert sketch.query(Min()).value == sketch.query(Quantile(0.0)).value == LOGNORMAL.min()
    assert sketch.query(Max()).high == sketch.query(Quantile(1.0)).value == LOGNORMAL.max()
    small = fed(Kll(200), LOGNORMAL[:200])
    for phi in (0.0, 0.013, 0.5, 1.0):
        bar = small.query(Quantile(phi))
        truth = Quantile(phi).truth(LOGNORMAL[:200], np.ones(200))
        assert (bar.low, bar.value, bar.high, bar.confidence) == (truth, truth, truth, 1.0)


def test_kll_takes_infinities() -> None:
    sketch = fed(Kll(8), np.concatenate([LOGNORMAL[:500], [np.inf, -np.inf]]))
    assert sketch.query(Max()).value == np.inf
    assert sketch.query(Min()).value == -np.inf


def test_kll_bar_is_near_what_datasketches_documents() -> None:
    told = datasketches.kll_doubles_sketch.get_normalized_rank_error(200, False)
    sketch = Kll(200, 0.01)
    for part in np.array_split(LOGNORMAL, 30):
        sketch.update(part)
        assert 0.5 * told < sketch.guarantee.epsilon < 1.25 * told


def test_kll_sizes() -> None:
    need = Need(Quantile(0.5), Contract.rank(0.01, confidence=0.99))
    sized = Kll.sized_for(need)
    assert sized.k == math.ceil(math.sqrt(2 * math.log(200)) / 0.01) == 326
    assert sized.guarantee.epsilon <= 0.01
    assert fed(sized, LOGNORMAL).guarantee.epsilon <= 0.01
    for contract in (Contract.rank(0.01), Contract.relative(0.1, confidence=0.9)):
        with pytest.raises(ContractUnsatisfiable):
            Kll.sized_for(Need(Quantile(0.5), contract))
    with pytest.raises(ContractUnsatisfiable, match="too large"):
        Kll.sized_for(Need(Quantile(0.5), Contract.rank(0.01, confidence=0.99), memory=4000))
    with pytest.raises(BindError):
        Kll(7)


def test_kll_capacities_shrink_by_a_third() -> None:
    caps, totals = capacities(200)
    assert caps[:10].tolist() == [200, 133, 89, 59, 40, 26, 18, 12, 8, 8]
    assert totals[-1] == caps.sum()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(allow_nan=False), max_size=90))
def test_sorting_without_branches(column: list[float]) -> None:
    items = np.array([1.0, *column, 2.0])
    sort(items, 1, len(column), np.empty(90))
    assert items[1:-1].tolist() == sorted(column)
    assert (items[0], items[-1]) == (1.0, 2.0)


def test_kll_bank_is_one_sketch_for_each_group() -> None:
    groups = np.random.default_rng(2).integers(-1, 40, len(LOGNORMAL)).astype(np.int32)
    bank = KllBank(Kll(16, seed=9), 10)
    bank.resize(40)
    for start in range(0, len(groups), 7001):
        bank.update(groups[start : start + 7001], LOGNORMAL[start : start + 7001])
    alone = [fed(Kll(16, seed=9), LOGNORMAL[groups == group]) for group in range(40)]
    assert bank.to_bytes() == [sketch.to_bytes() for sketch in alone]
    for question in (Quantile(0.9), Rank(1.0), RangeCount(0.5, 2.0), Count(), Min(), Max()):
        bars = bank.bars(question)
        told = [sketch.query(question) for sketch in alone]
        assert bars.value.tolist() == [bar.value for bar in told]
        assert bars.low.tolist() == [bar.low for bar in told]
        assert bars.high.tolist() == [bar.high for bar in told]
        assert bars.confidence == min(bar.confidence for bar in told)


def test_kll_bank_merges_and_goes_on() -> None:
    groups = np.repeat(np.arange(4, dtype=np.int32), 5000)
    one, two = KllBank(Kll(16), 4), KllBank(Kll(16), 6)
    one.update(groups, LOGNORMAL[:20_000])
    two.update(groups + 2, LOGNORMAL[10_000:])
    alone = one.synopsis(3)
    alone.merge(two.synopsis(3))
    one.merge(two)
    assert one.n_groups == 6
    assert one.synopsis(3).to_bytes() == alone.to_bytes()
    one.update(np.full(900, 5, np.int32), LOGNORMAL[:900])
    one.synopsis(5).validate()
    assert one.bars(Count()).value.tolist() == [5000, 5000, 10_000, 10_000, 5000, 5900]
    one.clear()
    assert np.isnan(one.bars(Quantile(0.5)).value).all()


def test_kll_bank_moves_groups_with_their_items() -> None:
    """Parts that met their groups in another order bring them to the same places."""
    groups = np.repeat(np.arange(4, dtype=np.int32), [900, 5, 0, 3000])
    bank = KllBank(Kll(16), 4)
    bank.update(groups, LOGNORMAL[: len(groups)])
    before = bank.to_bytes()
    moved = bank.placed(np.array([3, 0, 4, 1]), 6).to_bytes()
    assert moved == [before[1], before[3], b"", before[0], before[2], b""]


def test_kll_bank_gives_small_groups_little_memory() -> None:
    bank = KllBank(Kll(200), 10_000)
    bank.update(np.arange(10_000, dtype=np.int32), np.zeros(10_000))
    assert bank.state.items.nbytes < 10_000 * 8 * 20


# Log histogram


@given(st.sampled_from([0.5, 0.05, 0.01, 0.001]), st.integers(0, 3), FLOATS.filter(bool))
def test_every_number_lies_in_its_bin(alpha: float, folds: int, number: float) -> None:
    bins = bins_for(alpha, folds)
    magnitude = abs(number)
    index = index_of(bins, int(np.float64(magnitude).view(np.int64)))
    lows, highs = ends(bins, np.array([index - 1, index, index + 1], np.int64))
    assert lows[1] <= magnitude <= highs[1]
    if folds == 0 and highs[1] < 1e308:
        assert highs[1] / lows[1] <= (1 + alpha) / (1 - alpha)
        assert np.nextafter(highs[1], np.inf) == lows[2], "bins leave no gap"


def test_folding_doubles_the_error() -> None:
    for alpha in (0.2, 0.05, 0.01):
        once = alpha_of(bins_for(alpha, 0))
        assert once <= alpha
        assert alpha_of(bins_for(alpha, 1)) == pytest.approx(2 * once / (1 + once**2))


@settings(max_examples=60)
@given(
    st.lists(st.one_of(FLOATS, st.integers(-50, 50).map(float)), min_size=1, max_size=40),
    st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    st.integers(0, 2),
)
def test_log_histogram_bars_hold(column: list[float], phi: float, folds: int) -> None:
    sketch = fed(LogHistogram(0.05), column)
    for _ in range(folds):
        sketch = sketch.coarsened()
    sketch.validate()
    finite = [x for x in column if math.isfinite(x)]
    for question in (
        Quantile(phi),
        Min(),
        Max(),
        Rank(column[0]),
        RangeCount(min(column), column[0]),
        *(RangeCount(x, x + 1.0) for x in finite[:1]),
    ):
        assert_holds(sketch, question, column)
    value, truth = (
        sketch.query(Quantile(phi)).value,
        Quantile(phi).truth(np.array(column), np.ones(len(column))),
    )
    if abs(truth) < 1e307:
        assert abs(value - truth) <= sketch.guarantee.epsilon * abs(truth) * (1 + 1e-12)


def test_log_histogram_takes_rows_back() -> None:
    sketch = fed(LogHistogram(0.01), LOGNORMAL)
    assert sketch.query(Max()).low > 20.0
    large = LOGNORMAL[LOGNORMAL > 5.0]
    sketch = fed(sketch, large, -np.ones(len(large)))
    kept = LOGNORMAL[LOGNORMAL <= 5.0]
    for question in (Max(), Quantile(0.99), Rank(1.0), Count()):
        assert_holds(sketch, question, kept)
    assert sketch.to_bytes() != fed(LogHistogram(0.01), kept).to_bytes(), "rows were counted"
    assert sketch._save()[1]["counts"].tolist() == (
        fed(LogHistogram(0.01), kept)._save()[1]["counts"].tolist()
    )


def test_log_histogram_notices_what_was_never_there() -> None:
    sketch = LogHistogram()
    sketch.update([1.0, 2.0, 3.0])
    sketch.update([9.0], weights=[-1.0])
    bar = sketch.query(Quantile(0.5))
    assert math.isnan(bar.value)
    assert (bar.low, bar.high) == (-math.inf, math.inf)


def test_log_histogram_weights_with_fractions() -> None:
    weights = RNG.random(2000)
    column = LOGNORMAL[:2000]
    sketch = fed(LogHistogram(0.02), column, weights)
    for phi in (0.01, 0.5, 0.9):
        assert_holds(sketch, Quantile(phi), column, weights)
    sketch.update(column[:1999], -weights[:1999])
    assert sketch.query(Max()).low <= column[1999] <= sketch.query(Max()).high


def test_log_histogram_knows_zero_exactly_and_extremes_of_floats() -> None:
    sketch = fed(LogHistogram(), [0.0, -0.0, 5e-324, 1e-300, -1e300, np.inf, -np.inf])
    assert sketch.query(RangeCount(0.0, 0.0)).value == 3.0
    assert sketch.query(Max()).value == np.inf
    assert sketch.query(Min()).value == -np.inf
    assert_holds(sketch, Quantile(2 / 7), [0.0] * 3 + [1e-300, -1e300, np.inf, -np.inf])


def test_log_histogram_bank_is_one_histogram_for_each_group() -> None:
    groups = np.random.default_rng(4).integers(-1, 30, 20_000).astype(np.int32)
    column = LOGNORMAL[:20_000] * RNG.choice([-1.0, 0.0, 1.0], 20_000)
    bank = LogHistogramBank(LogHistogram(0.02), 3)
    bank.resize(30)
    for start in range(0, len(groups), 3001):
        bank.update(groups[start : start + 3001], column[start : start + 3001])
    alone = [fed(LogHistogram(0.02), column[groups == group]) for group in range(30)]
    assert bank.to_bytes() == [sketch.to_bytes() for sketch in alone]
    for question in (Quantile(0.9), Rank(-1.0), RangeCount(-0.5, 2.0), Count(), Min(), Max()):
        bars = bank.bars(question)
        assert bars.value.tolist() == [sketch.query(question).value for sketch in alone]
        assert bars.low.tolist() == [sketch.query(question).low for sketch in alone]
        assert bars.high.tolist() == [sketch.query(question).high for sketch in alone]


def test_log_histogram_bank_merges_and_subtracts() -> None:
    groups = np.repeat(np.arange(4, dtype=np.int32), 1000)
    one, two = (LogHistogramBank(LogHistogram(), 4) for _ in range(2))
    one.update(groups, LOGNORMAL[:4000])
    before = one.to_bytes()
    two.update(groups, -1e6 * LOGNORMAL[4000:8000])
    one.merge(two)
    assert one.bars(Quantile(0.2)).high.max() < 0.0
    one.subtract(two)
    assert one.to_bytes() == before
    with pytest.raises(IncompatibleSynopsis):
        one.merge(LogHistogramBank(LogHistogram(0.02), 4))
    one.clear()
    assert one.to_bytes() == [b""] * 4


def test_log_histogram_sizes() -> None:
    sized = LogHistogram.sized_for(Need(Quantile(0.5), Contract.relative(0.03)))
    assert sized.guarantee.epsilon <= 0.03
    need = Need(Quantile(0.5), Contract.absolute(5.0), universe=(0, 1000))
    assert LogHistogram.sized_for(need).guarantee.epsilon <= 0.005
    with pytest.raises(ContractUnsatisfiable, match="too large"):
        LogHistogram.sized_for(
            Need(Max(), Contract.relative(0.01), memory=1000, universe=(0, 1000))
        )
    for need in (
        Need(Quantile(0.5), Contract.rank(0.01)),
        Need(Rank(1.0), Contract.relative(0.01)),
    ):
        with pytest.raises(ContractUnsatisfiable):
            LogHistogram.sized_for(need)
    with pytest.raises(BindError):
        LogHistogram(0.9)


# q-digest


def test_q_digest_of_the_book() -> None:
    """Numbers 1 to 16 and 32 rows at 0.25: a family is joined up to 2 rows, at 48 up to 3."""
    digest = QDigest(bits=4, epsilon=0.25, low=1.0)
    digest.nodes = np.array([1, 2, 4, 18, 19, 31], np.int64)
    digest.counts = np.array([1.0, 2.0, 1.0, 6.0, 4.0, 18.0])
    digest.rows, digest.mass = 32, 32.0
    digest.validate()
    below = digest.query(Rank(4.0))
    assert (1 + below.low, 1 + below.high) == (12.0, 15.0)
    assert digest.epsilon * digest.mass / digest.bits == 2.0
    digest.compress()
    assert digest.nodes.tolist() == [1, 2, 4, 18, 19, 31], "no family is small enough"
    digest.compress(48.0)
    assert digest.nodes.tolist() == [1, 2, 18, 19, 31], "a family of 3 goes up, one of 4 stays"
    assert digest.counts.tolist() == [1.0, 3.0, 6.0, 4.0, 18.0]


def test_q_digest_joins_small_families_only() -> None:
    digest = QDigest(bits=2, epsilon=0.5)
    digest.nodes, digest.counts = np.array([4, 5, 6, 7], np.int64), np.array([1.0, 1.0, 5.0, 1.0])
    digest.rows, digest.mass = 8, 8.0
    digest.compress()
    assert dict(zip(digest.nodes.tolist(), digest.counts.tolist(), strict=True)) == {
        1: 2.0,
        6: 5.0,
        7: 1.0,
    }


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 255), min_size=1, max_size=300),
    st.sampled_from([0.02, 0.2, 0.6]),
    st.integers(1, 50),
)
def test_q_digest_keeps_its_promise(column: list[int], epsilon: float, size: int) -> None:
    digest = QDigest(8, epsilon)
    for start in range(0, len(column), size):
        digest.merge(fed(QDigest(8, epsilon), column[start : start + size]))
        digest.validate()
    digest.compress()
    rows = np.sort(np.array(column, np.float64))
    for phi in (0.0, 0.3, 0.5, 1.0):
        assert_holds(digest, Quantile(phi), rows)
        value = digest.query(Quantile(phi)).value
        least = np.searchsorted(rows, value, "left") - epsilon * len(rows)
        most = np.searchsorted(rows, value, "right") + epsilon * len(rows)
        assert least <= max(1, math.ceil(phi * len(rows))) <= most
    for question in (Rank(100.0), RangeCount(17.0, 200.0), RangeCount(5.0, 4.0), Rank(-3.0)):
        assert_holds(digest, question, rows)
        bar = digest.query(question)
        assert bar.high - bar.low <= 2 * epsilon * len(rows)


def test_q_digest_size_does_not_grow_with_rows() -> None:
    digest = QDigest(16, 0.05)
    for seed in range(30):
        digest = fed(digest, np.random.default_rng(seed).integers(0, 2**16, 5000))
        assert len(digest.nodes) <= 3 * 16 / 0.05
    assert digest.rows == 150_000


def test_q_digest_of_numbers_between_cells() -> None:
    digest = fed(QDigest(12, 0.05, low=-1.0, step=0.01), np.sin(np.arange(3000)))
    for question in (Quantile(0.1), Quantile(0.5), Rank(0.305), RangeCount(-0.2, 0.205)):
        assert_holds(digest, question, np.sin(np.arange(3000)))


def test_q_digest_refuses_what_is_outside_and_keeps_its_state() -> None:
    digest = fed(QDigest(4, 0.1), [1, 2, 3])
    before = digest.to_bytes()
    for wrong in (-1.0, 16.0, np.inf):
        with pytest.raises(BindError, match="outside"):
            digest.update([2.0, wrong])
    assert digest.to_bytes() == before


def test_q_digest_sizes() -> None:
    need = Need(Quantile(0.5), Contract.rank(0.01), universe=(-100, 923))
    sized = QDigest.sized_for(need)
    assert (sized.bits, sized.low, sized.epsilon) == (10, -100.0, 0.01)
    fed(sized, [-100, 923])
    with pytest.raises(ContractUnsatisfiable, match="known range"):
        QDigest.sized_for(Need(Quantile(0.5), Contract.rank(0.01)))
    with pytest.raises(ContractUnsatisfiable, match="too large"):
        QDigest.sized_for(Need(Quantile(0.5), Contract.rank(0.01), universe=(0, 9), memory=99))
    with pytest.raises(BindError):
        QDigest(0)


# REQ, t-digest, equi-depth


@pytest.mark.parametrize("parts", [1, 20])
@pytest.mark.parametrize("upper", [True, False])
def test_req_bars_hold(upper: bool, parts: int) -> None:
    trials = 60
    questions = (Quantile(0.1), Quantile(0.999), Rank(300.0), Rank(2990.0))
    broken = [0] * len(questions)
    for seed in range(trials):
        column = np.random.default_rng(seed).permutation(3000).astype(np.float64)
        whole = Req(12, upper)
        for part in np.array_split(column, parts):
            whole.merge(fed(Req(12, upper), part))
        for place, question in enumerate(questions):
            answer = whole.query(question)
            broken[place] += question.broken_by(answer, column, np.ones(3000))
    assert max(broken) <= cutoff(trials, Req(12).guarantee.delta)


def test_req_is_sharp_at_its_end() -> None:
    column = np.arange(100_000.0)
    high = fed(Req(12, True), column).query(Quantile(0.9999))
    low = fed(Req(12, False), column).query(Quantile(0.9999))
    assert high.high - high.low <= 10 < low.high - low.low


def test_req_widens_bars_by_the_rounding_of_its_floats() -> None:
    column = 2.0**24 + np.arange(9.0)
    sketch = fed(Req(12), column)
    for place, value in enumerate(column):
        assert_holds(sketch, Rank(value), column)
        assert_holds(sketch, Quantile((place + 1) / 9), column)
    assert fed(Req(12), [1.0, 2.0]).query(Rank(1.0)).high == 1.0
    assert fed(Req(12), [1.0, 2.0, 3.0]).query(Rank(2.0 - 1e-12)).high == 1.0


def test_req_sizes() -> None:
    need = Need(Quantile(0.5), Contract.rank(0.01, confidence=0.95))
    sized = Req.sized_for(need)
    assert sized.k == 26  # three deviations of 0.084 / k
    assert fed(sized, np.arange(50_000.0)).guarantee.epsilon <= 0.01
    for contract in (Contract.rank(0.01), Contract.rank(1e-5, confidence=0.9)):
        with pytest.raises(ContractUnsatisfiable):
            Req.sized_for(Need(Quantile(0.5), contract))
    for wrong in (10, 13):
        with pytest.raises(BindError):
            Req(wrong)


def test_tdigest_promises_nothing_but_the_extremes() -> None:
    digest = fed(Tdigest(100), LOGNORMAL)
    bar = digest.query(Quantile(0.5))
    assert (bar.low, bar.high) == (LOGNORMAL.min(), LOGNORMAL.max())
    assert bar.basis == "tdigest, no bound"
    assert bar.value == pytest.approx(1.0, rel=0.2)
    assert digest.query(Rank(1.0)).value == pytest.approx(15_000, rel=0.2)
    assert digest.query(Rank(1e9)).low == len(LOGNORMAL)
    with pytest.raises(ContractUnsatisfiable, match="no proved bound"):
        Tdigest.sized_for(Need(Quantile(0.5), Contract.rank(0.5)))
    with pytest.raises(BindError):
        Tdigest(3)


def test_tdigest_refuses_infinities_and_keeps_its_state() -> None:
    digest = fed(Tdigest(20), [1.0, 2.0])
    with pytest.raises(BindError, match="finite"):
        digest.update([3.0, np.inf])
    digest.validate()
    assert digest.query(Max()).value == 2.0


def test_equi_depth_edges_of_a_sketch_that_flips_coins_hold_at_their_rate() -> None:
    """False alarms: one run in a million. The sketches are independent, one edge of each counts."""
    column = np.random.default_rng(8).permutation(4000).astype(np.float64)
    edges = [equi_depth(fed(Req(12), column), 8).edges[4] for _ in range(60)]
    missed = sum(not edge.holds(1999.0) for edge in edges)
    assert missed <= cutoff(len(edges), 1.0 - edges[0].confidence)


@pytest.mark.parametrize("synopsis", [Kll(50), LogHistogram(), QDigest(12, 0.02)])
def test_equi_depth_edges_hold(synopsis: Any) -> None:
    column = np.random.default_rng(8).permutation(4000).astype(np.float64)
    histogram = equi_depth(fed(synopsis.empty(), column), 8)
    assert histogram.depth == 500.0
    assert len(histogram.edges) == 9
    for place, edge in enumerate(histogram.edges):
        assert edge.holds(max(0.0, place * 500.0 - 1.0))
    failing = sum(1.0 - edge.confidence for edge in histogram.edges)
    assert histogram.confidence == pytest.approx(1.0 - failing)


def test_equi_depth_refuses() -> None:
    with pytest.raises(BindError):
        equi_depth(Kll(), 0)
    with pytest.raises(IncompatibleSynopsis, match="count_min"):
        equi_depth(CountMin(10, 2), 4)
