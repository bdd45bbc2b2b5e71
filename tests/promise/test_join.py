"""The promising join against all combinations, one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr
from streamgauge.promise.costs import Allowance
from streamgauge.promise.join import Arrivals, FoundPairs, PromisingJoin, SymmetricHashJoin, Tally
from streamgauge.promise.promise import Promise
from streamgauge.promise.summary import Summary

pytestmark = pytest.mark.slow

NEVER = 2**62
ITEMS = Summary("items", "sales", "item", 8, rate=2, depth=3)
Sides = list[Arrivals]
Found = set[tuple[int, ...]]


def arrivals(
    n: int, seed: int, *, length: int = 6, keys: int = 5, ticks: int = 24, skew: float = 0.0
) -> Arrivals:
    """Rows of one side; `length` 0: they never leave."""
    rng = np.random.default_rng(seed)
    weights = np.arange(1, keys + 1) ** -skew
    enter = np.sort(rng.integers(1, ticks + 1, n))
    # A few leave early, as late rows do, and a few are never in the window.
    leave = enter + length - rng.choice([0, 0, 0, 2, length], n) if length else enter * 0 + NEVER
    key = rng.choice(keys, n, p=weights / weights.sum()).astype(np.uint64)
    return Arrivals(key, enter, leave, np.ones(n, np.bool_))


def some(rows: Arrivals, which: npt.NDArray[np.bool_]) -> Arrivals:
    return Arrivals(rows.key[which], rows.enter[which], rows.leave[which], rows.mine[which])


def brute(sides: Sides) -> Found:
    """All combinations: serial numbers, from when, until when."""
    found = set()
    for rows in product(*(range(len(side.key)) for side in sides)):
        if len({int(side.key[row]) for side, row in zip(sides, rows, strict=True)}) == 1:
            at = max(int(side.enter[row]) for side, row in zip(sides, rows, strict=True))
            leave = min(int(side.leave[row]) for side, row in zip(sides, rows, strict=True))
            if leave > at:
                found.add((*rows, at, leave))
    return found


def lines(found: FoundPairs) -> list[tuple[int, ...]]:
    return list(
        zip(*(map(int, line) for line in (*found.rows, found.at, found.leave)), strict=True)
    )


def names(sides: int) -> tuple[str, ...]:
    return tuple("abcd"[:sides])


def joining(sides: int, order: str = "desc", fade: float = 1.0) -> PromisingJoin:
    return PromisingJoin(sides, Promise(order, (), fade), names(sides), (ITEMS,) * sides, tick=1)


def run(
    join: PromisingJoin, sides: Sides, allowance: Allowance, cuts: list[int] | None = None
) -> tuple[list[tuple[int, ...]], Tally]:
    """Work sides out, cut at some ticks."""
    found, tallies, before = [], [], -1
    for now in sorted({*(cuts or []), 64}):
        part = [some(rows, (rows.enter > before) & (rows.enter <= now)) for rows in sides]
        pairs, tally = join.advance(part, now, allowance)
        found += lines(pairs)
        tallies.append(tally)
        before = now
    return found, Tally.joined(tallies)


@pytest.mark.parametrize("lengths", [(6, 6), (3, 11), (0, 6), (0, 0), (4, 6, 9), (6, 0, 3)])
def test_without_limit_all_combinations_are_found_when_their_last_row_enters(
    lengths: tuple[int, ...],
) -> None:
    n = 60 if len(lengths) == 2 else 30
    sides = [arrivals(n, seed, length=length) for seed, length in enumerate(lengths)]
    found, tally = run(joining(len(lengths)), sides, Allowance())
    assert len(found) == len(set(found))
    assert set(found) == brute(sides)
    assert (tally.share == 1.0).all()
    assert (tally.mode == 0).all()


@pytest.mark.parametrize("order", ["asc", "desc", "weighted"])
@pytest.mark.parametrize(
    ("lengths", "fade"), [((6, 6), 1.0), ((9, 40), 0.7), ((0, 0), 0.5), ((7, 6, 9), 0.9)]
)
def test_under_a_budget_the_answer_is_a_part_of_the_exact_one(
    order: str, lengths: tuple[int, ...], fade: float
) -> None:
    each = len(lengths) - 1
    n = 80 if each == 1 else 40
    sides = [arrivals(n, seed, length=length) for seed, length in enumerate(lengths)]
    exact = {line[:-2]: line[-2:] for line in brute(sides)}
    probes = {}
    for budget in (0, 1, 3, 5, 8, 40):
        join = joining(len(lengths), order, fade)
        found, tally = run(join, sides, Allowance(budget))
        probes[budget] = int(tally.probes.sum())
        assert len({line[:-2] for line in found}) == len(found)
        for *rows, at, leave in found:
            begins, ends = exact[tuple(rows)]
            assert begins <= at < leave == ends
        assert (tally.probes <= budget).all()
        assert ((tally.share < 1.0) == (tally.pending > 0)).all()
        assert ((tally.share > 1.0 - 1e-12) | (tally.mode > 0)).all()
    assert probes[0] == 0 < probes[3]
    assert set(run(joining(len(lengths)), sides, Allowance(80 * each))[0]) == brute(sides)


@pytest.mark.parametrize("order", ["asc", "desc", "weighted"])
@pytest.mark.parametrize(("sides", "fade"), [(2, 1.0), (2, 0.8), (3, 1.0)])
def test_what_waits_is_found_when_it_is_quiet(order: str, sides: int, fade: float) -> None:
    rows = [arrivals(30, seed, length=0, ticks=4) for seed in range(sides)]
    join = joining(sides, order, fade)
    found, tally = run(join, rows, Allowance(5 * (sides - 1)))
    assert {line[:-2] for line in found} == {line[:-2] for line in brute(rows)}
    assert max(line[-2] for line in found) > 4
    assert join.pending == tally.unseen[-1] == 0.0
    assert tally.share[-1] == 1.0


def test_a_row_that_left_is_given_up() -> None:
    rows = [arrivals(40, seed, length=2, ticks=4) for seed in range(2)]
    join = joining(2)
    _, tally = run(join, rows, Allowance(1))
    assert join.given_up == tally.given_up.sum() > 0
    assert join.pending == 0
    assert tally.at[-1] <= 6


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 40), max_size=6),
    st.sampled_from(["asc", "desc", "weighted"]),
    st.sampled_from([(6, 6, 0), (9, 0, 0), (5, 7, 6)]),
    st.integers(1, 9),
    st.sampled_from([Allowance(4), Allowance(9), Allowance(7, 0.4, 1.3), Allowance(6, 2.0, 1.0)]),
)
def test_cuts_and_restarts_change_nothing(
    cuts: list[int],
    order: str,
    lengths: tuple[int, ...],
    seed: int,
    allowance: Allowance,
) -> None:
    many = 3 if lengths[2] else 2
    sides = [arrivals(60, seed + s, length=lengths[s]) for s in range(many)]
    whole, tally = run(joining(many, order, 0.8), sides, allowance)
    found, again = run(joining(many, order, 0.8), sides, allowance, cuts)
    assert found == whole
    for name in ("at", "share", "unseen", "probes", "pending", "given_up", "mode"):
        np.testing.assert_array_equal(getattr(tally, name), getattr(again, name))

    promise, found, before = Promise(order, (), 0.8), [], -1
    join = joining(many, order, 0.8)
    for now in sorted({*cuts, 64}):
        # Rows of later ticks may be handed over early.
        part = [some(rows, (rows.enter > before) & (rows.enter <= now + 3)) for rows in sides]
        before = now + 3
        found += lines(join.advance(part, now, allowance)[0])
        arrays = {name: array.copy() for name, array in join.to_arrays().items()}
        join = PromisingJoin.from_arrays(promise, names(many), (ITEMS,) * many, arrays, tick=1)
    assert found == whole


@pytest.mark.parametrize("order", ["asc", "desc", "weighted"])
@pytest.mark.parametrize("many", [2, 3])
def test_shards_find_the_same_together(order: str, many: int) -> None:
    sides = [arrivals(90, seed, length=8) for seed in range(many)]
    whole, tally = run(joining(many, order), sides, Allowance(6))
    for shards in (2, 3, 4):
        found = []
        for shard in range(shards):
            own = [
                Arrivals(rows.key, rows.enter, rows.leave, rows.key % np.uint64(shards) == shard)
                for rows in sides
            ]
            part, told = run(joining(many, order), own, Allowance(6))
            found += part
            np.testing.assert_array_equal(told.share, tally.share)
            np.testing.assert_array_equal(told.unseen, tally.unseen)
        assert sorted(found) == sorted(whole)


def test_rows_that_are_no_longer_needed_can_be_let_go() -> None:
    sides = [arrivals(4000, seed, length=6, ticks=60, keys=50) for seed in range(2)]
    join = joining(2)
    for now in range(1, 61):
        join.advance([some(rows, rows.enter == now) for rows in sides], now, Allowance(20))
        for rows, first in zip(sides, join.floor(), strict=True):
            gone = np.flatnonzero((rows.leave > now) & (rows.enter <= now))
            assert first == (gone[0] if len(gone) else np.count_nonzero(rows.enter <= now))
    assert join.rows < 4000


def test_summaries_are_kept_only_while_there_is_too_much_to_do() -> None:
    join = joining(2)
    few, many = [[arrivals(n, seed, ticks=1) for seed in range(2)] for n in (3, 30)]
    join.advance(few, 1, Allowance(10))
    assert join.nbytes == 0 == join.zones
    many = [Arrivals(rows.key, rows.enter + 1, rows.leave + 1, rows.mine) for rows in many]
    join.advance(many, 2, Allowance(10))
    assert join.nbytes > 0 < join.zones
    none = [arrivals(0, 0)] * 2
    _, tally = join.advance(none, 9, Allowance(10))
    last = int(tally.at[tally.mode > 0][-1])
    join.advance(none, last + ITEMS.span, Allowance(10))
    assert join.nbytes > 0
    join.advance(none, last + ITEMS.span + 1, Allowance(10))
    assert join.nbytes == 0


def streams(skew: float, *, length: int, ticks: int, keys: int = 400) -> Sides:
    sides = []
    for seed in range(2):
        rows = arrivals(40 * ticks, seed, length=0, keys=keys, ticks=ticks, skew=skew)
        leave = rows.enter + length if length else rows.leave
        sides.append(Arrivals(rows.key, rows.enter, leave, rows.mine))
    return sides


def worked(
    sides: Sides, allowance: Allowance, order: str = "", fade: float = 1.0
) -> tuple[FoundPairs, Tally]:
    """One run; without an order the plain join."""
    join: PromisingJoin | SymmetricHashJoin = SymmetricHashJoin(2, tick=1)
    if order:
        minute = Summary("items", "sales", "item", 30, rate=2, depth=3)
        promise = Promise(order, (), fade)
        join = PromisingJoin(2, promise, ("a", "b"), (minute, minute), tick=1)
    return join.advance(sides, 200, allowance)


@pytest.mark.parametrize("skew", [0.7, 1.0])
def test_most_output_with_the_same_probes(skew: float) -> None:
    sides = streams(skew, length=30, ticks=90)
    for probes in (2, 8, 20):
        plain, spent = worked(sides, Allowance(probes))
        most, tally = worked(sides, Allowance(probes), "desc")
        assert len(most) > 1.8 * len(plain)
        assert (tally.probes <= probes).all()
        assert (spent.probes <= probes).all()


def test_the_rare_comes_first_where_it_is_asked_for() -> None:
    sides = streams(1.0, length=30, ticks=90)
    often = np.bincount(sides[1].key.astype(np.int64), minlength=400)
    plain, _ = worked(sides, Allowance(8))
    rare, _ = worked(sides, Allowance(8), "asc")
    least = np.quantile(often[sides[0].key.astype(np.int64)], 0.2)
    found, usual = (
        np.count_nonzero(often[sides[0].key[pairs.rows[0]].astype(np.int64)] <= least)
        for pairs in (rare, plain)
    )
    assert found > 4 * usual
    # A tenth of the rows can be looked up: those found are mostly of the rarest third.
    values = often[sides[0].key[rare.rows[0]].astype(np.int64)]
    assert np.median(values) <= np.quantile(often[sides[0].key.astype(np.int64)], 1 / 3)


@pytest.mark.parametrize("skew", [0.7, 1.0])
def test_a_weighted_sample_looks_like_the_whole(skew: float) -> None:
    sides = streams(skew, length=30, ticks=90)

    def histogram(pairs: FoundPairs) -> npt.NDArray[np.float64]:
        counts = np.histogram(sides[0].key[pairs.rows[0]], 100, (0, 400))[0].astype(np.float64)
        shares: npt.NDArray[np.float64] = counts / counts.sum()
        return shares

    exact = histogram(worked(sides, Allowance())[0])
    errors = np.empty((2, 3))
    for column, probes in enumerate((4, 16, 40)):
        for line, order in enumerate(("", "weighted")):
            pairs, _ = worked(sides, Allowance(probes), order)
            errors[line, column] = ((histogram(pairs) - exact) ** 2).mean()
    assert np.exp(np.log(errors[1] / errors[0]).mean()) < 0.5


def test_what_fades_gives_way_to_what_is_fresh() -> None:
    sides = streams(1.0, length=0, ticks=120)

    def age(pairs: FoundPairs) -> float:
        apart = sides[0].enter[pairs.rows[0]] - sides[1].enter[pairs.rows[1]]
        return float(np.abs(apart).mean())

    kept, _ = worked(sides, Allowance(6), "desc")
    faded, _ = worked(sides, Allowance(6), "desc", fade=0.5)
    plain, _ = worked(sides, Allowance(6))
    assert age(faded) < 0.8 * age(plain)
    assert age(faded) < 0.8 * age(kept)


def test_the_estimate_of_what_is_unseen_is_near_it() -> None:
    sides = streams(1.0, length=30, ticks=90)
    exact, _ = worked(sides, Allowance())
    found, tally = worked(sides, Allowance(12), "desc")
    for at in (30, 60, 90):
        here = np.count_nonzero((exact.at <= at) & (exact.leave > at))
        seen = np.count_nonzero((found.at <= at) & (found.leave > at))
        assert abs(tally.unseen[tally.at == at][0] - (here - seen)) < 0.2 * (here - seen)


@pytest.mark.parametrize(("sides", "length"), [(3, 8), (3, 0), (2, 0)])
def test_so_it_is_with_more_streams_and_windows_longer_than_summaries(
    sides: int, length: int
) -> None:
    rows = [
        arrivals(240, seed, length=0, keys=12, ticks=40, skew=1.0) for seed in range(7, 7 + sides)
    ]
    if length:
        rows = [Arrivals(r.key, r.enter, r.enter + length, r.mine) for r in rows]
    brief = Summary("items", "sales", "item", 4, rate=2, depth=2)
    told, truth = [], []
    exact, _ = joining(sides).advance(rows, 40, Allowance())
    join = PromisingJoin(sides, Promise("desc", ()), names(sides), (brief,) * sides, tick=1)
    found, tally = join.advance(rows, 40, Allowance(4))
    for at, unseen in zip(tally.at, tally.unseen, strict=True):
        here, seen = (np.count_nonzero((f.at <= at) & (f.leave > at)) for f in (exact, found))
        told.append(unseen)
        truth.append(here - seen)
    assert 0.7 < np.mean(told) / np.mean(truth) < 1.4


def test_rows_are_taken_as_they_come_where_summaries_cost_too_much() -> None:
    sides = streams(1.0, length=30, ticks=60)
    dear = Allowance(20, insert=2.0, raw=1.0)
    found, tally = worked(sides, dear, "desc")
    plain, _ = worked(sides, dear)
    assert (tally.mode[(tally.mode > 0) & (tally.at <= 60)] == 2).all()
    assert (tally.probes <= 20).all()
    meanwhile = found.at <= 60
    assert set(found.rows[0][meanwhile].tolist()) == set(plain.rows[0].tolist())
    assert np.count_nonzero(meanwhile) == len(plain)
    cheap, tally = worked(sides, Allowance(20, insert=0.1, raw=1.0), "desc")
    assert (tally.mode[tally.mode > 0] == 1).all()
    assert len(cheap) > len(found)


def estimate(column: str, kind: str = "count") -> Expr:
    return Expr("estimate", (Expr("column", value=column),), kind)


@pytest.mark.parametrize("many", [2, 3])
def test_an_expression_says_what_a_region_promises(many: int) -> None:
    sides = [arrivals(45, seed, length=9) for seed in range(many)]
    own = names(many)

    def found(exprs: tuple[Expr, ...]) -> list[tuple[int, ...]]:
        promise = Promise("desc", exprs, 1.0)
        return run(PromisingJoin(many, promise, own, (ITEMS,) * many, tick=1), sides, Allowance(6))[
            0
        ]

    counts = tuple(estimate(f"{alias}.item") for alias in own)
    assert found(counts) == found(())
    assert found(tuple(Expr("*", (count, Expr("literal", value=4))) for count in counts)) == found(
        ()
    )
    shares = tuple(estimate(f"{alias}.item", "frequency") for alias in own)
    for exprs in (shares, (counts[0],), (Expr("*", counts[:2]),)):
        assert {line[:-2] for line in found(exprs)} <= {line[:-2] for line in brute(sides)}
    with pytest.raises(BindError, match="an estimate of no stream"):
        found((estimate("z.item"),))
