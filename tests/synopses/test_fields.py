"""Arguments, bytes, merging and taking back follow from what a synopsis declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.wire import Packed, pack, unpack
from streamgauge.synopses.questions import Count
from streamgauge.synopses.synopsis import Floats, Ints, Subtractable, Synopsis


class Tally(Synopsis):
    """A column and a plain value."""

    name = "tally"
    answers = (Count,)
    fields: Any = ("counts", "latest")

    def __init__(self, size: int, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.size = size
        self.counts = np.zeros(size)
        self.latest = None

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("relative", 0.0)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        self.counts += np.bincount(column.astype(np.int64), weights, self.size)
        self.latest = float(column[-1])

    def _answer(self, question: Any) -> Any:
        return self._bar(self.mass, self.mass, self.mass)


class Deeper(Tally):
    """Columns of its own beside those of its base."""

    name = "deeper"
    fields = ("extra",)

    def __init__(self, size: int, *, seed: int = 0) -> None:
        super().__init__(size, seed=seed)
        self.extra = np.ones(2)


class Added(Synopsis, Subtractable):
    """One column, which is added."""

    name = "added"
    weights = "strict"
    fields = ("counts",)
    joined_by = np.add

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.counts = np.zeros(4)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("relative", 0.0)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        self.counts += np.bincount(column.astype(np.int64), weights, 4)

    def _answer(self, question: Any) -> Any:
        raise NotImplementedError


def test_columns_are_merged_and_taken_back() -> None:
    one, other = Added(), Added()
    one.update([0, 1])
    other.update([1, 3], [2.0, 5.0])
    one.merge(other)
    assert one.counts.tolist() == [1, 3, 0, 5]
    one.subtract(other)
    assert (one.counts.tolist(), one.rows) == ([1, 1, 0, 0], 2)
    assert other.counts.tolist() == [0, 2, 0, 5]


def test_arguments_and_state_follow_from_the_declaration() -> None:
    tally = Tally(4, seed=3)
    tally.update([1, 1, 3])
    again = Tally.from_bytes(tally.to_bytes())
    assert again.parameters == {"size": 4}
    assert (again.seed, again.latest, again.counts.tolist()) == (3, 3.0, [0, 2, 0, 1])
    assert again.counts is not tally.counts


def test_the_state_of_a_base_comes_after_its_own() -> None:
    packed = unpack(Deeper(2).to_bytes(), kind="deeper", version=1)
    assert list(packed.arrays) == ["extra", "counts"]
    assert packed.values["own"] == {"latest": None}


def test_names_that_are_not_declared_are_not_taken_from_bytes() -> None:
    packed = unpack(Tally(2).to_bytes(), kind="tally", version=1)
    own = {**packed.values["own"], "_answer": "no function"}
    forged = pack(Packed("tally", 1, {**packed.values, "own": own}, packed.arrays))
    assert Tally.from_bytes(forged).query(Count()).value == 0.0


def test_a_kind_that_does_not_say_how_it_is_joined_is_found() -> None:
    with pytest.raises(AssertionError, match="tally says how it is joined"):
        Tally(2).merge(Tally(2))
