"""Timers: what they learn from moves, misses and looks, and the deadlines they set.

`walked` takes paths of series through the real kernels and says what a reader holds meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtri

from streamgauge.drift import block as blocks
from streamgauge.drift import extremes
from streamgauge.drift.answer import Scene
from streamgauge.drift.cells import ASKED, TIMER, Links, Memory, fresh
from streamgauge.drift.deadline import tables
from streamgauge.drift.evaluate import Reading
from streamgauge.drift.paths import estimate_due, no_paths, with_room
from streamgauge.drift.timer import (
    CALM,
    CLIP,
    LEAP,
    LOOKS,
    SLACK,
    compare,
    corrected,
    judge,
    learn,
    next_due,
    plan,
    slope_of,
    variance,
)
from streamgauge.drift.walk import walk
from streamgauge.operators.accumulate import AVG
from streamgauge.operators.emission import ALWAYS, QUERY, TICK, Arrivals, Floats, empty_answers

pytestmark = pytest.mark.slow


class Walked(NamedTuple):
    """By tick and cell: whether the value was inside, and whether it was evaluated."""

    inside: npt.NDArray[np.bool_]
    evaluated: npt.NDArray[np.bool_]
    answers: Floats
    memory: Memory


def asked(n_cells: int, eps: float, confidence: float, *, regime: int, n_members: int = 1):  # type: ignore[no-untyped-def]
    """Averages over series of their own."""
    cells = np.zeros(n_cells, ASKED)
    cells["query"], cells["op"], cells["width"] = np.arange(n_cells), AVG, eps
    cells["confidence"], cells["asked"], cells["listed"] = confidence, regime, n_members
    cells["born"] = cells["opened"] = ALWAYS
    cells["sign"], cells["deque"], cells["spread"] = 1.0, -1, ndtri(0.5 + confidence / 2.0)
    cells["draw"] = np.arange(n_cells, dtype=np.uint64) * np.uint64(7919) + np.uint64(13)
    return cells


def _cuts(n_ticks: int, cut: int) -> list[int]:
    """Ends of blocks: where drift is estimated, and every so many ticks besides."""
    ends = {2 << k for k in range(6)} | set(range(64, n_ticks, 64)) | {n_ticks}
    return sorted(end for end in ends | set(range(cut, n_ticks, cut)) if end <= n_ticks)


def walked(
    path: Floats,
    eps: float,
    confidence: float,
    *,
    regime: int,
    n_members: int = 1,
    cut: int = 64,
) -> Walked:
    """Walk cells over paths, a row to a tick; blocks are cut every so many ticks besides."""
    n_ticks, n_series = path.shape
    n_cells = n_series // n_members
    cells = asked(n_cells, eps, confidence, regime=regime, n_members=n_members)
    members = np.arange(n_series, dtype=np.int32)
    links = Links(np.arange(n_cells + 1, dtype=np.int64) * n_members, members, np.empty(0))
    paths, memory = with_room(no_paths(), n_series), fresh(n_cells)
    memory.cell["regime"] = regime
    law, none = np.stack([tables(confidence)]), extremes.fresh(0)
    found, start = [], 0
    for end in _cuts(n_ticks, cut):
        ticks = np.arange(start + 1, end + 1)
        n = (end - start) * n_series
        times = np.repeat(ticks, n_series)
        rows = Arrivals(
            times, times, np.zeros(n, bool), np.tile(members, end - start),
            np.empty(0, np.int32), path[start:end].ravel(), np.empty(0), np.empty(0),
        )  # fmt: skip
        block = blocks.room(n_series, ticks)
        blocks.fill(block, paths, rows, 0, n, False, paths["ts"].copy())
        scene = Scene(block, paths, cells, links, memory, law, 1.0, 8, 1)
        answers, none = walk(scene, none, empty_answers())
        found.append(answers.copy())
        start = end
        if end % 64 == 0 or (end < 64 and end & (end - 1) == 0):
            estimate_due(paths, end, 0.0)
    return _held(path, eps, n_members, np.concatenate(found), memory)


def _held(path: Floats, eps: float, n_members: int, answers: Floats, memory: Memory) -> Walked:
    value = path.reshape(len(path), -1, n_members).mean(axis=2)
    evaluated = np.zeros(value.shape, bool)
    evaluated[answers[:, TICK].astype(int) - 1, answers[:, QUERY].astype(int)] = True
    since = np.where(evaluated, np.arange(len(path))[:, None], 0)
    held = np.take_along_axis(value, np.maximum.accumulate(since, axis=0), axis=0)
    return Walked(np.abs(value - held) <= eps + 1e-9, evaluated, answers, memory)


EPS = 10.0


def _reading(*, var: float = 1.0, mu: float = 0.0, span: float = 1e6) -> Reading:
    return Reading(0.0, mu, var, span, 1, 0, 0.0, 0.0, 0.0)


def _memory(*, wait: float = 0.0, **kept: float) -> Memory:
    memory = fresh(1)
    memory.cell["regime"], memory.cell["value"], memory.cell["since"] = TIMER, 0.0, 0
    memory.cell["wait"], memory.cell["usual"] = wait, abs(wait)
    for name, number in kept.items():
        memory.cell[name] = number
    return memory


def _walks(n_moves: int, deviation: float, *, gap: int = 40, var: float = 1.0) -> Memory:
    """A cell that has seen moves over waits of one length."""
    rng, memory = np.random.default_rng(5), _memory(wait=float(gap))
    for move in deviation * np.sqrt(gap) * rng.normal(size=n_moves):
        learn(memory.cell[0], gap, move, var, EPS)
        memory.cell["evaluations"] += 1
    return memory


def _planned(memory: Memory, reading: Reading, **asked_for: float) -> float:
    cells = asked(1, EPS, 0.95, regime=TIMER)
    for name, number in asked_for.items():
        cells[name] = number
    return float(plan(memory.cell[0], cells[0], reading, EPS, 1.0, tables(0.95)))


def test_moves_as_foretold_leave_the_model_alone() -> None:
    usual, share, smooth = variance(_walks(300, 1.0).cell[0], _reading(), EPS)
    assert (share, smooth) == (1.0, 1.0)
    assert usual == pytest.approx(1.0, rel=1e-6)


def test_members_that_move_together_are_found_out() -> None:
    usual, _, _ = variance(_walks(300, 2.5, gap=4).cell[0], _reading(), EPS)
    assert usual == pytest.approx(6.25, rel=0.35)


def test_members_say_how_much_more_than_usual_they_move() -> None:
    memory = _walks(300, 1.0)
    usual, share, _ = variance(memory.cell[0], _reading(var=16.0), EPS)
    assert usual * share == pytest.approx(16.0, rel=0.2)
    _, share, smooth = variance(memory.cell[0], _reading(var=0.0), EPS)
    assert share == CALM
    assert smooth < 0.1, "a value that moves by leaps is not smooth"


def test_one_jump_weighs_as_so_many_widths() -> None:
    memory = _memory(wait=50.0)
    learn(memory.cell[0], 50, 1e9, 0.0, EPS)
    assert memory.cell["squares"][0] == (CLIP * EPS) ** 2


def test_ticks_without_rows_after_a_deadline_are_no_part_of_the_wait() -> None:
    memory = _memory(wait=50.0)
    learn(memory.cell[0], 5000, 7.0, 1.0, EPS)
    assert memory.cell["seen"][0] == memory.cell["foretold"][0] == 51.0


def test_a_value_that_is_not_known_teaches_nothing() -> None:
    memory = _memory(wait=50.0)
    learn(memory.cell[0], 50, np.nan, 1.0, EPS)
    learn(memory.cell[0], 0, 1.0, 1.0, EPS)
    assert memory.cell["seen"][0] == 0.0


def test_a_value_that_never_moved_is_not_trusted_for_ever() -> None:
    waits = [_planned(_memory(seen=seen), _reading(var=0.0, span=10.0)) for seen in (1e2, 1e4)]
    assert 1.0 <= waits[0] < 0.1 * 1e2 + 1.0
    assert waits[1] == pytest.approx(100.0 * waits[0], rel=0.3)


def test_waits_hold_the_mean_and_no_wait_leaps() -> None:
    assert _planned(_memory(seen=1e6), _reading()) == pytest.approx(47.4, rel=0.01)
    assert _planned(_memory(), _reading(var=1e-9, span=20.0)) == LEAP * 20.0
    assert 1.0 <= _planned(_memory(), _reading(var=1e9)) < 1.06, "at most once a tick"


def test_a_drift_counts_once_it_stands_out() -> None:
    still, moving = _reading(mu=0.0005, span=1e4), _reading(mu=1.0, span=1e4)
    assert _planned(_memory(), still) == pytest.approx(47.0, rel=0.01)
    assert _planned(_memory(), moving) < 12.0
    assert slope_of(_memory().cell[0], still) == 0.0
    assert slope_of(_memory().cell[0], moving) == 1.0
    assert _planned(_memory(slope=1.0), moving, trend=1) > 40.0


def test_misses_shorten_waits_and_hits_never_lengthen_them() -> None:
    memory = _memory(wait=47.0)
    for _ in range(50):
        compare(memory.cell[0], 47, False, _reading(), EPS)
    free = _planned(memory, _reading())
    assert memory.cell["trust"][0] == 0.0
    assert free == pytest.approx(47.4, rel=0.01)
    for _ in range(20):
        compare(memory.cell[0], 47, True, _reading(), EPS)
    assert corrected(memory.cell[0]) < 0.8
    assert _planned(memory, _reading()) == pytest.approx(free * corrected(memory.cell[0]), rel=1e-3)


def test_misses_as_often_as_the_model_has_it_change_nothing() -> None:
    rng, memory = np.random.default_rng(3), _memory(wait=46.6)
    for missed in np.abs(np.sqrt(46.6) * rng.normal(size=4000)) > EPS:
        compare(memory.cell[0], 46, missed, _reading(), EPS)
        memory.cell["evaluations"] += 1
    assert abs(memory.cell["trust"][0]) < SLACK


def test_only_looks_are_judged_by_the_share_of_time() -> None:
    ended, looked = _memory(wait=47.0), _memory(wait=-47.0)
    for memory in (ended, looked):
        judge(memory.cell[0], True, 0.95, False)
    assert ended.cell["trust"][0] == 0.0 > looked.cell["trust"][0]
    judge(ended.cell[0], True, 0.95, True)
    assert ended.cell["trust"][0] < 0.0, "a promise for all of the wait is judged at its end"


def test_deadlines_are_dithered_and_looks_fall_anywhere() -> None:
    memory, cells = _memory(), asked(1, EPS, 0.95, regime=TIMER)
    ends: list[int] = []
    looks: list[int] = []
    n = 16_000
    for number in range(n):
        memory.cell["evaluations"] = number
        due = int(next_due(memory.cell[0], cells[0], 100, 20.25, 1.0))
        (looks if memory.cell["wait"][0] < 0.0 else ends).append(due - 100)
    assert set(ends) == {20, 21}
    # Five standard errors: a false alarm of 6e-7.
    assert np.mean(ends) == pytest.approx(20.25, abs=5 * 0.433 / np.sqrt(len(ends)))
    share = 19.25 / 20.25 / LOOKS
    assert len(looks) == pytest.approx(share * n, abs=5 * np.sqrt(share * n))
    assert set(looks) == set(range(1, 21))
    assert np.mean(looks) == pytest.approx(10.1, abs=5 * 5.9 / np.sqrt(len(looks)))


@pytest.mark.parametrize("cut", [1, 7])
def test_answers_do_not_depend_on_how_ticks_are_cut(cut: int) -> None:
    rng = np.random.default_rng(9)
    path = np.cumsum(rng.normal(size=(700, 12)), axis=0)
    whole = walked(path, 4.0, 0.9, regime=TIMER, n_members=3)
    parts = walked(path, 4.0, 0.9, regime=TIMER, n_members=3, cut=cut)
    key = np.lexsort((parts.answers[:, QUERY], parts.answers[:, TICK]))
    same = np.lexsort((whole.answers[:, QUERY], whole.answers[:, TICK]))
    np.testing.assert_array_equal(parts.answers[key], whole.answers[same])
    assert parts.memory.cell.tobytes() == whole.memory.cell.tobytes()
    assert len(whole.answers) < 0.5 * 700 * 4
