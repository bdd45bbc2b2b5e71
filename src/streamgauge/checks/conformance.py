"""Conformance: laws that every synopsis keeps, whatever it summarises.

Each check takes a kind of synopsis and a column of whole numbers and raises AssertionError where a
law is broken. `CHECKS` lists them all; run them on a synopsis of your own::

    for check in CHECKS:
        check(MySynopsis, np.array([3, 1, 2, 2]))
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.checks.probes import probes
from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.errors import BindError, IncompatibleSynopsis, StateTooOld, StreamgaugeError
from streamgauge.synopses.bank import bank_of
from streamgauge.synopses.questions import HeavyHitters, Question, TopK
from streamgauge.synopses.synopsis import Coarsening, Expiring, Subtractable, Synopsis

Column = npt.NDArray[np.int64]
Kind = type[Synopsis]
SEED = 11


def built(kind: Kind, column: Column, start: int = 0, *, seed: int = SEED) -> Synopsis:
    """The specimen of a kind, fed a column; times are row numbers from `start`."""
    synopsis = kind.specimen(seed)
    feed(synopsis, column, start)
    return synopsis


def feed(synopsis: Synopsis, column: Any, start: int = 0) -> None:
    """Fold a column, with row numbers as times where the synopsis expires."""
    times = np.arange(start, start + len(column)) if isinstance(synopsis, Expiring) else None
    synopsis.update(column, None, times)
    if times is not None and len(times):
        synopsis.advance(int(times[-1]))  # type: ignore[attr-defined]


def answers(synopsis: Synopsis, column: Column) -> list[Any]:
    """Answers to one question of each kind."""
    rng = np.random.default_rng(5)
    return [synopsis.query(question) for question in probes(type(synopsis), column, rng)]


def same(one: Any, two: Any) -> bool:
    """Whether two answers are equal up to the rounding of sums."""
    if isinstance(one, Estimate):
        pairs = ((one.value, two.value), (one.low, two.low), (one.high, two.high))
        return all(
            math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or a == b or (a != a and b != b)
            for a, b in pairs
        )
    return len(one) == len(two) and all(
        a.item == b.item and same(a.weight, b.weight) for a, b in zip(one, two, strict=True)
    )


def all_same(one: list[Any], two: list[Any]) -> bool:
    """Whether all answers are equal."""
    return all(same(a, b) for a, b in zip(one, two, strict=True))


def holds(kind: Kind, synopsis: Synopsis, column: Column) -> None:
    """Assert that every bar holds, for synopses that cannot fail."""
    if synopsis.guarantee.delta > 0.0:
        return
    weights = np.ones(len(column))
    if isinstance(synopsis, Expiring):
        weights = synopsis.weights_at(np.arange(len(column)), len(column) - 1)
    alive = weights != 0.0
    rng = np.random.default_rng(6)
    for question in probes(kind, column, rng):
        result = synopsis.query(question)
        assert not question.broken_by(result, column[alive], weights[alive]), (
            f"{synopsis!r} breaks {question}: {result}"
        )


def merging_parts(kind: Kind, column: Column) -> None:
    """Parts put together answer like the whole, or within their bars; an empty part is neutral."""
    cut = len(column) // 3
    whole, part = built(kind, column), built(kind, column[:cut])
    rest = built(kind, column[cut:], cut)
    if kind.merging == "none":
        assert raises(IncompatibleSynopsis, part.merge, rest)
        return
    before = answers(part, column)
    part.merge(part.empty())
    assert all_same(before, answers(part, column)), "an empty part is not neutral"
    part.merge(rest)
    part.validate()
    assert (part.rows, part.mass) == (whole.rows, whole.mass)
    if kind.merging == "exact":
        assert all_same(answers(part, column), answers(whole, column)), "parts differ from whole"
        other = built(kind, column[cut:], cut)
        other.merge(built(kind, column[:cut]))
        assert all_same(answers(other, column), answers(whole, column)), "merging does not commute"
    holds(kind, part, column)


def splitting(kind: Kind, column: Column) -> None:
    """How rows are cut into batches does not change what is sworn."""
    whole, pieces = built(kind, column), kind.specimen(SEED)
    for start in range(0, len(column), 7):
        feed(pieces, column[start : start + 7], start)
    pieces.validate()
    assert (whole.rows, whole.mass) == (pieces.rows, pieces.mass)
    if kind.merging == "exact":
        assert all_same(answers(pieces, column), answers(whole, column))
    holds(kind, pieces, column)


def replaying(kind: Kind, column: Column) -> None:
    """The same rows and seed give the same bytes."""
    if kind.repeatable:
        assert built(kind, column).to_bytes() == built(kind, column).to_bytes()


def bytes_round_trip(kind: Kind, column: Column) -> None:
    """Bytes say everything: what is read back writes the same bytes and answers the same."""
    first = built(kind, column)
    data = first.to_bytes()
    back = kind.from_bytes(data)
    assert back.to_bytes() == data
    assert all_same(answers(back, column), answers(first, column))
    feed(back, column, len(column))
    assert first.to_bytes() == data, "a copy shares state with what it was copied from"


def damaged_bytes(kind: Kind, column: Column) -> None:
    """Cut or changed bytes are refused, never read."""
    data = built(kind, column).to_bytes()
    for size in sorted({0, 3, 9, 20, len(data) // 2, len(data) - 1}):
        assert raises(StateTooOld, kind.from_bytes, data[:size]), f"{size} bytes were read"
    for place in range(0, len(data), max(1, len(data) // 13)):
        changed = bytearray(data)
        changed[place] ^= 0x55
        assert raises(StateTooOld, kind.from_bytes, bytes(changed)), f"byte {place} was changed"


def subtracting(kind: Kind, column: Column) -> None:
    """Taking a part away undoes its merge."""
    if not issubclass(kind, Subtractable):
        return
    cut = len(column) // 2
    first: Any = built(kind, column[:cut])
    before = answers(first, column)
    rest: Any = built(kind, column[cut:], cut)
    first.merge(rest)
    first.subtract(rest)
    first.validate()
    assert all_same(answers(first, column), before)


def deleting(kind: Kind, column: Column) -> None:
    """Rows put in and taken back leave no trace in what is sworn."""
    if kind.weights not in ("strict", "any") or issubclass(kind, Expiring):
        return
    synopsis = built(kind, column)
    gone = column[: len(column) // 2]
    synopsis.update(gone, -np.ones(len(gone)))
    synopsis.validate()
    holds(kind, synopsis, column[len(gone) :])


def coarsening(kind: Kind, column: Column) -> None:
    """A coarser one is smaller and keeps its weaker promise."""
    if not issubclass(kind, Coarsening):
        return
    fine: Any = built(kind, column)
    coarse = fine.coarsened()
    coarse.validate()
    assert coarse.nbytes <= fine.nbytes
    assert coarse.guarantee.epsilon >= fine.guarantee.epsilon
    holds(kind, coarse, column)


def bad_input(kind: Kind, column: Column) -> None:
    """Nulls are left out and counted; what cannot be right is refused and changes nothing."""
    clean, dirty = built(kind, column), kind.specimen(SEED)
    floats = np.concatenate([column.astype(np.float64), [np.nan, np.nan]])
    whole = [*column.tolist(), None, None]
    feed(dirty, floats if kind.takes == "numbers" else whole)
    assert dirty.skipped == 2
    assert dirty.rows == clean.rows
    data = clean.to_bytes()
    feed(clean, np.empty(0))
    assert clean.to_bytes() == data, "an empty column changed the state"
    assert raises(BindError, clean.update, column, np.ones(len(column) + 1))
    if kind.weights in ("none", "positive") and len(column):
        assert raises(BindError, clean.update, column, -np.ones(len(column)))
    if len(column):
        assert raises(BindError, clean.update, column, np.full(len(column), np.nan))
    assert clean.to_bytes() == data, "a refused column changed the state"
    assert raises(IncompatibleSynopsis, clean.query, Question())
    assert raises(IncompatibleSynopsis, clean.merge, built(kind, column, seed=SEED + 1))


def of_nothing(kind: Kind, column: Column) -> None:
    """No rows and one row are streams too."""
    none, one = kind.specimen(SEED), built(kind, column[:1])
    for synopsis in (none, one):
        synopsis.validate()
        answers(synopsis, column)
        holds(kind, synopsis, column[: synopsis.rows])


def grouping(kind: Kind, column: Column) -> None:
    """A bank answers like one synopsis for each group, and its bytes are theirs."""
    if issubclass(kind, Expiring):
        return
    groups = (np.arange(len(column)) % 3 - 1).astype(np.int32)  # a third is nobody's
    model = kind.specimen(SEED)
    bank = bank_of(model, 2)
    bank.update(groups, column)
    for group in (0, 1):
        alone = built(kind, column[groups == group])
        held = bank.synopsis(group)
        assert held.rows == alone.rows
        if kind.repeatable:
            assert all_same(answers(held, column), answers(alone, column))
    for question in probes(kind, column, np.random.default_rng(7)):
        if not isinstance(question, HeavyHitters | TopK):
            bars = bank.bars(question)
            told = bank.synopsis(1).query(question)
            assert same(Estimate(bars.value[1], bars.low[1], bars.high[1]), told)
    fresh, stored = bank_of(model, 0), bank_of(model, 0)
    fresh.load(bank.to_bytes())
    assert fresh.to_bytes() == bank.to_bytes()
    stored.restore(bank.save())
    assert stored.to_bytes() == bank.to_bytes()
    stored.update(groups, column)
    bank.update(groups, column)
    if kind.repeatable:
        assert stored.to_bytes() == bank.to_bytes(), "a stored bank goes on differently"
    moved = bank.placed(np.array([2, 0]), 3)
    assert moved.to_bytes() == [bank.to_bytes()[1], b"", bank.to_bytes()[0]]


def raises(error: type[StreamgaugeError], call: Any, *given: Any) -> bool:
    """Whether a call raises this error, with all of its three parts."""
    try:
        call(*given)
    except error as told:
        return bool(told.what and told.detail and told.hint)
    return False


CHECKS = (
    merging_parts,
    splitting,
    replaying,
    bytes_round_trip,
    damaged_bytes,
    subtracting,
    deleting,
    coarsening,
    bad_input,
    of_nothing,
    grouping,
)
