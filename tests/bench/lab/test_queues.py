"""Queues that know the merge of all they hold: in order, and in few merges."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.lab.daba import Daba
from bench.lab.two_stacks import TwoStacks

pytestmark = pytest.mark.slow


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
