"""Correlated aggregates against two passes over the rows, at every step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.lab.correlated_baselines import (
    equal_depth,
    equal_width,
    exact,
    memoryless,
    rmse,
)
from streamgauge.checks.conformance import CHECKS
from streamgauge.checks.streams import STREAMS
from streamgauge.checks.trials import on_tight
from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.synopses.bank import bank_of
from streamgauge.synopses.correlated import KINDS
from streamgauge.synopses.correlated.focused_extreme import FocusedExtreme
from streamgauge.synopses.correlated.focused_mean import FocusedMean
from streamgauge.synopses.correlated.questions import BesideMean, NearExtreme
from streamgauge.synopses.correlated.table import (
    add,
    balance,
    build,
    cut_top,
    insert,
    new_table,
    spread_uniform,
)
from streamgauge.synopses.correlated.windowed_extreme import WindowedExtreme
from streamgauge.synopses.correlated.windowed_mean import WindowedMean
from streamgauge.synopses.synopsis import Expiring, Need, Synopsis

pytestmark = pytest.mark.slow

RNG = np.random.default_rng
POLICIES = [(one, two) for one in ("piecemeal", "wholesale") for two in ("uniform", "quantile")]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_law(kind: type[Synopsis], check: Callable[..., None]) -> None:
    for seed in range(3):
        check(kind, RNG(seed).zipf(1.5, 300) % 1000)
    check(kind, np.array([3, 3, 3], np.int64))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_tight_stream(kind: type[Synopsis]) -> None:
    verdict = on_tight(kind, trials=333, first_seed=1000)
    assert not verdict.alarm, str(verdict)


def questions_for(synopsis: Synopsis) -> list[NearExtreme | BesideMean]:
    if isinstance(synopsis, FocusedExtreme | WindowedExtreme):
        own = synopsis.side, synopsis.factor, synopsis.offset
        return [NearExtreme(*own, of=of) for of in ("count", "sum", "mean")]  # type: ignore[arg-type]
    return [
        BesideMean(part, band=5.0, of=of)  # type: ignore[arg-type]
        for part in ("above", "below", "within")
        for of in ("count", "sum", "mean")
    ]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_bars_hold_on_named_streams(kind: type[Synopsis], stream: str) -> None:
    for seed in range(12):
        rng = RNG([seed, 5])
        column = STREAMS[stream](rng)
        y = rng.normal(1.0, 3.0, len(column))
        synopsis = kind.specimen(seed)
        alive = np.ones(len(column), np.bool_)
        times = np.arange(len(column))
        synopsis.update(column, y, times)
        if isinstance(synopsis, Expiring) and len(column):
            now = len(column) + 20
            synopsis.advance(now)
            alive = synopsis.weights_at(times, now) > 0
        synopsis.validate()
        for question in questions_for(synopsis):
            result = synopsis.query(question)
            assert not question.broken_by(result, column[alive], y[alive]), (synopsis, question)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=80), st.integers(0, 3))
@settings(max_examples=30)
def test_bars_hold_at_every_step(values: list[int], policy: int) -> None:
    x = np.array(values, np.float64)
    y = np.cos(x) * 3
    steps, times = np.arange(len(x)), np.arange(len(x))
    how = POLICIES[policy]
    for of in ("count", "sum"):
        near = NearExtreme("max", 0.6, of=of)  # type: ignore[arg-type]
        beside = BesideMean("above", of=of)  # type: ignore[arg-type]
        found = [
            (FocusedExtreme("max", 0.6, 4, 0.0, *how), near, 0),
            (FocusedMean(5, 3.0, "cover", *how), beside, 0),
            (WindowedExtreme(17, "max", 0.6, 4, 0.0, 3, *how, recount=False), near, 17),
            (WindowedMean(17, 5, 3.0, "lazy", *how, recount=False), beside, 17),
        ]
        for synopsis, question, window in found:
            told = synopsis.trace(x, y, of=of, times=times)  # type: ignore[arg-type]
            truth = exact(x, y, question, steps, window)
            assert (told.low - 1e-9 <= truth).all(), synopsis
            assert (truth <= told.high + 1e-9).all(), synopsis


def test_calls_longer_than_the_average_call() -> None:
    duration = np.array([3.0, 20.0, 5.0, 12.0, 40.0])
    international = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    calls = FocusedMean(10)
    calls.update(duration, international)
    every = calls.query(BesideMean("above"))
    abroad = calls.query(BesideMean("above", of="sum"))
    assert (every.value, abroad.value) == (2.0, 2.0)
    longest = FocusedExtreme("max", 0.9)
    longest.update(duration, international)
    assert longest.query(NearExtreme("max", 0.9)).value == 1.0


def test_filters_on_both_sides() -> None:
    rng = RNG(3)
    x, y = rng.exponential(10.0, 400), rng.normal(5.0, 1.0, 400)
    domestic = rng.random(400) < 0.5
    cut = x[domestic].mean()
    truth = float(y[~domestic & (x >= cut)].sum())
    mean = FocusedMean(16)
    mean.observe(x, y, compared=domestic, counted=~domestic)
    assert mean.query(BesideMean("above", of="sum")).holds(truth)
    near = FocusedExtreme("min", 50.0, 16)
    near.observe(x, y, compared=domestic, counted=~domestic)
    few = int((~domestic & (x <= 50.0 * x[domestic].min())).sum())
    assert near.query(NearExtreme("min", 50.0)).holds(few)
    window = WindowedExtreme(100, "min", 50.0, 16)
    window.observe(x, y, compared=domestic, counted=~domestic, times=np.arange(400))
    last = slice(300, 400)
    low = x[last][domestic[last]].min()
    few = int((~domestic[last] & (x[last] <= 50.0 * low)).sum())
    assert window.query(NearExtreme("min", 50.0)).holds(few)


def test_groups_each_have_their_own() -> None:
    bank = bank_of(FocusedMean(10), 2)
    bank.update(np.array([0, 1, 0, 1, 0], np.int32), [1.0, 5.0, 3.0, 9.0, 8.0])
    assert bank.bars(BesideMean("above")).value.tolist() == [1.0, 1.0]


def test_the_first_rows_are_exact_and_a_jump_starts_anew_without_error() -> None:
    near = FocusedExtreme("min", 2.0, buckets=4)
    near.update([100.0, 150.0, 199.0, 201.0, 120.0])
    assert str(near.query(NearExtreme("min", 2.0))) == "4 in [4, 4], focused_extreme"
    near.update([130.0, 140.0])
    near.update([10.0, 15.0])
    assert str(near.query(NearExtreme("min", 2.0))) == "2 in [2, 2], focused_extreme"


def test_a_minimum_below_zero_has_the_range_of_its_predicate() -> None:
    x = np.array([4.0, -2.0, -1.9, 3.0, -4.0])
    for factor, offset in ((2.0, 0.0), (1.0, 3.0), (0.5, 0.0)):
        question = NearExtreme("min", factor, offset)
        near = FocusedExtreme("min", factor, 3, offset)
        near.update(x)
        assert near.query(question).holds(question.truth(x, np.ones(5)))


def test_duplicates_of_the_extreme_leave_one_at_a_time() -> None:
    window = WindowedExtreme(3, "min", 1.0, 4)
    told = window.trace([1.0, 1.0, 2.0, 2.0, 2.0, 2.0], times=np.arange(6))
    assert told.value.tolist() == [1.0, 2.0, 2.0, 1.0, 3.0, 3.0]


def test_several_rows_leave_at_once_and_none_may_come() -> None:
    window = WindowedMean(10, 4)
    window.update([1.0, 2.0, 30.0, 4.0], times=[0, 0, 0, 9])
    window.advance(12)
    assert window.query(BesideMean("above")).value == 1.0
    window.advance(30)
    assert window.query(BesideMean("above")).value == 0.0
    with pytest.raises(BindError, match="do not fall"):
        window.update([1.0, 2.0], times=[31, 30])


def test_a_landmark_forgets() -> None:
    year = FocusedMean(4)
    year.update(np.arange(100.0))
    year.restart()
    assert year.rows == 0
    year.update([1.0, 2.0])
    assert year.query(BesideMean("above")).value == 1.0


def table_of(values: list[float], edges_at: list[float]) -> tuple[np.ndarray, np.ndarray, int]:
    edges, table = new_table(len(edges_at) + 4)
    rows = np.array([values, [1.0] * len(values), [0.0] * len(values)])
    k = build(edges, table, rows, 0, min(edges_at), max(edges_at))
    for at in edges_at:
        k = insert(edges, table, k, at)
    for value in values:
        add(edges, table, k, value, 1.0, 1.0, 0.0)
    return edges, table, k


def test_new_edges_interpolate_and_keep_sure_bounds() -> None:
    edges, table, k = table_of([1.0, 2.0, 3.0, 11.0], [0.0, 10.0, 20.0])
    k = insert(edges, table, k, 5.0)
    assert edges[: k + 1].tolist() == [0.0, 5.0, 10.0, 20.0]
    assert table[:3, 1].tolist() == [1.5, 0.0, 3.0]
    add(edges, table, k, 4.0, 1.0, 1.0, 0.0)
    assert table[:3, 1].tolist() == [2.5, 1.0, 4.0]
    k = cut_top(edges, table, k, 7.5)
    assert table[:3, k].tolist() == [3.25, 1.0, 4.0]


def test_wholesale_spreads_old_mass_by_overlap() -> None:
    edges, table, k = table_of([1.0] * 4 + [15.0] * 8, [0.0, 10.0, 20.0])
    k = spread_uniform(edges, table, k, 4, 0.0, 20.0, np.empty(20))
    masses = np.diff(table[0, : k + 1])
    assert edges[: k + 1].tolist() == [0.0, 5.0, 10.0, 15.0, 20.0]
    assert masses.tolist() == [2.0, 2.0, 4.0, 4.0]


def test_balance_splits_the_widest_and_joins_the_narrowest() -> None:
    edges, table, k = table_of([], [0.0, 1.0, 2.0, 10.0])
    k = balance(edges, table, k, 4, 0.0, 10.0, False)
    assert edges[: k + 1].tolist() == [0.0, 1.0, 2.0, 6.0, 10.0]
    k = balance(edges, table, k, 3, 0.0, 10.0, False)
    assert edges[: k + 1].tolist() == [0.0, 2.0, 6.0, 10.0]


def test_baselines_by_hand() -> None:
    x = np.array([4.0, 2.0, 3.0, 1.0])
    near, ones, steps = NearExtreme("min", 2.0), np.ones(4), np.arange(4)
    assert memoryless(x, ones, near, reset=True).tolist() == [1.0, 1.0, 2.0, 1.0]
    assert memoryless(x, ones, near).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert memoryless(x, ones, BesideMean("above")).tolist() == [1.0, 1.0, 2.0, 2.0]
    assert exact(x, ones, near, steps, 2).tolist() == [1.0, 2.0, 2.0, 1.0]
    assert exact(x, ones, NearExtreme("max", 0.5), steps).tolist() == [1.0, 2.0, 3.0, 3.0]
    ramp = np.arange(100.0)
    middle = BesideMean("above")
    assert equal_width(ramp, np.ones(100), middle, np.array([99]))[0] == pytest.approx(50, abs=1)
    assert equal_depth(ramp, np.ones(100), middle, np.array([99]))[0] == pytest.approx(50, abs=1)


def test_focus_beats_plain_histograms() -> None:
    x = RNG(11).lognormal(3.0, 2.0, 6000)
    ones, steps = np.ones(6000), np.arange(99, 6000, 100)
    near = NearExtreme("min", 100.0)
    truth = exact(x, ones, near, steps)
    ours = FocusedExtreme("min", 100.0).trace(x).value[steps]
    assert rmse(ours, truth) < 0.5 * rmse(equal_depth(x, ones, near, steps), truth)
    assert rmse(ours, truth) < 0.1 * rmse(equal_width(x, ones, near, steps), truth)
    assert rmse(ours, truth) < 0.1 * rmse(memoryless(x, ones, near, reset=True)[steps], truth)
    above = BesideMean("above")
    truth = exact(x, ones, above, steps)
    ours = FocusedMean().trace(x).value[steps]
    assert rmse(ours, truth) < rmse(equal_depth(x, ones, above, steps), truth)


def test_recounting_leaves_one_bucket_of_doubt() -> None:
    x = RNG(12).exponential(100.0, 3000)
    times, steps = np.arange(3000), np.arange(600, 3000, 50)
    truth = exact(x, np.ones(3000), BesideMean("above"), steps, 500)
    told = WindowedMean(500).trace(x, times=times)
    width = (told.high - told.low)[steps]
    assert width.max() < 100
    assert (told.low[steps] <= truth).all()
    assert (truth <= told.high[steps]).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: FocusedExtreme("most", 2.0),  # type: ignore[arg-type]
        lambda: FocusedExtreme("min", 0.0),
        lambda: FocusedExtreme("min", 2.0, 1),
        lambda: FocusedExtreme("min", 2.0, reallocation="sometimes"),
        lambda: FocusedMean(3),
        lambda: FocusedMean(trigger="never"),
        lambda: WindowedMean(0),
        lambda: WindowedExtreme(5, "min", 2.0, partition="round"),
        lambda: FocusedMean().update([float("inf")]),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(BindError):
        make()


def test_other_ranges_and_contracts_are_refused() -> None:
    near = FocusedExtreme("min", 2.0)
    with pytest.raises(IncompatibleSynopsis):
        near.query(NearExtreme("min", 3.0))
    owed = Contract.relative(0.01)
    for kind in KINDS:
        with pytest.raises(ContractUnsatisfiable):
            kind.sized_for(Need(BesideMean("above"), owed))
    small = FocusedMean.sized_for(Need(BesideMean("above"), owed, rows=50))
    small.update(RNG(1).normal(size=50))
    bar = small.query(BesideMean("above"))
    assert bar.low == bar.high
