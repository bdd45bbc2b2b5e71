"""Distinct counters: worked examples, laws by enumeration, bytes of Apache DataSketches."""

from __future__ import annotations

import math
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import (
    BindError,
    ContractUnsatisfiable,
    IncompatibleSynopsis,
    StateTooOld,
)
from streamgauge.synopses.bank import ListBank, bank_of
from streamgauge.synopses.distinct import KINDS
from streamgauge.synopses.distinct.ams_distinct import AmsDistinct
from streamgauge.synopses.distinct.bitmaps import lowest_unset
from streamgauge.synopses.distinct.bjkst import Bjkst
from streamgauge.synopses.distinct.cohen import Cohen
from streamgauge.synopses.distinct.coordinated import Coordinated
from streamgauge.synopses.distinct.counting_fm import CountingFm
from streamgauge.synopses.distinct.cpc import Cpc
from streamgauge.synopses.distinct.distinct_sampling import DistinctSampling
from streamgauge.synopses.distinct.fm import Fm, compressed, count_from_places, decompressed
from streamgauge.synopses.distinct.hll import Hll
from streamgauge.synopses.distinct.linear_counting import LinearCounting, standard_error
from streamgauge.synopses.distinct.loglog import Loglog
from streamgauge.synopses.distinct.occupancy_law import items_between, occupancy
from streamgauge.synopses.distinct.pcsa import Pcsa
from streamgauge.synopses.distinct.randomized_wave import RandomizedWave
from streamgauge.synopses.distinct.register_law import (
    bitmap_chances,
    hashed_chances,
    register_chances,
    register_law,
)
from streamgauge.synopses.distinct.sampling_law import items_sampled, median_delta, share_between
from streamgauge.synopses.distinct.set_expression import SetExpression
from streamgauge.synopses.distinct.super_loglog import SuperLoglog
from streamgauge.synopses.distinct.theta import Theta
from streamgauge.synopses.distinct.windowed_fm import WindowedFm
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Expiring, Need, Synopsis

pytestmark = pytest.mark.slow

S1 = list("CDBBZBBRTSXRDUEBRTYLMATW")
S2 = list("TBBRWBBTTETRRTEMWTRMMWBW")

EXACT_WHEN_SMALL = (Hll, Theta, LinearCounting, Pcsa, Loglog, SuperLoglog, Coordinated, Bjkst)
IDEMPOTENT = [
    kind for kind in KINDS if kind.merging == "exact" and kind not in (CountingFm, AmsDistinct)
]


def told(synopsis: Synopsis) -> Any:
    return synopsis.query(Distinct())


def fed(synopsis: Any, column: Any) -> Any:
    times = np.zeros(len(column), np.int64) if isinstance(synopsis, Expiring) else None
    synopsis.update(column, None, times)
    return synopsis


# Worked examples.


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hll(12),
        lambda: Cpc(12),
        lambda: Theta(6),
        lambda: LinearCounting(4096),
        lambda: Pcsa(1024),
        lambda: Loglog(1024),
        lambda: SuperLoglog(1024),
        lambda: Coordinated(32),
        lambda: Bjkst(32),
        lambda: DistinctSampling(32),
        lambda: CountingFm(1024),
    ],
)
def test_two_letter_streams_and_their_union(make: Any) -> None:
    """Streams of 15 and 6 letters that look alike to a sample of every third."""
    one, two = fed(make(), S1), fed(make(), S2)
    assert told(one).holds(15)
    assert told(two).holds(6)
    assert told(one).high <= 16
    one.merge(two)
    assert told(one).holds(15)
    assert told(one).low >= 14


def test_every_third_letter_is_the_same() -> None:
    assert S1[2::3] == S2[2::3] == list("BBTRETMW")


def test_three_bitmaps_give_six() -> None:
    levels = [[1, 0, 0, 0, 3, 0, 1, 0], [1, 1, 0, 2, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0, 1, 0]]
    table = np.zeros((3, 8), np.bool_)
    for row, seen in enumerate(levels):
        table[row, seen] = True
    places = lowest_unset(table)
    assert places.tolist() == [2, 3, 2]
    assert count_from_places(places) == 6


def test_bitmaps_pack_into_their_fringe() -> None:
    words = ["00001111", "00001011", "00000111", "00010111", "00011111", "00001111"]
    assert compressed(words) == ("11011001110", 16)
    assert decompressed("11011001110", 16, 6, 8) == words


@given(st.lists(st.text("01", min_size=8, max_size=8), min_size=1, max_size=9))
def test_packed_bitmaps_come_back(words: list[str]) -> None:
    assert decompressed(*compressed(words), len(words), 8) == words


def test_highest_and_lowest_bit_of_a_bitmap() -> None:
    bits = np.array([[c == "1" for c in reversed("000101111")]])
    assert lowest_unset(bits).tolist() == [4]
    assert int(np.flatnonzero(bits[0]).max()) == 5


# Laws.


def test_occupied_cells_by_enumeration() -> None:
    """Every number of items is accepted with the promised chance, counted over all outcomes."""
    cells = 12
    law = occupancy(cells, 40, 0.1)
    chance = np.zeros(cells + 1)
    chance[0] = 1.0
    for n in range(1, 31):
        moved = chance * np.arange(cells + 1) / cells
        moved[1:] += chance[:-1] * (cells - np.arange(cells)) / cells
        chance = moved
        low, high = law.interval(np.arange(cells + 1))
        held = (low <= n) & (n <= high)
        assert chance[held].sum() >= 0.9 - 1e-12


@pytest.mark.parametrize("occupied", [1, 10, 60, 300, 800, 1500, 1800])
def test_large_and_small_tables_agree(occupied: int) -> None:
    """The saddlepoint of the waits against the law followed item by item."""
    cells = 2000
    chance = np.zeros(cells + 2)
    chance[0] = 1.0
    low, high = items_between(cells, occupied, 0.1)
    tails = {}
    for n in range(1, int(high) + 3):
        chance[1:] = (
            chance[1:] * np.arange(1, cells + 2) / cells
            + chance[:-1] * (cells - np.arange(cells + 1)) / cells
        )
        chance[0] = 0.0
        tails[n] = (chance[occupied:].sum(), chance[: occupied + 1].sum())
    # What is left out is refuted, and hardly anything is kept that is refuted too.
    assert low <= occupied or tails[int(low) - 1][0] < 0.05 * 1.03
    assert tails[int(low) + 1][0] > 0.05 * 0.97
    assert tails[int(high) + 1][1] < 0.05 * 1.03
    assert high <= occupied or tails[int(high) - 1][1] > 0.05 * 0.97


@pytest.mark.parametrize("rate", [0.5, 0.03])
def test_samples_by_enumeration(rate: float) -> None:
    for n in (1, 3, 10, 50, 400):
        counts = np.arange(n + 1)
        chance = stats.binom.pmf(counts, n, rate)
        bars = [items_sampled(int(count), rate, 0.05) for count in counts]
        held = np.array([low <= n <= high for low, high in bars])
        assert chance[held].sum() >= 0.95 - 1e-9


def test_share_of_a_sample_by_enumeration() -> None:
    kept, part = 40, 0.3
    chance = stats.binom.pmf(np.arange(kept + 1), kept, part)
    ends = [share_between(met, kept, 0.05) for met in range(kept + 1)]
    assert sum(c for c, (a, b) in zip(chance, ends, strict=True) if a <= part <= b) >= 0.95


def test_median_of_bars_fails_as_rarely_as_promised() -> None:
    each = median_delta(5, 0.05) / 2.0
    assert stats.binom.sf(2, 5, each) == pytest.approx(0.025)
    assert median_delta(1, 0.05) == pytest.approx(0.05)


@pytest.mark.parametrize("chances", [register_chances, bitmap_chances])
def test_chances_add_up(chances: Any) -> None:
    assert chances(np.array([0.01, 1.0, 1e6])).sum(axis=1) == pytest.approx(1.0)


def test_few_items_meet_a_bitmap_exactly() -> None:
    """Two items: the lowest unset bit is 2 only if they take bits 0 and 1."""
    chance = hashed_chances(np.arange(1.0, 4.0))
    assert chance[0, :3] == pytest.approx([0.5, 0.5, 0.0])
    assert chance[1, 2] == pytest.approx(2 * 0.5 * 0.25)


@pytest.mark.parametrize("kind", ["hll", "loglog", "super_loglog", "pcsa"])
@pytest.mark.parametrize("n", [1, 5, 40, 150, 2000])
def test_register_laws_hold(kind: str, n: int) -> None:
    k, runs = 32, 200
    rng = np.random.default_rng([n, *kind.encode()])
    occupied, totals = np.empty(runs, np.int64), np.empty(runs)
    for run in range(runs):
        place, level = rng.integers(0, k, n), np.minimum(rng.geometric(0.5, n), 60)
        table = np.zeros((k, 64), np.bool_)
        table[place, level - 1] = True
        registers = np.where(table.any(axis=1), 64 - np.argmax(table[:, ::-1], axis=1), 0)
        occupied[run] = (registers > 0).sum()
        totals[run] = {
            "hll": -np.ldexp(1.0, -registers).sum(),
            "loglog": registers.sum(),
            "super_loglog": np.sort(registers)[: int(0.7 * k)].sum(),
            "pcsa": lowest_unset(table).sum(),
        }[kind]
    bars = register_law(kind, k, 0.1).bars(occupied, totals)
    broken = int(((n < bars.low) | (n > bars.high)).sum())
    assert broken <= stats.binom.isf(1e-6, runs, 0.1)
    assert np.mean(bars.high - bars.low) <= 5.5 * n / math.sqrt(k) + 1.0


# Single counters.


def test_linear_counting_is_exact_to_its_formula_and_fills_up() -> None:
    counter = fed(LinearCounting(8, seed=1), np.arange(1000))
    assert counter.saturated
    assert told(counter).high == math.inf
    assert told(counter).low > 8
    assert standard_error(12.0, 12_000_000) == pytest.approx(0.0097, abs=2e-4)
    assert standard_error(12.0, 100_000) > 0.1


def test_first_published_estimates_agree_for_many_items() -> None:
    for kind, slack in ((Pcsa, 0.01), (Loglog, 0.01), (SuperLoglog, 0.04)):
        counter = fed(kind(256, seed=3), np.arange(100_000))
        assert counter.raw == pytest.approx(told(counter).value, rel=slack)
    fm = fed(Fm(64, seed=3), np.arange(20_000))
    assert fm.raw == pytest.approx(told(fm).value, rel=0.02)


def test_ams_factor_is_that_of_the_theorem() -> None:
    assert AmsDistinct(1, 0.05).factor == pytest.approx(40.0)
    assert AmsDistinct(15, 0.05).factor < 4.0
    assert told(fed(AmsDistinct(15, seed=2), [7])).low == 1.0
    with pytest.raises(BindError, match="odd"):
        AmsDistinct(4)


def test_cohen_keeps_a_uniform_sample_of_distinct_items() -> None:
    column = np.concatenate([np.zeros(500, np.int64), np.arange(10)])
    counter = fed(Cohen(2000, seed=5), column)
    seen = np.bincount(counter.candidates(), minlength=10)
    assert stats.chisquare(seen).pvalue > 1e-6
    assert told(counter).holds(10)
    assert counter.raw == pytest.approx(10.0, rel=0.15)


def test_cohen_refuses_a_change_of_type() -> None:
    counter = fed(Cohen(8), np.arange(100))
    with pytest.raises(BindError, match="one type"):
        fed(counter, [str(i) for i in range(2000)])


@pytest.mark.parametrize("kind", KINDS)
def test_seed_as_long_as_the_item(kind: Any) -> None:
    """MurmurHash3 of eight bytes with seed 8 has dependent halves; no counter may show it."""
    for seed, column in ((8, np.arange(900)), (4, [f"{i:04d}" for i in range(900)])):
        bar = told(fed(kind.specimen(seed), column))
        assert bar.low / 1.5 <= 900 <= bar.high * 1.5


@pytest.mark.parametrize("kind", IDEMPOTENT)
def test_order_and_duplicates_do_not_matter(kind: Any) -> None:
    """What arrives twice or by another path changes nothing."""
    column = np.arange(700, dtype=np.int64)
    one, two = fed(kind.specimen(3), column), fed(kind.specimen(3), column[::-1])
    before = told(one)
    for part in (two, one.copy(), one.empty()):
        one.merge(part)
    assert told(one) == before == told(two)


# HyperLogLog and DataSketches.

COLUMNS: dict[str, Any] = {
    "whole": np.arange(-3000, 3000),
    "floats": np.linspace(-1.0, 1.0, 5000),
    "text": [f"sensor-{i}" for i in range(3000)],
    "few": np.arange(5),
    "some": np.arange(100),
}


@pytest.mark.parametrize("name", sorted(COLUMNS))
@pytest.mark.parametrize("form", ["HLL_4", "HLL_6", "HLL_8"])
def test_hll_reads_what_datasketches_wrote(name: str, form: str) -> None:
    sketch = datasketches.hll_sketch(11, getattr(datasketches.tgt_hll_type, form))
    for item in list(COLUMNS[name]):
        sketch.update(item.item() if isinstance(item, np.generic) else item)
    mine = fed(Hll(11), COLUMNS[name])
    for data in (sketch.serialize_compact(), sketch.serialize_updatable()):
        read = Hll.from_datasketches(data)
        assert (read.registers == mine.registers).all()
        read.validate()


@pytest.mark.parametrize("n", [0, 1, 50, 3000, 100_000])
def test_datasketches_reads_what_hll_wrote(n: int) -> None:
    mine = fed(Hll(12), np.arange(n))
    theirs = datasketches.hll_sketch.deserialize(mine.to_datasketches())
    # Theirs knows the registers alone; ours counts few items exactly.
    assert n > 96 or told(mine).value == n
    bar = told(Hll.from_datasketches(mine.to_datasketches()))
    assert theirs.get_estimate() == pytest.approx(bar.value, rel=0.01, abs=1e-9)
    union = datasketches.hll_union(12)
    union.update(theirs)
    again = union.get_result(datasketches.tgt_hll_type.HLL_4)
    assert (Hll.from_datasketches(again.serialize_compact()).registers == mine.registers).all()
    if n > 10_000:
        assert theirs.get_upper_bound(2) == pytest.approx(bar.high, rel=0.005)


def test_hll_refuses_foreign_bytes_and_seeds() -> None:
    with pytest.raises(StateTooOld, match="HLL"):
        Hll.from_datasketches(b"nothing of the kind")
    with pytest.raises(IncompatibleSynopsis, match="one seed"):
        Hll(8, seed=1).to_datasketches()
    with pytest.raises(BindError, match="lg_k"):
        Hll(3)
    with pytest.raises(BindError, match="chance"):
        Hll(8, 0.0)


def test_coarser_hll_is_the_smaller_one() -> None:
    fine = fed(Hll(9), np.arange(5000)).coarsened()
    assert (fine.registers == fed(Hll(8), np.arange(5000)).registers).all()


@pytest.mark.parametrize("column", [np.arange(4000) % 700, [f"k{i % 700}" for i in range(4000)]])
def test_bank_is_many_hlls(column: Any) -> None:
    groups = (np.arange(4000) % 6 - 1).astype(np.int32)
    model = Hll(8)
    bank, plain = bank_of(model, 5), ListBank(model, 5)
    for part in (bank, plain):
        part.update(groups, column)
    for mine, theirs in zip(bank.bars(Distinct())[:3], plain.bars(Distinct())[:3], strict=True):
        assert mine.tolist() == theirs.tolist()
    assert bank.to_bytes() == plain.to_bytes()
    other = bank_of(model, 7)
    other.update(np.full(4000, 6, np.int32), column)
    bank.merge(other)
    assert bank.n_groups == 7
    fresh = bank_of(model, 0)
    fresh.restore(bank.save())
    assert fresh.bars(Distinct()).value.tolist() == bank.bars(Distinct()).value.tolist()
    with pytest.raises(BindError, match="weights"):
        bank.update(groups, column, -np.ones(4000))
    bank.clear()
    assert bank.bars(Distinct()).high.max() == 0.0


@pytest.mark.parametrize("n", [0, 1, 10, 300, 20_000])
def test_theta_is_that_of_datasketches_byte_for_byte(n: int) -> None:
    sketch = datasketches.update_theta_sketch(7)
    for i in range(n):
        sketch.update(i)
    sketch.trim()
    data = sketch.compact().serialize()
    mine = fed(Theta(7), np.arange(n))
    assert mine.to_datasketches() == data
    back = Theta.from_datasketches(data, lg_k=7)
    assert back.hashes.tolist() == mine.hashes.tolist()
    assert told(back) == told(mine)
    if n:
        with pytest.raises(StateTooOld, match="seed"):
            Theta.from_datasketches(data, seed=5)


def test_theta_algebra_holds_as_often_as_promised() -> None:
    runs, broken = 150, np.zeros(3, np.int64)
    for run in range(runs):
        one = fed(Theta(6, seed=run), np.arange(0, 600))
        two = fed(Theta(6, seed=run), np.arange(400, 900))
        bars = told(one.intersection(two)), told(one.difference(two)), told(one.union(two))
        broken += [not bar.holds(n) for bar, n in zip(bars, (200, 400, 900), strict=True)]
    assert (broken <= stats.binom.isf(1e-6, runs, 0.05)).all()
    assert broken.sum() > 0


def test_theta_set_operations_are_those_of_datasketches() -> None:
    columns = np.arange(0, 3000), np.arange(2000, 5000)
    mine = [fed(Theta(8), column) for column in columns]
    theirs = [datasketches.compact_theta_sketch.deserialize(s.to_datasketches()) for s in mine]
    both = datasketches.theta_intersection()
    for sketch in theirs:
        both.update(sketch)
    assert mine[0].intersection(mine[1]).to_datasketches() == both.get_result().serialize()
    rest = datasketches.theta_a_not_b().compute(*theirs)
    assert mine[0].difference(mine[1]).to_datasketches() == rest.serialize()


@pytest.mark.parametrize("name", ["whole", "floats", "text"])
def test_cpc_is_that_of_datasketches_byte_for_byte(name: str) -> None:
    column = COLUMNS[name]
    sketch = datasketches.cpc_sketch(9)
    for item in list(column):
        plain = item.item() if isinstance(item, np.generic) else item
        # The package hashes a negative whole number as a float; as 64 bits it is one.
        sketch.update(plain & (2**64 - 1) if isinstance(plain, int) else plain)
    mine = Cpc(9)
    for start in range(0, len(column), 777):
        mine.update(column[start : start + 777])
    assert mine.to_datasketches() == sketch.serialize()
    read = Cpc.from_datasketches(sketch.serialize())
    assert told(read) == told(mine)
    fed(read, column)
    assert told(read) == told(mine)


def test_cpc_counts_whole_numbers_too_large_for_floats() -> None:
    counter = fed(Cpc(9), -(2**60) - np.arange(300))
    assert told(counter).holds(300)
    with pytest.raises(IncompatibleSynopsis, match="seed"):
        Cpc(9, seed=1).to_datasketches()
    with pytest.raises(StateTooOld, match="CPC"):
        Cpc.from_datasketches(b"no")


# Samples.


def test_sites_and_referee_see_what_one_site_would() -> None:
    column = np.arange(9000)
    sites = [fed(Coordinated(100, 3, seed=5), column[i::4]) for i in range(4)]
    referee = sites[0].empty()
    for site in sites:
        referee.merge(site)
    whole = fed(Coordinated(100, 3, seed=5), column)
    assert referee.levels == whole.levels
    assert all((a == b).all() for a, b in zip(referee.keys, whole.keys, strict=True))
    assert sorted(referee.candidates()) == sorted(whole.candidates())


def test_sample_of_distinct_items_is_uniform_whatever_their_weight() -> None:
    heavy = np.concatenate([np.repeat(np.arange(100), 20), np.arange(1000)])
    light = sum(
        sum(item < 100 for item in fed(Coordinated(64, seed=run), heavy).candidates())
        / len(fed(Coordinated(64, seed=run), heavy).candidates())
        for run in range(60)
    )
    assert light / 60 == pytest.approx(0.1, abs=0.03)


def test_bjkst_allows_for_fingerprints_that_collide() -> None:
    assert Bjkst(64)._collisions(64) == 0
    assert Bjkst(1 << 20)._collisions(1 << 17) >= 2
    counter = fed(Bjkst(4000, seed=1), np.arange(100_000))
    assert counter.nbytes < fed(Theta(12, seed=1), np.arange(100_000)).nbytes
    with pytest.raises(BindError, match="odd"):
        Bjkst(64, 2)


def _orders(n: int, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    customer, year = rng.zipf(1.7, n) % 400, rng.integers(2000, 2010, n)
    return (
        pa.StructArray.from_arrays([pa.array(customer), pa.array(year)], ["customer", "year"]),
        customer,
        year,
    )


def test_predicate_chosen_later() -> None:
    broken = 0
    for run in range(60):
        orders, customer, year = _orders(1500, run)
        sample = fed(DistinctSampling(64, 6, "customer", seed=run), orders)
        truth = len(np.unique(customer[year >= 2006]))
        broken += not sample.distinct_where(pc.field("year") >= 2006).holds(truth)
    assert broken <= stats.binom.isf(1e-6, 60, 0.05)


def test_predicate_is_exact_while_everything_is_kept() -> None:
    orders, customer, year = _orders(300, 1)
    sample = fed(DistinctSampling(512, 300, "customer"), orders)
    bar = sample.distinct_where(pc.field("year") < 2003)
    assert bar.low == bar.high == len(np.unique(customer[year < 2003]))
    plain = fed(DistinctSampling(512), [5, 6, 6, 7])
    assert plain.distinct_where(pc.field("item") > 5).value == 2
    assert DistinctSampling(64).distinct_where(pc.field("item") > 5).value == 0


def test_unseen_rows_widen_the_bar_upwards_only() -> None:
    sample = fed(DistinctSampling(64, 2), np.repeat(np.arange(10), 50))
    bar = sample.distinct_where(pc.field("item") > 100)
    assert (bar.value, bar.low, bar.high) == (0, 0, 10)


def test_rows_of_a_target_are_a_uniform_sample_and_batches_do_not_matter() -> None:
    rows = pa.array([{"k": 1, "at": i} for i in range(40)])
    seen = np.zeros(40)
    for seed in range(250):
        whole = DistinctSampling(64, 8, "k", seed=seed)
        whole.update(rows)
        parts = DistinctSampling(64, 8, "k", seed=seed)
        for start in range(0, 40, 9):
            parts.update(rows.slice(start, 9))
        assert whole.to_bytes() == parts.to_bytes()
        seen[[row["at"] for row in whole.records.to_pylist()]] += 1
    assert stats.chisquare(seen).pvalue > 1e-6


def test_merged_rows_of_a_target_are_a_uniform_sample() -> None:
    seen = np.zeros(30)
    for seed in range(250):
        one, two = (DistinctSampling(64, 5, "k", seed=seed) for _ in range(2))
        one.update(pa.array([{"k": 1, "at": i} for i in range(20)]))
        two.update(pa.array([{"k": 1, "at": i} for i in range(20, 30)]))
        one.merge(two)
        one.validate()
        assert one.counts.tolist() == [30]
        seen[[row["at"] for row in one.records.to_pylist()]] += 1
    assert stats.chisquare(seen).pvalue > 1e-6


def test_records_without_the_target_are_refused_or_left_out() -> None:
    sample = DistinctSampling(64, target="k")
    sample.update(pa.array([{"k": 1, "at": 0}, {"k": None, "at": 1}]))
    assert (sample.rows, sample.skipped) == (1, 1)
    with pytest.raises(BindError, match="no field"):
        sample.update(pa.array([{"other": 1}]))


# Windows and deletions.


@pytest.mark.parametrize("make", [WindowedFm, RandomizedWave])
def test_any_window_up_to_the_longest(make: Any) -> None:
    counter = make(256, 1000, seed=4)
    rng = np.random.default_rng(1)
    column = rng.integers(0, 5000, 3000)
    for start in range(0, 3000, 250):
        counter.update(column[start : start + 250], times=np.arange(start, start + 250))
    for window in (1, 10, 100, 1000):
        truth = len(np.unique(column[3000 - window :]))
        assert counter.distinct_in(window).value == pytest.approx(truth, rel=0.25)
    for wrong in (0, 1001):
        with pytest.raises(BindError, match="window"):
            counter.distinct_in(wrong)
    counter.advance(10_000)
    assert told(counter).high == 0
    with pytest.raises(BindError, match="time"):
        counter.update([1])


@pytest.mark.parametrize("make", [WindowedFm, RandomizedWave])
def test_windows_of_sites_with_one_clock(make: Any) -> None:
    column, times = np.arange(2000) % 1300, np.arange(2000)
    whole = make(64, 900, seed=2)
    whole.update(column, times=times)
    sites = [make(64, 900, seed=2) for _ in range(3)]
    for number, site in enumerate(sites):
        site.update(column[number::3], times=times[number::3])
    sites[0].merge(sites[1])
    sites[0].merge(sites[2])
    for window in (50, 400, 900):
        assert sites[0].distinct_in(window) == whole.distinct_in(window)


@pytest.mark.parametrize("make", [WindowedFm, RandomizedWave])
def test_late_rows_count_at_their_own_time(make: Any) -> None:
    counter = make(256, 100, seed=2)
    counter.update([1, 2], times=[50, 60])
    counter.update([1, 3], times=[10, 55])
    counter.advance(120)
    assert told(counter).value == 3
    counter.advance(151)
    assert told(counter).value == 2


def test_wave_uses_a_level_that_never_overflowed() -> None:
    """Fewer items than fit: the tail of no level is old enough, yet nothing was dropped."""
    wave = RandomizedWave(64, 1000, 3, seed=1)
    wave.update(np.arange(2000) % 40, times=np.arange(2000))
    assert all(level.times[-1] > 1000 for level in wave.waves[0][:1])
    assert (told(wave).low, told(wave).high) == (40, 40)


def test_deletions_leave_no_trace() -> None:
    counter = CountingFm(64, seed=3)
    counter.update(np.arange(5000))
    counter.update(np.arange(4000), -np.ones(4000))
    assert told(counter) == told(fed(CountingFm(64, seed=3), np.arange(4000, 5000)))
    counter.update([1], [-2000.0])
    assert counter.overdrawn
    assert told(counter).high == math.inf


# Set expressions.


def test_expressions_are_read_and_written() -> None:
    assert str(SetExpression.parse("a | b & c - d")) == "((a | (b & c)) - d)"
    assert SetExpression.parse("(a|b)&c").names == {"a", "b", "c"}
    a, b = SetExpression.stream("a"), SetExpression.stream("b")
    assert (a | b) - (a & b) == SetExpression.parse("(a | b) - (a & b)")


@pytest.mark.parametrize("text", ["", "a |", "(a", "a b", "a ? b", "& a", "a)"])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(BindError, match="expression"):
        SetExpression.parse(text)


@given(
    st.dictionaries(
        st.sampled_from("abc"), st.sets(st.integers(0, 40), max_size=30), min_size=3, max_size=3
    ),
    st.sampled_from(["a | b | c", "(a | b) & c", "a - b - c", "a & (b - c)", "a - (b | c)"]),
)
def test_expressions_are_exact_while_all_hashes_are_kept(
    sets: dict[str, set[int]], text: str
) -> None:
    expression = SetExpression.parse(text)
    sketches = {name: fed(Theta(6), sorted(items)) for name, items in sets.items()}
    bar = expression.estimate(sketches)
    assert bar.low == bar.high == len(expression.exact(sets))


def test_expression_needs_a_sketch_of_every_stream() -> None:
    with pytest.raises(BindError, match="no sketch of b"):
        SetExpression.parse("a | b").estimate({"a": Theta(6)})


# Sizes.


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not AmsDistinct])
def test_sized_for_a_contract(kind: Any) -> None:
    window = 1000 if issubclass(kind, Expiring) else None
    need = Need(Distinct(), Contract.relative(0.1, confidence=0.95), window=window, rows=5000)
    made = kind.sized_for(need, seed=9001)
    assert made.guarantee.epsilon <= 0.1
    assert made.guarantee.delta <= 0.05 + 1e-9
    bar = told(fed(made, np.arange(3000)))
    assert max(bar.high - bar.value, bar.value - bar.low) <= 0.1 * bar.value


@pytest.mark.parametrize(
    ("contract", "more"),
    [
        (Contract.exact(), {}),
        (Contract.relative(0.1), {}),
        (Contract.absolute(5.0, confidence=0.95), {}),
        (Contract.relative(0.0001, confidence=0.95), {}),
        (Contract.relative(0.01, confidence=0.95), {"memory": 500}),
    ],
)
def test_contracts_that_hll_cannot_hold(contract: Contract, more: dict[str, int]) -> None:
    with pytest.raises(ContractUnsatisfiable):
        Hll.sized_for(Need(Distinct(), contract, **more))


def test_absolute_width_needs_a_largest_count() -> None:
    need = Need(Distinct(), Contract.absolute(50.0, confidence=0.95), universe=(0, 999))
    assert Hll.sized_for(need).guarantee.epsilon * 1000 <= 50.0
    assert (
        AmsDistinct.sized_for(Need(Distinct(), Contract("relative", 9.0, 0.9))).guarantee.epsilon
        <= 9.0
    )


def test_kinds_that_need_to_know_more() -> None:
    contract = Contract.relative(0.1, confidence=0.95)
    with pytest.raises(ContractUnsatisfiable, match="how many"):
        LinearCounting.sized_for(Need(Distinct(), contract))
    with pytest.raises(ContractUnsatisfiable, match="window"):
        RandomizedWave.sized_for(Need(Distinct(), contract))
    with pytest.raises(ContractUnsatisfiable, match="three deviations"):
        Cpc.sized_for(Need(Distinct(), Contract.relative(0.1, confidence=0.9999)))
    with pytest.raises(BindError, match="power of two"):
        Pcsa(100)
