"""Choice: when summaries pay. Decision tables after the experiments that are known of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from streamgauge.promise.choice import LONGEST_WAIT, WAIT, Hits, summaries_pay, worth
from streamgauge.promise.costs import Allowance, Prices
from streamgauge.promise.promise import Promise

pytestmark = pytest.mark.slow

SECOND = 1_000_000
KEYS = 200


def _zipf() -> npt.NDArray[np.float64]:
    chance = 1.0 / np.arange(1, KEYS + 1)
    share: npt.NDArray[np.float64] = chance / chance.sum()
    return share


def _hits(in_window: float, taken: float) -> Hits:
    """What probes find when the window has so many rows and the most promising part is taken.

    Keys follow Zipf's law in both streams; a summary of the window knows how often each came. A
    row as it comes finds the mean over rows, a guided probe the mean over the keys that most rows
    have. Summaries round to whole rows: where keys come less than once they tell nothing.
    """
    share = _zipf()
    expected = np.floor(in_window * share)
    raw = float((share * in_window * share).sum())
    reached = np.cumsum(share) <= max(taken, share[0])
    order = expected[reached] if expected.any() else np.full(1, raw)
    guided = float(
        (order * share[reached][: len(order)]).sum() / share[reached][: len(order)].sum()
    )
    hits = Hits()
    hits.note(guided=guided, raw=raw)
    return hits


def _chosen(rate: float, window: float, prices: Prices, cores: float = 0.001) -> bool:
    """Whether summaries pay for two streams of a rate (rows a second) over a window (seconds)."""
    allowance = Allowance.of(Promise("desc", (), cpu=cores), prices, SECOND)
    assert allowance.probes is not None
    rows = round(rate)
    return summaries_pay(rows, allowance, _hits(rate * window, 0.3), 0)


class TestRates:
    """The shorter the gap between rows, the more of it summarising takes."""

    # A millisecond of a core a second: 2,000 probes, or 5,000 rows taken into summaries.
    PRICES = Prices(insert=200.0, hit=500.0, raw=500.0)

    @pytest.mark.parametrize(
        ("gap_us", "pays"),
        [(10_000, True), (2_000, True), (1_000, True), (400, True), (220, False), (50, False)],
    )
    def test_very_high_rates_fall_to_rows_as_they_come(self, gap_us: int, pays: bool) -> None:
        assert _chosen(SECOND / gap_us, 60.0, self.PRICES) is pays

    def test_summaries_that_are_cheap_to_feed_hold_out_longer(self) -> None:
        dear = Prices(insert=800.0, hit=500.0, raw=500.0)
        gaps = (10_000, 2_000, 1_500, 1_000, 600, 400, 220, 150, 50)
        longest = [sum(_chosen(SECOND / gap, 60.0, p) for gap in gaps) for p in (self.PRICES, dear)]
        assert longest[0] > longest[1] > 0

    def test_a_budget_of_probes_alone_does_not_feel_the_rate(self) -> None:
        hits = _hits(60_000, 0.3)
        for rows in (10**3, 10**5, 10**7):
            assert summaries_pay(rows, Allowance(500), hits, 0)


class TestWindows:
    """Gains come from summaries as the window grows."""

    PRICES = Prices(insert=200.0, hit=500.0, raw=500.0)

    @pytest.mark.parametrize(
        ("in_window", "pays"),
        [(2, False), (5, False), (100, True), (1_000, True), (10_000, True)],
    )
    def test_small_windows_fall_to_rows_as_they_come(self, in_window: int, pays: bool) -> None:
        assert _chosen(2_500.0, in_window / 2_500.0, self.PRICES) is pays

    def test_where_a_row_as_it_comes_costs_by_the_window(self) -> None:
        """Tuple by tuple: a raw probe of ten rows is cheap, one of ten thousand is not."""
        found = []
        for in_window in (10, 100, 1_000, 10_000):
            prices = Prices(insert=2_000.0, hit=500.0, raw=10.0 * in_window)
            allowance = Allowance.of(Promise("desc", (), cpu=0.002), prices, SECOND)
            known = Hits(guided=2.0, raw=1.0, ticks=1)
            found.append(summaries_pay(900, allowance, known, 0))
        assert found == [False, False, True, True]


class TestMemory:
    def test_until_measured_a_guided_probe_finds_twice_as_much(self) -> None:
        assert worth(1000, Allowance(100), Hits(), 0, "desc") == (200.0, 100.0)

    def test_no_more_rows_come_than_there_are(self) -> None:
        assert worth(10, Allowance(100, raw=0.1), Hits(), 0, "desc") == (200.0, 10.0)

    def test_the_first_tick_replaces_what_was_assumed(self) -> None:
        hits = Hits()
        hits.note(guided=5.0, raw=4.0)
        assert (hits.guided, hits.raw) == (5.0, 4.0)
        hits.note(guided=9.0, raw=0.0)
        assert (hits.guided, hits.raw) == (6.0, 3.0)

    def test_a_way_is_kept_until_the_other_is_clearly_better(self) -> None:
        level = Hits()
        level.note(guided=1.0, raw=1.0)
        allowance = Allowance(100)
        assert summaries_pay(500, allowance, level, 0)
        level.note(guided=0.8, raw=1.0)
        assert summaries_pay(500, allowance, level, 1)
        for _ in range(9):
            level.note(guided=0.8, raw=1.0)
        assert not summaries_pay(500, allowance, level, 2)
        level.guided = 1.05
        assert not summaries_pay(500, allowance, level, 3)
        level.guided = 1.2
        assert summaries_pay(500, allowance, level, 4)

    def test_summaries_are_tried_again_at_stated_ticks(self) -> None:
        hits = Hits(guided=0.5, raw=1.0, ticks=1)
        tried = [n for n in range(20_000) if summaries_pay(500, Allowance(100), hits, n)]
        assert tried[:3] == [WAIT, 3 * WAIT, 7 * WAIT]
        assert set(np.diff(tried[-2:]).tolist()) == {LONGEST_WAIT}

    def test_a_trial_that_finds_more_is_the_way_from_then_on(self) -> None:
        hits = Hits(guided=0.5, raw=1.0, ticks=1)
        assert not summaries_pay(500, Allowance(100), hits, 0)
        assert summaries_pay(500, Allowance(100), hits, WAIT)
        hits.note(guided=4.0, raw=1.0)
        assert summaries_pay(500, Allowance(100), hits, WAIT + 1)

    def test_the_first_overloaded_tick_is_a_trial(self) -> None:
        hits, dear = Hits(), Allowance(100, insert=0.6)
        assert summaries_pay(120, dear, hits, 7)
        hits.note(guided=1.5, raw=1.0)
        assert not summaries_pay(120, dear, hits, 8)

    def test_no_trial_that_the_budget_cannot_pay(self) -> None:
        hits = Hits()
        eaten = Allowance(100, insert=1.0)
        assert not any(summaries_pay(500, eaten, hits, number) for number in range(3 * WAIT))

    @pytest.mark.parametrize("order", ["asc", "weighted"])
    def test_other_orders_do_not_ask_for_many_rows(self, order: str) -> None:
        hits = Hits(guided=0.2, raw=1.0, ticks=1)
        assert summaries_pay(500, Allowance(1000, insert=1.0), hits, 0, order)
        assert not summaries_pay(900, Allowance(1000, insert=1.0), hits, 1, order)

    def test_going_on_from_the_stored_row_is_going_on(self) -> None:
        allowance = Allowance(1000, insert=0.5)
        kept, stored = Hits(), Hits()
        for number in range(600):
            rows = 1900 if number % 7 < 5 else 300
            ways = [summaries_pay(rows, allowance, hits, number) for hits in (kept, stored)]
            assert ways[0] == ways[1]
            if ways[0]:
                for hits in (kept, stored):
                    hits.note(guided=1.0 + number % 3, raw=1.0)
            stored = Hits.from_array(stored.to_array())
        assert kept == stored
