"""Synopses over sliding windows equal the same synopses built anew from each window's rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.kernel.errors import BindError, UnsupportedWindow
from streamgauge.synopses import REGISTRY
from streamgauge.synopses.frequencies.count_min import CountMin
from streamgauge.synopses.questions import Count, Distinct, Frequency, Max, Min, Sum
from streamgauge.synopses.windowed.decay import Decay
from streamgauge.synopses.windowed.eh_count import EhCount
from streamgauge.synopses.windowed.eh_sum import EhSum
from streamgauge.synopses.windowed.window_extreme import WindowExtreme
from streamgauge.windows.daba import Daba
from streamgauge.windows.sliding import Closed, GroupedWindowed, Windowed
from streamgauge.windows.two_stacks import TwoStacks

pytestmark = pytest.mark.slow

BATCH = 40


@st.composite
def streams(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times out of order, items, and a watermark after every batch."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(1, 200))
    steady = np.sort(rng.integers(-100, draw(st.sampled_from([100, 900])), n))
    times = steady + rng.integers(-15, 15, n)
    marks = np.maximum.accumulate(steady[BATCH - 1 :: BATCH] - 5) if n >= BATCH else np.array([500])
    return times, rng.integers(0, 9, n), marks


def run(window: Any, stream: Any, size: int, *, reload: Any = None) -> list[Closed[Any]]:
    """Feed a stream in batches of `size` between watermarks; return what closed."""
    times, column, marks = stream
    closed: list[Closed[Any]] = []
    for number, mark in enumerate(marks.tolist()):
        block = range(number * BATCH, min(len(times), (number + 1) * BATCH))
        for start in range(block.start, block.stop, size):
            part = slice(start, min(start + size, block.stop))
            window.update(times[part], column[part])
        closed += window.advance(mark)
        if reload is not None:
            fresh = reload()
            fresh.load(window.to_bytes())
            window = fresh
    return closed


def rows_on_time(stream: Any, slide: int) -> np.ndarray:
    """Which rows came before a window that holds them was closed."""
    times, _, marks = stream
    before = np.concatenate([[np.iinfo(np.int64).min], marks // slide * slide])
    block = np.minimum(np.arange(len(times)) // BATCH, len(marks))
    return times > before[block]


@settings(max_examples=40, deadline=None)
@given(
    stream=streams(),
    length=st.integers(1, 40),
    slide=st.integers(1, 25),
    size=st.integers(1, 60),
    strategy=st.sampled_from([None, "subtract", "two_stacks", "daba"]),
)
def test_each_window_is_as_if_built_from_its_rows(
    stream: Any, length: int, slide: int, size: int, strategy: Any
) -> None:
    times, column, marks = stream
    model = CountMin(50, 2, seed=3)
    window = Windowed(length, slide, model, strategy=strategy)
    closed = run(window, stream, size)
    on_time = rows_on_time(stream, slide)
    told = (len(marks)) * BATCH
    assert window.late == int((~on_time[:told]).sum())
    ends = []
    for one_of in closed:
        inside = on_time & (times > one_of.start) & (times <= one_of.end)
        inside[told:] = False
        alone = model.empty()
        alone.update(column[inside])
        assert np.array_equal(one_of.summary.counters, alone.counters)
        assert one_of.end - one_of.start == length
        ends.append(one_of.end)
    first, last = int(times.min()), int(marks[-1]) // slide * slide
    due = range(first // slide * slide, last + 1, slide)
    on_time[told:] = False
    alive = [e for e in due if (on_time & (times > e - length) & (times <= e)).any()]
    assert ends == alive, "each window with rows is told once, in order"


@settings(max_examples=15, deadline=None)
@given(stream=streams(), size=st.integers(1, 60), name=st.sampled_from(["hll", "space_saving"]))
def test_batches_and_restarts_do_not_matter(stream: Any, size: int, name: str) -> None:
    def fresh() -> Windowed[Any]:
        return Windowed(30, 10, REGISTRY[name].specimen(1))

    whole, parts = fresh(), fresh()
    one = run(whole, stream, BATCH)
    two = run(parts, stream, size, reload=fresh)
    assert [(c.end, c.summary.to_bytes()) for c in one] == [
        (c.end, c.summary.to_bytes()) for c in two
    ]


@settings(max_examples=15, deadline=None)
@given(stream=streams(), slide=st.integers(1, 25), size=st.integers(1, 60))
def test_synopses_that_expire_are_fed_in_order(stream: Any, slide: int, size: int) -> None:
    times, column, _ = stream
    questions = (Min(), Max())

    def fresh() -> Windowed[Any]:
        return Windowed(30, slide, WindowExtreme(30), questions=questions)

    counts = Windowed(30, slide, EhCount(30, 0.1), questions=(Count(),))
    assert (fresh().strategy, counts.strategy) == ("native", "native")
    extremes = run(fresh(), stream, size, reload=fresh)
    counted = run(counts, stream, size)
    on_time = rows_on_time(stream, slide)
    told = np.arange(len(times)) < len(stream[2]) * BATCH
    for one_of, count in zip(extremes, counted, strict=True):
        inside = told & on_time & (times > one_of.start) & (times <= one_of.end)
        assert one_of.answers[0].value == column[inside].min()
        assert one_of.answers[1].value == column[inside].max()
        assert count.answers[0].low <= inside.sum() <= count.answers[0].high


@settings(max_examples=12, deadline=None)
@given(
    stream=streams(),
    name=st.sampled_from(["count_min", "hll", "space_saving"]),
    strategy=st.sampled_from([None, "two_stacks"]),
)
def test_groups_are_as_if_each_were_alone(stream: Any, name: str, strategy: Any) -> None:
    times, column, _ = stream
    groups = (np.arange(len(times)) * 7 % 5 - 1).astype(np.int32)
    model = REGISTRY[name].specimen(1)
    window = GroupedWindowed(30, 10, model, strategy=strategy)
    half = len(times) // 2
    window.update(times[:half], groups[:half], column[:half])
    closed = window.advance(int(times.min()) + 20)
    again = GroupedWindowed(30, 10, model, strategy=strategy)
    again.load(window.to_bytes())
    again.update(times[half:], groups[half:], column[half:])
    closed += again.advance(2000)
    edge = (int(times.min()) + 20) // 10 * 10
    on_time = (np.arange(len(times)) < half) | (times > edge)
    assert again.late == int((~on_time).sum())
    for one_of in closed:
        inside = on_time & (times > one_of.start) & (times <= one_of.end)
        inside &= (np.arange(len(times)) < half) | (one_of.end > edge)
        for group in range(one_of.summary.n_groups):
            held = one_of.summary.synopsis(group)
            assert held.rows == int((inside & (groups == group)).sum())


def test_the_current_window_is_the_next_to_close() -> None:
    window = Windowed(60, 20, CountMin(100, 3), questions=(Count(),))
    assert window.current().rows == 0
    window.update([5, 18, 31, 70], ["a", "b", "a", "a"])
    assert window.current().rows == 2, "the window that ends at 20"
    window.advance(25)
    assert window.current().rows == 3, "the window that ends at 40"
    assert [closed.answers[0].value for closed in window.advance(80)] == [3.0, 3.0, 2.0]
    assert window.n_panes == 1


def test_a_long_silence_is_skipped() -> None:
    window = Windowed(60, 20, CountMin(100, 3))
    window.update([5, 10**15 + 5], ["a", "b"])
    ends = [closed.end for closed in window.advance(10**15 + 100)]
    assert ends == [20, 40, 60, 10**15 + 20, 10**15 + 40, 10**15 + 60]


def test_what_is_given_shares_nothing() -> None:
    window = Windowed(60, 20, CountMin(100, 3, seed=1))
    window.update([5], ["a"])
    (closed,) = window.advance(20)
    closed.summary.update(["a"] * 5)
    window.current().update(["a"] * 5)
    (later,) = window.advance(40)
    assert later.summary.query(Frequency("a")).value == 1.0


def test_a_refused_column_leaves_no_trace() -> None:
    window = Windowed(60, 20, CountMin(100, 3))
    window.update([5], ["a"])
    before = window.to_bytes()
    with pytest.raises(BindError):
        window.update([6, 30], ["b", "c"], [1.0, np.nan])
    with pytest.raises(BindError, match="must match"):
        window.update([6], ["b", "c"])
    sums = Windowed(60, 20, EhSum(60, 0.1), questions=(Sum(),))
    sums.update([5], [2])
    with pytest.raises(BindError, match="0 or more"):
        sums.update([6], [-1.0])
    assert window.to_bytes() == before
    assert sums.advance(20)[0].answers[0].value == 2.0


def test_nulls_are_left_out_and_counted() -> None:
    window = Windowed(60, 20, CountMin(100, 3), questions=(Count(),))
    window.update([5, 6, 7], ["a", None, "b"], [1.0, 1.0, 3.0])
    assert window.skipped == 1
    assert window.advance(20)[0].answers[0].value == 4.0


def test_windows_that_cannot_be_kept_are_refused() -> None:
    kinds = [kind for kind in REGISTRY.values() if kind.merging == "none"]
    unordered = [kind for kind in kinds if not hasattr(kind, "advance")]
    for kind in unordered:
        with pytest.raises(UnsupportedWindow, match="in panes"):
            Windowed(60, 20, kind.specimen(1))
    with pytest.raises(UnsupportedWindow, match="positive"):
        Windowed(60, 0, CountMin(100, 3))
    with pytest.raises(UnsupportedWindow, match="does not expire"):
        Windowed(60, 20, EhCount(50, 0.1))
    with pytest.raises(UnsupportedWindow, match="does not expire"):
        Windowed(60, 20, Decay(50.0))
    with pytest.raises(UnsupportedWindow, match="subtracted"):
        Windowed(60, 20, REGISTRY["hll"].specimen(1), strategy="subtract")
    with pytest.raises(UnsupportedWindow, match="bank"):
        GroupedWindowed(60, 20, EhCount(60, 0.1))
    window = Windowed(60, 20, CountMin(100, 3))
    window.advance(100)
    with pytest.raises(BindError, match="go back"):
        window.advance(99)


def test_strategies_follow_what_a_synopsis_can_do() -> None:
    assert Windowed(60, 20, CountMin(100, 3)).strategy == "subtract"
    hll = Windowed(60, 20, REGISTRY["hll"].specimen(1), questions=(Distinct(),))
    assert hll.strategy == "daba"
    hll.update(np.arange(60), np.arange(60))
    assert hll.advance(60)[-1].answers[0].value == pytest.approx(60, rel=0.3)


# The queues.


class Counting:
    """Concatenation that counts how often it is called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, one: str, two: str) -> str:
        self.calls += 1
        return one + two

    def spent(self) -> int:
        calls, self.calls = self.calls, 0
        return calls


def operations(seed: int, n: int) -> list[str]:
    rng = np.random.default_rng(seed)
    bias = rng.random()
    half = np.where(np.arange(n) < n // 2, bias, 1.0 - bias)
    return ["push" if draw else "pop" for draw in rng.random(n) < half]


@pytest.mark.parametrize("kind", [TwoStacks, Daba])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_queue_knows_the_merge_of_all_it_holds_in_order(kind: Any, seed: int) -> None:
    merge = Counting()
    queue, held = kind(merge), []
    letters = itertools.cycle("abcdefghijklmnopqrstuvwxyz")
    for step, operation in enumerate(operations(seed, 300)):
        if operation == "push" or not held:
            held.append(next(letters))
            queue.push(held[-1])
        else:
            assert queue.pop() == held.pop(0)
        assert (queue.total() or "") == "".join(held)
        assert len(queue) == len(held)
        if step % 50 == 0:
            copy = kind(merge)
            copy.restore(*queue.parts())
            queue = copy


def test_daba_never_takes_more_than_a_few_merges() -> None:
    worst = {"push": 0, "pop": 0, "total": 0}
    for seed in range(60):
        merge = Counting()
        queue = Daba(merge)
        for operation in operations(seed, 400):
            if operation == "pop" and not len(queue):
                continue
            if operation == "push":
                queue.push("x")
            else:
                queue.pop()
            worst[operation] = max(worst[operation], merge.spent())
            queue.total()
            worst["total"] = max(worst["total"], merge.spent())
    assert worst == {"push": 4, "pop": 3, "total": 1}


def test_two_stacks_take_three_merges_for_a_value_on_average() -> None:
    merge = Counting()
    queue = TwoStacks(merge)
    for step in range(10_000):
        queue.push("x")
        if step >= 500:
            queue.pop()
        queue.total()
    assert merge.spent() <= 3 * 10_000
