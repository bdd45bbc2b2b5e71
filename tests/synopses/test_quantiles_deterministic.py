"""Deterministic, turnstile and window quantiles: lemmas, formulas, worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.synopses.quantiles.arasu_manku import ArasuManku
from streamgauge.synopses.quantiles.block_window import BlockWindow
from streamgauge.synopses.quantiles.dyadic_count_min import DyadicCountMin
from streamgauge.synopses.quantiles.gk import Gk
from streamgauge.synopses.quantiles.gk_list import _band
from streamgauge.synopses.quantiles.mrl import POLICIES, Mrl, plan
from streamgauge.synopses.quantiles.rank_summary import (
    EMPTY,
    RankSummary,
    combine,
    of_rows,
    prune,
    thin,
)
from streamgauge.synopses.quantiles.sampled_gk import SampledGk
from streamgauge.synopses.quantiles.tree import gather
from streamgauge.synopses.quantiles.window_quantiles import WindowQuantiles
from streamgauge.synopses.questions import (
    Count,
    Frequency,
    Max,
    Min,
    Quantile,
    Question,
    RangeCount,
    Rank,
)
from streamgauge.synopses.synopsis import Need, Synopsis

pytestmark = pytest.mark.slow

PHIS = (0.0, 0.01, 0.25, 0.5, 0.77, 0.99, 1.0)
QUESTIONS: tuple[Question, ...] = (
    *(Quantile(phi) for phi in PHIS),
    Rank(3.0),
    Rank(-1.0),
    RangeCount(2.0, 7.0),
    RangeCount(7.0, 2.0),
    Count(),
    Min(),
    Max(),
)
ROWS = st.lists(st.integers(0, 12), max_size=40).map(lambda rows: np.array(rows, np.float64))


def assert_bars_hold(told: object, rows: np.ndarray, weights: np.ndarray | None = None) -> None:
    mass = np.ones(len(rows)) if weights is None else weights
    for question in QUESTIONS:
        result = told(question)  # type: ignore[operator]
        assert not question.broken_by(result, rows, mass), f"{question}: {result}"


def rank_error(value: float, rows: np.ndarray, phi: float) -> float:
    """Distance in rank, as a share, from the quantile to the nearest place of a value."""
    order = np.sort(rows)
    wanted = max(1.0, math.ceil(phi * len(rows) * (1 - 1e-12)))
    first = float(np.searchsorted(order, value, side="left")) + 1.0
    last = max(first, float(np.searchsorted(order, value, side="right")))
    return max(0.0, first - wanted, wanted - last) / len(rows)


def worst_error(synopsis: Synopsis, rows: np.ndarray) -> float:
    phis = np.linspace(0.0, 1.0, 101)
    return max(rank_error(synopsis.query(Quantile(phi)).value, rows, phi) for phi in phis)


def bounds_hold(summary: RankSummary, rows: np.ndarray) -> bool:
    at_or_below = np.array([(rows <= value).sum() for value in summary.values])
    below = np.array([(rows < value).sum() for value in summary.values])
    return bool((summary.at_least <= at_or_below).all() and (summary.below >= below).all())


class TestRankSummary:
    @settings(max_examples=80)
    @given(one=ROWS, two=ROWS, pieces=st.integers(1, 8))
    def test_combine_and_prune_keep_their_lemmas(
        self, one: np.ndarray, two: np.ndarray, pieces: int
    ) -> None:
        first, second = prune(of_rows(one), pieces), prune(of_rows(two), pieces)
        both, rows = combine(first, second), np.concatenate([one, two])
        assert both.mass == len(rows)
        assert bounds_hold(both, rows)
        assert both.gap <= first.gap + second.gap
        pruned = prune(both, pieces)
        assert bounds_hold(pruned, rows)
        assert len(pruned) <= pieces + 1
        assert pruned.gap <= both.gap + len(rows) / pieces + 1e-9
        if len(rows):
            for phi in PHIS:
                value, low, high = pruned.quantile(phi)
                truth = Quantile(phi).truth(rows, np.ones(len(rows)))
                assert low <= truth <= high
                assert rank_error(value, rows, phi) <= pruned.precision + 1e-9

    def test_fifty_rows_answer_to_a_percent(self) -> None:
        rows = np.random.default_rng(3).random(10_000)
        small = prune(of_rows(rows), 50)
        assert len(small) <= 51
        assert small.precision <= 0.01

    def test_nothing_is_neutral(self) -> None:
        one = of_rows(np.array([1.0, 1.0, 2.0]))
        assert combine(EMPTY, one, EMPTY) is one
        assert combine() is EMPTY
        assert math.isnan(EMPTY.quantile(0.5)[0])

    def test_ties_need_no_order(self) -> None:
        both = combine(of_rows(np.full(7, 3.0)), of_rows(np.array([3.0, 3.0, 9.0])))
        assert both.values.tolist() == [3.0, 9.0]
        assert both.at_least.tolist() == [9.0, 10.0]
        assert both.below.tolist() == [0.0, 9.0]

    @settings(max_examples=40)
    @given(rows=ROWS.filter(len), data=st.data())
    def test_a_part_holds_whichever_rows_went(self, rows: np.ndarray, data: st.DataObject) -> None:
        gone = data.draw(st.integers(0, len(rows)))
        order = data.draw(st.permutations(range(len(rows))))
        left = rows[list(order)[gone:]]
        assert bounds_hold(thin(of_rows(rows), 2.0).part(gone), left)


ORDERS = {
    "random": lambda n: np.random.default_rng(1).permutation(n).astype(float),
    "sorted": lambda n: np.arange(float(n)),
    "reversed": lambda n: np.arange(float(n))[::-1].copy(),
    "closing": lambda n: np.stack([np.arange(n // 2), n - np.arange(n // 2)], axis=1).ravel() * 1.0,
}


class TestGk:
    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("epsilon", [0.1, 0.01])
    def test_error_and_space_in_any_order(self, order: str, epsilon: float) -> None:
        rows = ORDERS[order](20_000)
        summary = Gk(epsilon)
        summary.update(rows)
        assert worst_error(summary, rows) <= epsilon
        assert summary.achieved <= epsilon
        assert not summary.alarm
        assert len(summary.summary) <= summary.most_values
        if order == "sorted":
            assert len(summary._list) <= 1.0 / epsilon + 2

    def test_exact_while_there_are_few_rows(self) -> None:
        summary = Gk(0.01)
        rows = np.random.default_rng(2).random(99)
        summary.update(rows)
        assert summary.achieved == 0.0
        for phi in PHIS:
            bar = summary.query(Quantile(phi))
            assert bar.low == bar.high == Quantile(phi).truth(rows, np.ones(99))

    @settings(max_examples=40)
    @given(
        seed=st.integers(0, 10_000), fraction=st.booleans(), epsilon=st.sampled_from([0.05, 0.3])
    )
    def test_bars_hold_whatever_is_put_in_and_taken_back(
        self, seed: int, fraction: bool, epsilon: float
    ) -> None:
        rng = np.random.default_rng(seed)
        summary = Gk(epsilon)
        rows, weights = np.empty(0), np.empty(0)
        for _ in range(6):
            n = int(rng.integers(0, 150))
            new = rng.integers(0, int(rng.choice([4, 30, 1000])), n).astype(float)
            weight = rng.integers(1, 9, n) * (0.37 if fraction else 1.0)
            summary.update(new, weight)
            rows, weights = np.append(rows, new), np.append(weights, weight)
            gone = rng.permutation(len(rows))[: rng.integers(0, len(rows) + 1)]
            if seed % 2:
                gone = np.argsort(rows, kind="stable")[: len(gone)]
            summary.update(rows[gone], -weights[gone])
            rows, weights = np.delete(rows, gone), np.delete(weights, gone)
            summary.validate()
            assert not summary.contradicted
            assert_bars_hold(summary.query, rows, weights)

    @pytest.mark.parametrize("seed", [11, 34, 384])
    def test_nothing_is_left_when_fractions_are_all_taken_back(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        rows, weights = rng.random(90), 0.37 * rng.integers(1, 9, 90)
        summary = Gk(0.05)
        for order in (rng.permutation(90) for _ in range(3)):
            summary.update(rows, weights)
            summary.update(rows[order], -weights[order])
            assert np.isnan(summary.query(Quantile(0.5)).value)

    def test_bounded_deletions_keep_epsilon(self) -> None:
        rng = np.random.default_rng(4)
        rows = rng.permutation(4000).astype(float)
        plain, fine = Gk(0.05), Gk(0.05, least_kept=0.1)
        # All rows go but those between two neighbours, the worst that can be taken back.
        for summary in (plain, fine):
            summary.update(rows)
            gone = rows[rows >= 400]
            summary.update(gone, -np.ones(len(gone)))
            assert_bars_hold(summary.query, rows[rows < 400])
        assert fine.achieved <= 0.05
        assert not fine.alarm
        assert plain.alarm
        assert plain.achieved > 0.05
        assert plain.guarantee.epsilon == plain.achieved
        assert fine.peak == 4000.0

    def test_active_calls_stay_precise(self) -> None:
        """Calls begin in order and end at any age: their start times, with deletions."""
        rng = np.random.default_rng(5)
        starts = np.cumsum(rng.exponential(1.0 / 2000.0, 12_000))
        ends = starts + rng.exponential(1.0, len(starts))
        summary = Gk(0.01)
        instants = np.concatenate([starts, ends])
        order = np.argsort(instants, kind="stable")
        events = np.concatenate([starts, starts])[order]
        signs = np.concatenate([np.ones(len(starts)), -np.ones(len(starts))])[order]
        live = signs[: int(np.searchsorted(instants[order], starts[-1], side="right"))]
        summary.update(events[: len(live)], live)
        active = starts[ends > starts[-1]]
        assert len(active) == summary.mass
        assert summary.achieved <= 0.011
        assert len(summary._list) <= 2.0 / 0.01
        assert_bars_hold(summary.query, active)

    def test_taking_back_too_much_is_noticed(self) -> None:
        summary = Gk(0.1)
        summary.update([1.0, 2.0])
        summary.update([5.0], [-1.0])
        assert summary.contradicted
        assert summary.alarm
        assert summary.query(Quantile(0.5)).low == -math.inf

    def test_everything_taken_back_leaves_nothing(self) -> None:
        summary = Gk(0.1)
        rows = np.arange(500.0)
        summary.update(rows)
        summary.update(rows, -np.ones(500))
        assert math.isnan(summary.query(Quantile(0.5)).value)
        assert summary.query(Rank(1e9)).high == 0.0

    def test_batches_do_not_matter(self) -> None:
        rows = np.random.default_rng(6).random(1000)
        whole, cut = Gk(0.02), Gk(0.02)
        whole.update(rows)
        for part in np.array_split(rows, 37):
            cut.update(part)
        assert whole.to_bytes() == cut.to_bytes()

    def test_many_merges_tell_what_they_cost(self) -> None:
        rng = np.random.default_rng(7)
        whole, rows = Gk(0.1), np.empty(0)
        for part in range(150):
            other = Gk(0.1)
            new = rng.normal(part % 3, 1.0, 200)
            other.update(new)
            whole.merge(other)
            rows = np.append(rows, new)
        assert_bars_hold(whole.query, rows)
        assert worst_error(whole, rows) <= whole.achieved
        assert len(whole._list) <= whole.most_values

    def test_merging_a_few_costs_no_precision(self) -> None:
        rng = np.random.default_rng(8)
        whole = Gk(0.02)
        for _ in range(8):
            other = Gk(0.02)
            other.update(rng.random(2000))
            whole.merge(other)
        assert whole.achieved <= 0.02

    def test_bands(self) -> None:
        """P = 8: the youngest in band 0, then ever more, exact ranks alone on top."""
        bands = [_band(delta, 8) for delta in range(9)]
        assert bands == [64, 3, 3, 3, 3, 2, 2, 1, 0]
        # Two values once in one band stay in one.
        for p in range(2, 60):
            for one in range(1, p):
                for two in range(one, p):
                    if _band(one, p) == _band(two, p):
                        assert _band(one, p + 1) == _band(two, p + 1)

    def test_sizes(self) -> None:
        need = Need(Quantile(0.5), Contract.rank(0.02))
        assert Gk.sized_for(need).epsilon == 0.02
        assert Gk.sized_for(Need(RangeCount(0, 1), Contract.rank(0.02))).epsilon == 0.01
        for wrong in (
            Need(Quantile(0.5), Contract.relative(0.01)),
            Need(Quantile(0.5), Contract.rank(0.01), deletions=True),
            Need(Quantile(0.5), Contract.rank(0.01), memory=100),
        ):
            with pytest.raises(ContractUnsatisfiable):
                Gk.sized_for(wrong)
        with pytest.raises(BindError):
            Gk(0.0)


class TestMrl:
    def test_published_sizes(self) -> None:
        spaces = [plan(policy, 0.01, 10**7).space for policy in POLICIES]
        assert spaces == [12_334, 63_400, 4_400]
        assert plan("mrl", 0.01, 10**7) == (8, 550, 11)
        assert [plan(policy, 0.001, 10**9).space for policy in POLICIES] == [
            177_922,
            2_000_000,
            60_000,
        ]

    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("planned", [10_007, 1500])
    def test_error_within_plan_and_beyond(self, policy: str, order: str, planned: int) -> None:
        rows = ORDERS[order](10_006)
        summary = Mrl(0.05, planned, policy)
        summary.update(rows)
        summary.validate()
        assert (summary.generation == 0) == (planned > len(rows))
        assert summary.achieved <= 0.05
        assert worst_error(summary, rows) <= summary.achieved
        assert_bars_hold(summary.query, rows)
        if planned > len(rows):
            assert summary.nbytes <= 8 * (summary._plan.space + summary._plan.size) + 32

    def test_a_collapse_keeps_the_middles(self) -> None:
        """Weights 1, 1 and 1: of the merged nine values every second of three."""
        summary = Mrl(0.5, 100, "ars")
        summary._plan = summary._plan._replace(buffers=6, size=3)
        summary.update(np.array([7.0, 1, 4, 2, 5, 8, 3, 6, 9, 10]))
        (full,) = summary._full
        assert full.values.tolist() == [2.0, 5.0, 8.0]
        assert full.weight == 3.0
        assert summary.moved.tolist() == [1.0, 1.0]

    def test_merges_tell_what_they_cost(self) -> None:
        rng = np.random.default_rng(9)
        whole, rows = Mrl(0.1, 1000), np.empty(0)
        for part in range(60):
            other = Mrl(0.1, 1000)
            new = rng.normal(part % 3, 1.0, 300)
            other.update(new)
            whole.merge(other)
            rows = np.append(rows, new)
        whole.validate()
        assert_bars_hold(whole.query, rows)
        assert whole.nbytes < 16 * 8 * 2 * whole._plan.space


class TestSampledGk:
    def test_sample_size(self) -> None:
        assert SampledGk(0.1, 0.05).size == math.ceil(200 * math.log(400))

    def test_exact_weight_and_flat_memory(self) -> None:
        rng = np.random.default_rng(10)
        sizes = []
        for n in (5_000, 50_000, 500_000):
            summary = SampledGk(0.1, 0.05, seed=1)
            rows = rng.random(n)
            summary.update(rows)
            summary.validate()
            sizes.append(summary.nbytes)
            assert summary.query(Count()).value == n
            assert worst_error(summary, rows) <= 0.1
            assert summary.deviation <= 0.31 * 0.1 * n
        assert max(sizes) <= 1.5 * min(sizes)

    def test_cutting_batches_changes_nothing_drawn(self) -> None:
        rows = np.random.default_rng(11).random(9_000)
        whole, cut = SampledGk(0.2, 0.05, seed=4), SampledGk(0.2, 0.05, seed=4)
        whole.update(rows)
        for part in np.array_split(rows, 61):
            cut.update(part)
        assert whole.to_bytes() == cut.to_bytes()

    def test_merged_parts_count_all_rows(self) -> None:
        rng = np.random.default_rng(12)
        whole, rows = SampledGk(0.2, 0.05, seed=2), []
        for n in (4_000, 37, 9_001):
            other = SampledGk(0.2, 0.05, seed=2)
            rows.append(rng.random(n))
            other.update(rows[-1])
            whole.merge(other)
        whole.validate()
        assert_bars_hold(whole.query, np.concatenate(rows))


class TestDyadicCountMin:
    def test_shape(self) -> None:
        sketch = DyadicCountMin(0.01, 0.01, 0, 2**20 - 1)
        levels = sketch.levels
        assert sketch.width == math.ceil(math.e * levels / 0.01)
        assert sketch.depth == math.ceil(math.log(2 * levels / (0.01 * 0.01)))
        assert len(sketch.exact) == 2 ** (20 - levels) <= sketch.width * sketch.depth
        assert DyadicCountMin(0.1, 0.1, 0, 99).guarantee.epsilon == 0.0

    def test_all_but_a_few_taken_back(self) -> None:
        """Where a summary of order has no promise left: what remains is answered as well."""
        rng = np.random.default_rng(13)
        rows = rng.permutation(1 << 16).astype(float)
        rest = np.sort(rows[rows < 3000])[:20]
        gone = np.setdiff1d(rows, rest)
        sketch, gk = DyadicCountMin(0.05, 0.01, 0, (1 << 16) - 1, seed=1), Gk(0.05)
        for synopsis in (sketch, gk):
            synopsis.update(rows)
            synopsis.update(gone, -np.ones(len(gone)))
        assert gk.alarm
        assert worst_error(sketch, rest) <= 0.05
        for question in (*QUESTIONS[:-2], Frequency(int(rest[3]))):
            assert not question.broken_by(sketch.query(question), rest, np.ones(20))

    @settings(max_examples=25)
    @given(
        rows=st.lists(st.floats(-3.0, 5.0), min_size=1, max_size=60),
        step=st.sampled_from([1.0, 0.5, 0.1]),
    )
    def test_reals_lie_within_their_cell(self, rows: list[float], step: float) -> None:
        sketch = DyadicCountMin(0.5, 0.5, -3.0, 5.0, step)
        column = np.array(rows)
        sketch.update(column)
        for question in QUESTIONS[:-2]:
            result = sketch.query(question)
            assert not question.broken_by(result, column, np.ones(len(column)))

    def test_outside_the_range_is_refused(self) -> None:
        sketch = DyadicCountMin(0.1, 0.1, 0, 99)
        sketch.update([5, 6])
        before = sketch.to_bytes()
        for wrong in ([100], [-1], [math.inf]):
            with pytest.raises(BindError, match="outside the range"):
                sketch.update([1, *wrong])
        assert sketch.to_bytes() == before
        with pytest.raises(ContractUnsatisfiable):
            DyadicCountMin.sized_for(Need(Quantile(0.5), Contract.rank(0.1, confidence=0.9)))


WINDOWS = (BlockWindow, ArasuManku)
windows = pytest.mark.parametrize("kind", WINDOWS, ids=lambda kind: kind.name)


class TestWindows:
    @windows
    def test_error_at_every_moment_of_a_drift(self, kind: type[WindowQuantiles]) -> None:
        rng = np.random.default_rng(14)
        width, epsilon = 3000, 0.05
        rows = rng.normal(0.0, 1.0, 11_000) + np.arange(11_000) // (width // 3) * 4.0
        window = kind(epsilon, width)
        for start in range(0, len(rows), 271):
            window.update(rows[start : start + 271])
            alive = rows[: start + 271][-width:]
            assert window.window().precision <= epsilon
            for phi in PHIS:
                bar = window.query(Quantile(phi))
                assert bar.low <= Quantile(phi).truth(alive, np.ones(len(alive))) <= bar.high
                assert rank_error(bar.value, alive, phi) <= epsilon
        window.validate()
        assert window.query(Count()).low == window.query(Count()).high == width
        assert_bars_hold(window.query, alive)

    @windows
    def test_any_width_and_any_rate(self, kind: type[WindowQuantiles]) -> None:
        """Bursts, pauses, rows of one instant: time windows that grow, shrink and empty."""
        rng = np.random.default_rng(15)
        window = kind(0.1, 1000, any_width=True)
        rows, times = np.empty(0), np.empty(0, np.int64)
        rungs, now = set(), 0
        for step in range(24):
            n, span = (3000, 400) if step % 8 < 3 else (60, 300)
            new = rng.normal(step % 5, 1.0, n).round(2)
            at = now + np.sort(rng.integers(0, span, n))
            window.update(new, None, at)
            rows, times, now = np.append(rows, new), np.append(times, at), int(at[-1])
            rungs.add(len(window._rungs))
            for width in (1000, 300, 11):
                alive = rows[times > now - width]
                assert_bars_hold(lambda q, w=width: window.query_over(q, w), alive)
                for phi in PHIS:
                    value = window.query_over(Quantile(phi), width).value
                    assert rank_error(value, alive, phi) <= 0.1
        assert len(rungs) > 1, "the window neither grew nor shrank"
        window.advance(now + 1000)
        assert math.isnan(window.query(Quantile(0.5)).value)
        assert window.query(Count()).high == 0.0
        back = kind.from_bytes(window.to_bytes())
        assert back.to_bytes() == window.to_bytes()

    @windows
    def test_a_short_window_is_exact(self, kind: type[WindowQuantiles]) -> None:
        window = kind(0.01, 80)
        rows = np.random.default_rng(16).random(500)
        window.update(rows)
        bar = window.query(Quantile(0.5))
        assert bar.low == bar.high == Quantile(0.5).truth(rows[-80:], np.ones(80))

    @windows
    def test_one_long_column_is_many_short_ones(self, kind: type[WindowQuantiles]) -> None:
        rows = np.random.default_rng(17).random(20_000)
        for any_width in (False, True):
            whole, cut = (kind(0.1, 1000, any_width) for _ in range(2))
            whole.update(rows)
            for part in np.array_split(rows, 83):
                cut.update(part)
            for window in (whole, cut):
                assert_bars_hold(window.query, rows[-1000:])
                assert window.window().precision <= 0.1

    @windows
    def test_what_is_refused(self, kind: type[WindowQuantiles]) -> None:
        window = kind(0.1, 100)
        window.update([1.0, 2.0], None, [5, 9])
        before = window.to_bytes()
        for times in ([8, 9], [12, 11]):
            with pytest.raises(BindError, match="must not fall"):
                window.update([1.0, 2.0], None, times)
        with pytest.raises(BindError, match="cannot be answered"):
            window.query_over(Count(), 101)
        with pytest.raises(IncompatibleSynopsis):
            window.merge(kind(0.1, 100))
        with pytest.raises(ContractUnsatisfiable):
            kind.sized_for(Need(Quantile(0.5), Contract.rank(0.1)))
        assert window.to_bytes() == before
        sized = kind.sized_for(Need(Quantile(0.5), Contract.rank(0.1), window=60_000_000))
        assert sized.parameters == {"epsilon": 0.1, "width": 60_000_000, "any_width": True}

    def test_long_blocks_save_memory(self) -> None:
        rows = np.random.default_rng(18).random(120_000)
        sizes = []
        for kind in WINDOWS:
            window = kind(0.01, 100_000)
            window.update(rows)
            sizes.append(window.nbytes)
        assert sizes[1] < sizes[0] < 16 * 100_000


class TestTree:
    @pytest.mark.parametrize("scheme", ["simple", "classes"])
    def test_error_and_bytes(self, scheme: str) -> None:
        rng = np.random.default_rng(19)
        chain = [0, *range(24)]
        parts = [rng.normal(site, 3.0, 200) for site in range(25)]
        heard = gather(chain, parts, 0.05, scheme=scheme)  # type: ignore[arg-type]
        rows = np.concatenate(parts)
        assert heard.covered == len(rows)
        assert heard.summary.precision <= 0.05
        assert bounds_hold(heard.summary, rows)
        assert heard.sent[0] == 0
        assert min(heard.sent[1:]) > 0

    def test_a_simple_tree_pays_for_its_height(self) -> None:
        parts = [np.arange(500.0) + site for site in range(33)]
        low = gather([0] + [0] * 32, parts, 0.05)
        high = gather([0, *range(32)], parts, 0.05)
        assert max(high.sent) > 5 * max(low.sent)

    def test_silent_sites_are_named(self) -> None:
        parts = [np.full(10, float(site)) for site in range(5)]
        heard = gather([0, 0, 1, 1, 0], parts, 0.1, silent=[1])
        assert heard.missing == [1, 2, 3]
        assert heard.covered == 20
        with pytest.raises(BindError):
            gather([0, 2, 1], parts[:3], 0.1)
