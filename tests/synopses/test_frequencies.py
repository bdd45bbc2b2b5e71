"""Frequencies: worked examples, naive twins, formulas, and items that come back as they were."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from typing import Any

import datasketches
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.synopses.bank import ListBank, bank_of
from streamgauge.synopses.frequencies import KINDS
from streamgauge.synopses.frequencies.count_min import CountMin
from streamgauge.synopses.frequencies.count_min_bank import CountMinBank
from streamgauge.synopses.frequencies.count_sketch import CountSketch, failure
from streamgauge.synopses.frequencies.flows import Flows
from streamgauge.synopses.frequencies.frequent_items import FrequentItems
from streamgauge.synopses.frequencies.group_testing import GroupTesting
from streamgauge.synopses.frequencies.hierarchical import Hierarchical
from streamgauge.synopses.frequencies.listed import Listed
from streamgauge.synopses.frequencies.lossy_counting import LossyCounting
from streamgauge.synopses.frequencies.misra_gries import MisraGries
from streamgauge.synopses.frequencies.sketch_top_k import SketchTopK
from streamgauge.synopses.frequencies.space_saving import SpaceSaving
from streamgauge.synopses.frequencies.space_saving_bank import SpaceSavingBank
from streamgauge.synopses.frequencies.sticky_sampling import StickySampling
from streamgauge.synopses.frequencies.window_frequent import WindowFrequent
from streamgauge.synopses.questions import (
    Count,
    Frequency,
    HeavyHitters,
    Question,
    RangeCount,
    TopK,
)
from streamgauge.synopses.synopsis import Need, Synopsis

pytestmark = pytest.mark.slow

SURE = (
    lambda: SpaceSaving(4),
    lambda: MisraGries(4),
    lambda: LossyCounting(0.2),
    lambda: SketchTopK(4, 20, 2),
    lambda: Hierarchical(8, 4, 3),
)
LISTS = (*SURE, lambda: FrequentItems(3), lambda: StickySampling(0.5, 0.1, 0.1))


def zipf(n: int, *, z: float = 1.25, universe: int = 100_000, seed: int = 1) -> np.ndarray:
    shares = np.cumsum(1.0 / np.arange(1, universe + 1) ** z)
    draws = np.random.default_rng(seed).random(n) * shares[-1]
    return np.searchsorted(shares, draws).astype(np.int64)


def bars_of(synopsis: Synopsis) -> dict[Any, tuple[float, float]]:
    return {
        found.item: (found.weight.low, found.weight.high) for found in synopsis.query(TopK(10**6))
    }


# Bars that cannot fail.


@pytest.mark.parametrize("make", SURE)
@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), min_size=1, max_size=200),
    st.integers(0, 200),
)
def test_every_bar_holds_for_weights_and_merged_parts(
    make: Any, rows: list[tuple[int, int]], cut: int
) -> None:
    items = np.array([item for item, _ in rows], np.int64)
    weights = np.array([float(weight) / 4 for _, weight in rows])
    one, two = make(), make()
    one.update(items[:cut], weights[:cut])
    two.update(items[cut:], weights[cut:])
    one.merge(two)
    one.validate()
    questions: list[Question] = [Frequency(item) for item in range(42)]
    for question in [*questions, TopK(3), Count()]:
        assert not question.broken_by(one.query(question), items, weights), question
    width = one.guarantee.epsilon * weights.sum()
    if not isinstance(one, SketchTopK):
        assert all(high - low <= width + 1e-9 for low, high in bars_of(one).values())
        assert one.unlisted <= width + 1e-9


@pytest.mark.parametrize("make", SURE)
@pytest.mark.parametrize("heavy_last", [False, True])
def test_what_the_other_part_may_have_dropped_is_not_told_as_sure(
    make: Any, *, heavy_last: bool
) -> None:
    """One part has few heavy items, the other so many light ones that it has let some go."""
    columns = [np.repeat(np.array([1, 2]), [50, 40]), np.arange(10, 40)]
    one, two = make(), make()
    for synopsis, column in zip((two, one) if heavy_last else (one, two), columns, strict=True):
        synopsis.update(column)
    one.merge(two)
    one.validate()
    items = np.concatenate(columns)
    for item in (1, 2, *columns[1]):
        question = Frequency(int(item))
        assert not question.broken_by(one.query(question), items, np.ones(len(items))), item


@pytest.mark.parametrize("make", [lambda: SpaceSaving(9), lambda: MisraGries(9)])
@pytest.mark.parametrize("order", ["light first", "heavy first", "in turns"])
def test_no_order_hides_an_item_above_its_share(make: Any, order: str) -> None:
    light = np.arange(900, dtype=np.int64) + 10
    heavy = np.full(101, 7, np.int64)
    rows = {
        "light first": np.concatenate([light, heavy]),
        "heavy first": np.concatenate([heavy, light]),
        "in turns": np.insert(light, np.linspace(0, 900, 101).astype(int), 7),
    }[order]
    synopsis = make()
    synopsis.update(rows)
    assert 7 in {found.item for found in synopsis.query(HeavyHitters(101 / 1001))}


@pytest.mark.parametrize("make", [lambda: SpaceSaving(8), lambda: MisraGries(8)])
def test_a_share_that_may_have_been_dropped_is_refused(make: Any) -> None:
    synopsis = make()
    synopsis.update(np.arange(1000) % 50)
    with pytest.raises(ContractUnsatisfiable, match="may have dropped"):
        synopsis.query(HeavyHitters(0.01))
    with pytest.raises(BindError, match="above 0"):
        synopsis.query(HeavyHitters(0.0))


def test_bounded_memory_does_not_pretend_to_know_the_most_frequent_item() -> None:
    """Half of many items come, then two, of which one came before: no small state can tell."""
    seen = np.arange(0, 2000, 2, dtype=np.int64)
    synopsis = SpaceSaving(20)
    synopsis.update(np.concatenate([seen, [500, 501]]))
    repeated, fresh = synopsis.query(Frequency(500)), synopsis.query(Frequency(501))
    assert repeated.holds(2.0)
    assert fresh.holds(1.0)
    assert max(repeated.low, fresh.low) <= min(repeated.high, fresh.high)


# Twins of the algorithms as printed.


def naive_misra_gries(rows: list[int], k: int) -> Counter[int]:
    counters: Counter[int] = Counter()
    for row in rows:
        if row in counters or len(counters) < k:
            counters[row] += 1
        else:
            counters.subtract(list(counters))
            counters = +counters
    return counters


@settings(max_examples=60)
@given(st.lists(st.integers(0, 12), max_size=150), st.integers(1, 6))
def test_misra_gries_is_the_printed_algorithm(rows: list[int], k: int) -> None:
    synopsis = MisraGries(k)
    for start in range(0, len(rows), 11):
        synopsis.update(np.array(rows[start : start + 11], np.int64))
    above = {item: high - synopsis.floor for item, (_, high) in bars_of(synopsis).items()}
    expected = naive_misra_gries(rows, k)
    assert {item: count for item, count in above.items() if count > 0.0} == dict(expected)


def naive_lossy(rows: list[int], bucket: int) -> dict[int, tuple[int, int]]:
    held: dict[int, list[int]] = {}
    for n, row in enumerate(rows):
        completed = n // bucket
        if n % bucket == 0:
            held = {item: entry for item, entry in held.items() if sum(entry) > completed}
        if row in held:
            held[row][0] += 1
        else:
            held[row] = [1, completed]
    return {item: (count, count + error) for item, (count, error) in held.items()}


@settings(max_examples=60)
@given(st.lists(st.integers(0, 12), max_size=150), st.integers(2, 9))
def test_lossy_counting_is_the_printed_algorithm(rows: list[int], bucket: int) -> None:
    synopsis = LossyCounting(1.0 / bucket)
    for start in range(0, len(rows), 11):
        synopsis.update(np.array(rows[start : start + 11], np.int64))
    assert bars_of(synopsis) == naive_lossy(rows, bucket)


def test_lossy_counting_needs_one_bucket_for_items_that_never_repeat() -> None:
    synopsis = LossyCounting(0.001)
    synopsis.update(np.arange(50_000))
    assert synopsis.peak == 1000


def test_counters_of_a_skewed_stream() -> None:
    rows = zipf(200_000)
    lossy, exact = LossyCounting(0.001), Counter(rows.tolist())
    lossy.update(rows)
    assert 200 < lossy.peak < 450
    plain = MisraGries(999)
    plain.update(rows)
    bars = bars_of(plain)
    missed = [count - bars[item][0] for item, count in exact.most_common(100)]
    assert 0 <= max(missed) <= 200
    assert plain.held <= 999


# Sticky sampling.


def test_sticky_sampling_phases() -> None:
    synopsis = StickySampling(0.01, 0.001, 1e-4)
    assert math.floor(synopsis.phase) == 27_631
    synopsis.update(np.arange(27_631))
    assert (synopsis.rate, synopsis.held) == (1, 27_631)
    synopsis.update(np.arange(27_631, 27_700))
    assert synopsis.rate == 2
    assert 13_000 < synopsis.held < 14_700


def test_what_sticky_sampling_misses() -> None:
    missed: dict[int, list[float]] = {7: [], 8: []}
    for seed in range(400):
        synopsis = StickySampling(0.2, 0.05, 0.05, seed=seed)
        rows = np.arange(2000, dtype=np.int64) + 1000
        rows[::4] = 7
        rows[1481::2] = 8
        synopsis.update(rows)
        assert synopsis.rate == 16
        for item, told in missed.items():
            told.append(float((rows == item).sum()) - synopsis.query(Frequency(item)).value)
    # In from the first row, item 7 loses four runs of a fair coin: mean 4, variance 8. Item 8
    # comes when one row in sixteen is drawn: mean 15, variance 240. Four standard errors each.
    assert abs(np.mean(missed[7]) - 4.0) < 4 * math.sqrt(8 / 400)
    assert abs(np.mean(missed[8]) - 15.0) < 4 * math.sqrt(240 / 400)


def test_sticky_parts_meet_at_the_lower_rate() -> None:
    one, two = StickySampling(0.2, 0.05, 0.05), StickySampling(0.2, 0.05, 0.05)
    one.update(np.zeros(50, np.int64))
    two.update(zipf(3000, universe=500))
    one.merge(two)
    one.validate()
    assert one.rate == two.rate > 1
    assert one.parts == 2
    with pytest.raises(ContractUnsatisfiable, match="built for shares"):
        one.query(HeavyHitters(0.1))


# Sketches.


def test_count_sketch_beats_count_min_where_the_tail_is_heavy() -> None:
    counts = np.sort(1e6 / np.sqrt(np.arange(1, 5001)))[::-1].round()
    signed, plain = CountSketch(400, 5, seed=3), CountMin(400, 5, seed=3)
    items = np.arange(5000)
    for sketch in (signed, plain):
        sketch.update(items, counts)
    asked = range(0, 5000, 50)
    errors = {
        sketch.name: np.mean(
            [abs(sketch.query(Frequency(item)).value - counts[item]) for item in asked]
        )
        for sketch in (signed, plain)
    }
    assert errors["count_sketch"] < errors["count_min"] / 4


def test_the_difference_of_two_sketches_shows_what_changed() -> None:
    before, after = CountSketch(512, 5, seed=1), CountSketch(512, 5, seed=1)
    rows = zipf(20_000, universe=2000)
    before.update(rows)
    after.update(np.concatenate([rows[rows != 3], np.full(4000, 77)]))
    after.subtract(before)
    grown, gone = after.query(Frequency(77)), after.query(Frequency(3))
    assert grown.holds(4000.0)
    assert grown.low > 3000.0
    assert gone.high < 0.0
    assert gone.holds(-float((rows == 3).sum()))


def test_the_bar_of_a_count_sketch_leaves_out_the_item_itself() -> None:
    sketch = CountSketch(64, 3)
    sketch.update(["a"] * 1000)
    assert sketch.query(Frequency("a")).high == 1000.0
    assert failure(10**6, 3) == pytest.approx(22 / 512, abs=1e-6)
    with pytest.raises(BindError, match="odd"):
        CountSketch(64, 4)


@pytest.mark.parametrize("sketch", ["count_min", "count_sketch"])
def test_sketch_and_candidates_find_the_top(sketch: Any) -> None:
    rows = zipf(50_000, universe=5000)
    top = SketchTopK(40, 2000, 9, sketch, seed=2)
    top.update(rows[:20_000])
    rest = SketchTopK(40, 2000, 9, sketch, seed=2)
    rest.update(rows[20_000:])
    top.merge(rest)
    exact = Counter(rows.tolist())
    told = [found.item for found in top.query(TopK(10))]
    assert len(set(told) & {item for item, _ in exact.most_common(10)}) >= 9
    for question in (TopK(10), HeavyHitters(0.2), Frequency(0), Frequency(4999)):
        assert not question.broken_by(top.query(question), rows, np.ones(len(rows)))


# Deletions.


def test_group_testing_has_the_published_size() -> None:
    hot = GroupTesting(50, 0.5, 0.05, 14)
    assert hot.counters.size + 1 == 30_001
    rows = zipf(100_000, z=1.1, universe=2**14 - 1)
    hot.update(rows)
    heavy = {item for item, count in Counter(rows.tolist()).items() if count > len(rows) / 50}
    told = {found.item for found in hot.query(HeavyHitters(1 / 50))}
    assert heavy <= told
    assert all((rows == item).sum() >= len(rows) / 100 for item in told)


def test_what_becomes_hot_by_deletions_is_found_by_group_testing_only() -> None:
    rng = np.random.default_rng(4)
    old = rng.integers(0, 50, 100_000)  # heavy at first, then gone
    rare = np.repeat(np.arange(1000, 2000), 3)
    rare = np.concatenate([rare, np.full(30, 1500)])
    rows = np.concatenate([rng.permutation(rare), old])
    hot = GroupTesting(200, 0.5, 0.01, 12, seed=1)
    hot.update(rows)
    hot.update(old, -np.ones(len(old)))
    assert [found.item for found in hot.query(HeavyHitters(1 / 100))] == [1500]
    heap = SketchTopK(20, 2000, 5)
    heap.update(rows)
    assert 1500 not in heap.candidates()
    with pytest.raises(BindError, match="above 0"):
        heap.update(old, -np.ones(len(old)))


def test_group_testing_names_whole_numbers_of_its_bits() -> None:
    hot = GroupTesting(4, 0.5, 0.1, 64)
    hot.update(np.array([2**64 - 1] * 4 + [1], np.uint64))
    assert hot.candidates() == [2**64 - 1]
    narrow = GroupTesting(4, 0.5, 0.1, 8)
    for column in ([256], [-1], ["a"], [0.5]):
        with pytest.raises(BindError):
            narrow.update(column)
    assert narrow.rows == 0
    with pytest.raises(ContractUnsatisfiable, match="finds shares"):
        narrow.query(HeavyHitters(0.1))


# Prefixes and flows.


def address(text: str) -> int:
    return int.from_bytes(bytes(map(int, text.split("."))), "big")


def test_heavy_networks() -> None:
    busy = [address(f"10.1.2.{host}") for host in range(200)]
    server = [address("192.168.0.9")] * 150
    others = [address(f"{n}.7.7.7") for n in range(50, 150)]
    tree = Hierarchical(32, 50, 8)
    tree.update(np.array(busy + server + others, np.int64))
    told = {(found.value, found.length): found for found in tree.prefixes(0.25)}
    assert set(told) == {(address("192.168.0.9"), 32), (address("10.1.2.0") >> 8, 24)}
    assert told[address("10.1.2.0") >> 8, 24].rest.holds(200.0)


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 255), min_size=1, max_size=120),
    st.integers(0, 255),
    st.integers(0, 255),
    st.sampled_from([1, 3, 4, 8]),
)
def test_ranges_are_tiled_by_prefixes(rows: list[int], one: int, two: int, step: int) -> None:
    tree = Hierarchical(8, 5, step)
    column = np.array(rows, np.int64)
    tree.update(column)
    question = RangeCount(min(one, two), max(one, two))
    assert not question.broken_by(tree.query(question), column, np.ones(len(rows)))
    exact = Hierarchical(8, 300, step)
    exact.update(column)
    told = exact.query(question)
    assert told.low == told.high == question.truth(column, np.ones(len(rows)))


def test_every_flow_above_the_threshold_is_told() -> None:
    rng = np.random.default_rng(2)
    sizes = np.ceil(rng.pareto(1.0, 5000) + 1) * 40
    flows, packets = np.arange(5000), np.full(5000, 4)
    rows = rng.permutation(np.repeat(flows, packets))
    weights = sizes[rows] / 4
    threshold = float(weights.sum()) / 200
    table = Flows(threshold, 400, 1000, 4, seed=1)
    table.update(rows, weights)
    told = {found.item: found.weight for found in table.heavy()}
    assert {flow for flow in flows if sizes[flow] >= threshold} <= set(told)
    assert len(told) < 150
    assert all(bar.low <= sizes[flow] <= bar.high for flow, bar in told.items())
    table.next_interval()
    assert (table.mass, table.heavy()) == (0.0, ())


def test_flows_say_when_entries_ran_out() -> None:
    table = Flows(2.0, 2, 100, 2)
    table.update(np.repeat(np.arange(20), 5))
    with pytest.raises(ContractUnsatisfiable, match="may have dropped"):
        table.heavy()


# Windows.


@pytest.mark.parametrize("by", ["rows", "time"])
def test_window_counts_after_drift(by: Any) -> None:
    rng = np.random.default_rng(5)
    n, window, epsilon = 12_000, 2000, 0.05
    rows = np.concatenate([zipf(n // 2, universe=3000), 40 + zipf(n // 2, universe=3000, seed=2)])
    gaps = np.ones(n, np.int64) if by == "rows" else rng.integers(0, 2, n) * (rng.random(n) < 0.2)
    times = np.cumsum(gaps)
    held = WindowFrequent(window, epsilon, by)
    for start in range(0, n, 701):
        part = slice(start, start + 701)
        held.update(rows[part], None, times[part])
        now = int(times[min(n, start + 701) - 1])
        alive = rows[: start + 701][times[: start + 701] > now - window]
        ones = np.ones(len(alive))
        for question in (Frequency(0), Frequency(40), TopK(3), HeavyHitters(0.15), Count()):
            assert not question.broken_by(held.query(question), alive, ones), question
        bar = held.query(Frequency(int(alive[0])))
        assert bar.high - bar.low <= epsilon * len(alive)
    held.validate()
    copy = WindowFrequent.from_bytes(held.to_bytes())
    copy.advance(now + window)
    assert copy.query(TopK(1)) == ()
    assert copy.query(Count()).high == 0.0


def test_window_is_small_and_does_not_depend_on_batches() -> None:
    rows = np.random.default_rng(6).integers(0, 10**6, 60_000)
    times = np.arange(len(rows))
    whole, parts = (WindowFrequent(40_000, 0.1, "rows") for _ in range(2))
    whole.update(rows, None, times)
    for start in range(0, len(rows), 777):
        parts.update(rows[start : start + 777], None, times[start : start + 777])
    assert whole.to_bytes() == parts.to_bytes()
    assert whole.nbytes < 40_000 * 16 / 4


def test_window_refuses_falling_times() -> None:
    window = WindowFrequent(10, 0.5, "rows")
    window.update([1, 2], None, [4, 5])
    for times in (None, [6], [7, 6], [4, 6]):
        with pytest.raises(BindError, match="do not fall"):
            window.update([1, 2], None, times)
    window.validate()
    assert window.rows == 2


# Items come back as they were given.

NOON = datetime.datetime(2024, 5, 6, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    "column",
    [
        [5, 5, -7],
        [2.5, 2.5, -0.5],
        ["a", "a", "grüße"],
        [b"\x00\xff", b"\x00\xff", b""],
        [True, True, False],
        [NOON, NOON, NOON + datetime.timedelta(1)],
        [datetime.date(2024, 5, 6)] * 2 + [datetime.date(1969, 1, 1)],
        np.array([2**64 - 1, 2**64 - 1, 3], np.uint64),
        np.array([1.5, 1.5, 0.1], np.float32),
        np.array([3, 3, 200], np.uint8),
    ],
    ids=lambda column: type(column[0]).__name__,
)
@pytest.mark.parametrize("kind", [SpaceSaving, LossyCounting])
def test_items_keep_their_type(kind: Any, column: Any) -> None:
    synopsis = kind.specimen(3)
    synopsis.update(column)
    for told in (synopsis, kind.from_bytes(synopsis.to_bytes())):
        names = [found.item for found in told.query(TopK(2))]
        assert names == [column[0], column[2]]
        assert told.query(Frequency(column[0])).low == 2.0
    if isinstance(column[0], (int, float, str, bytes)):
        assert all(type(name) is type(column[0]) for name in names)


@pytest.mark.parametrize("make", LISTS)
def test_five_stays_five_and_absent_types_are_absent(make: Any) -> None:
    synopsis = make()
    synopsis.update([5, 5, 6])
    assert synopsis.query(TopK(1))[0].item == 5
    assert synopsis.query(Frequency("five")).high == 0.0


def test_a_column_of_another_type_is_refused() -> None:
    synopsis = SpaceSaving(4)
    synopsis.update([1, 2])
    synopsis.update([2.0])  # the same number
    assert synopsis.query(Frequency(2.0)).value == 2.0
    with pytest.raises(BindError, match="change their type"):
        synopsis.update(["a"])
    with pytest.raises(BindError, match="change their type"):
        synopsis.update([0.5])
    assert synopsis.rows == 3
    with pytest.raises(BindError, match="not counted"):
        synopsis.query(Frequency(None))
    words = SpaceSaving(4)
    words.update(["a"])
    with pytest.raises(BindError, match="change their type"):
        synopsis.merge(words)


def test_texts_that_are_dropped_are_forgotten() -> None:
    synopsis = SpaceSaving(4)
    for start in range(0, 20_000, 500):
        synopsis.update([f"text {n}" for n in range(start, start + 500)])
    assert len(synopsis.vocabulary.known) <= 600
    assert all(str(item).startswith("text") for item in synopsis.candidates())


# Groups.


@pytest.mark.parametrize("text", [False, True])
def test_a_bank_is_its_groups(text: bool) -> None:
    rows, groups = zipf(6000, universe=300), np.random.default_rng(1).integers(-1, 5, 6000)
    column: Any = [f"item {row}" for row in rows] if text else rows
    groups = groups.astype(np.int32)
    model = SpaceSaving(12, seed=9)
    bank, plain = bank_of(model, 2), ListBank(model, 5)
    assert isinstance(bank, SpaceSavingBank)
    bank.resize(5)
    plain.update(groups, column)
    for start in range(0, 6000, 999):
        bank.update(groups[start : start + 999], column[start : start + 999])
    assert bank.to_bytes() == plain.to_bytes()
    again = SpaceSavingBank(model, 0)
    again.restore(bank.save())
    asked = Frequency(column[0])
    assert again.bars(asked).high.tolist() == plain.bars(asked).high.tolist()
    assert again.bars(Count()).value.tolist() == plain.bars(Count()).value.tolist()
    bank.merge(again)
    plain.merge(plain)
    assert bank.to_bytes() == plain.to_bytes()
    bank.clear()
    assert bank.to_bytes() == [b""] * 5


def test_a_count_min_bank_is_its_groups() -> None:
    rows, groups = zipf(3000, universe=300), np.random.default_rng(1).integers(-1, 4, 3000)
    groups = groups.astype(np.int32)
    model = CountMin(50, 3, seed=2)
    bank, plain = bank_of(model, 4), ListBank(model, 4)
    assert isinstance(bank, CountMinBank)
    for one in (bank, plain):
        one.update(groups, rows, np.where(rows % 2, 1.0, 2.5))
    assert bank.to_bytes() == plain.to_bytes()
    for question in (Frequency(1), Count()):
        for mine, theirs in zip(bank.bars(question), plain.bars(question), strict=True):
            assert np.allclose(mine, theirs)
    again = CountMinBank(model, 0)
    again.restore(bank.save())
    bank.merge(again)
    bank.subtract(again)
    assert bank.to_bytes() == plain.to_bytes()
    with pytest.raises(IncompatibleSynopsis, match="cannot answer"):
        bank.bars(TopK(1))


def test_a_bank_takes_weights_and_refuses_what_it_cannot() -> None:
    bank = SpaceSavingBank(SpaceSaving(4), 2)
    bank.update(np.array([0, 1, 1], np.int32), [1, 1, 2], np.array([2.0, 3.0, 4.0]))
    assert bank.bars(Frequency(1)).value.tolist() == [2.0, 3.0]
    assert bank.tops(TopK(1))[1][0].item == 2
    with pytest.raises(BindError, match="above 0"):
        bank.update(np.array([0], np.int32), [1], np.array([-1.0]))
    with pytest.raises(IncompatibleSynopsis):
        bank.subtract(bank)
    with pytest.raises(IncompatibleSynopsis, match="lists"):
        bank.bars(TopK(1))


def test_a_bank_keeps_the_top_of_every_group() -> None:
    n, n_groups = 400_000, 20
    rows = zipf(n, z=1.1, universe=10**6)
    groups = np.random.default_rng(3).integers(0, n_groups, n).astype(np.int32)
    bank = SpaceSavingBank(SpaceSaving(384), n_groups)
    bank.update(groups, rows)
    kept = 0
    for group in range(n_groups):
        exact = Counter(rows[groups == group].tolist()).most_common(10)
        told = {found.item for found in bank.synopsis(group).query(TopK(10))}
        kept += sum(item in told for item, _ in exact)
    assert kept >= 0.99 * 10 * n_groups


# DataSketches.


def test_bytes_are_exchanged_with_datasketches() -> None:
    mine = FrequentItems(6)
    mine.update(["a"] * 5 + ["b"] * 3)
    theirs = datasketches.frequent_strings_sketch.deserialize(mine.to_datasketches())
    assert theirs.get_estimate("a") == 5
    theirs.update("b", 4)
    back = FrequentItems.from_datasketches(theirs.serialize(), lg_k=6, kind="text")
    assert [found.item for found in back.query(TopK(2))] == ["b", "a"]
    assert back.query(Count()).value == 12.0
    numbers = FrequentItems(6)
    numbers.update([7, 7, 8])
    serde = datasketches.PyLongsSerDe()
    read = datasketches.frequent_items_sketch.deserialize(numbers.to_datasketches(), serde)
    assert read.get_estimate(7) == 2


def test_frequent_items_bars_hold_when_it_must_drop() -> None:
    rows = np.concatenate([zipf(3000, universe=500), np.arange(600, 1600)])
    synopsis = FrequentItems(5)
    for start in range(0, len(rows), 300):
        synopsis.update(rows[start : start + 300])
    ones = np.ones(len(rows))
    assert synopsis.unlisted > 0.0
    for question in (*map(Frequency, range(30)), TopK(5), HeavyHitters(0.2)):
        assert not question.broken_by(synopsis.query(question), rows, ones)
    with pytest.raises(BindError, match="whole weights"):
        synopsis.update([1], [0.5])
    with pytest.raises(BindError, match="unknown kind"):
        FrequentItems.from_datasketches(b"", lg_k=5, kind="number")


# Sizes.


@pytest.mark.parametrize("kind", [SpaceSaving, MisraGries, LossyCounting, FrequentItems])
def test_sized_for_a_share_that_cannot_fail(kind: Any) -> None:
    sized = kind.sized_for(Need(HeavyHitters(0.02), Contract.rank(0.01)))
    assert sized.guarantee.epsilon <= 0.01
    assert sized.guarantee.delta == 0.0
    with pytest.raises(ContractUnsatisfiable):
        kind.sized_for(Need(TopK(5), Contract.relative(0.01)))
    with pytest.raises(ContractUnsatisfiable, match="take rows back"):
        kind.sized_for(Need(TopK(5), Contract.rank(0.01), deletions=True))


@pytest.mark.parametrize("kind", [CountMin, CountSketch, StickySampling, SketchTopK, GroupTesting])
def test_sized_for_a_share_that_may_fail(kind: Any) -> None:
    contract = Contract.rank(0.05, confidence=0.99)
    sized = kind.sized_for(Need(Frequency(1), contract))
    assert sized.guarantee.epsilon <= 0.05
    assert sized.guarantee.delta <= 0.01 + 1e-12
    with pytest.raises(ContractUnsatisfiable):
        kind.sized_for(Need(Frequency(1), Contract.rank(0.05)))


def test_sized_for_a_window_and_for_memory() -> None:
    need = Need(HeavyHitters(0.1), Contract.rank(0.02), window=60_000_000)
    assert WindowFrequent.sized_for(need).guarantee.epsilon <= 0.02
    small = Need(TopK(5), Contract.rank(0.001), memory=1000)
    with pytest.raises(ContractUnsatisfiable, match="more memory"):
        SpaceSaving.sized_for(small)
    absolute = Need(Frequency(1), Contract.absolute(10.0), rows=1000)
    assert SpaceSaving.sized_for(absolute).guarantee.epsilon <= 0.01


def test_a_coarser_space_saving_keeps_the_heaviest() -> None:
    synopsis = SpaceSaving(64)
    rows = zipf(5000, universe=1000)
    synopsis.update(rows)
    coarse = synopsis.coarsened()
    assert coarse.nbytes < synopsis.nbytes
    coarse.validate()
    assert not TopK(5).broken_by(coarse.query(TopK(5)), rows, np.ones(len(rows)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountMin(0, 3),
        lambda: SpaceSaving(0),
        lambda: MisraGries(0),
        lambda: LossyCounting(0.0),
        lambda: StickySampling(0.1, 0.2, 0.1),
        lambda: SketchTopK(5, 10, 3, "bloom"),  # type: ignore[arg-type]
        lambda: GroupTesting(0, 0.5, 0.1),
        lambda: Hierarchical(64, 5),
        lambda: Flows(0.0, 5, 5, 5),
        lambda: FrequentItems(2),
        lambda: WindowFrequent(0, 0.1),
    ],
)
def test_impossible_parameters_are_refused(make: Any) -> None:
    with pytest.raises(BindError) as told:
        make()
    assert told.value.hint


def test_listed_synopses_name_their_candidates() -> None:
    for kind in KINDS:
        if issubclass(kind, Listed) and kind is not WindowFrequent:
            synopsis = kind.specimen(1)
            synopsis.update(np.repeat(np.arange(3), [400, 200, 100]))
            assert synopsis.candidates()[0] == 0
