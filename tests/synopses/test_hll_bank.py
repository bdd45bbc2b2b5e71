"""A bank of HyperLogLogs is the sketches of its groups, however few or many items they hold."""

from __future__ import annotations

import numpy as np
import pytest

from streamgauge.synopses.bank import ListBank
from streamgauge.synopses.distinct.hll import Hll
from streamgauge.synopses.distinct.hll_bank import HllBank
from streamgauge.synopses.questions import Distinct


def rows_of(rng: np.random.Generator, n_groups: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of groups of very different sizes; some are nobody's."""
    groups = (rng.pareto(0.5, n) * 2).astype(np.int64)
    return np.where(groups < n_groups, groups, -1).astype(np.int32), rng.integers(0, 10**6, n)


def same(bank: HllBank, sketches: ListBank) -> None:
    found, expected = bank.bars(Distinct()), sketches.bars(Distinct())
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    assert bank.to_bytes() == sketches.to_bytes()


def again(bank: HllBank) -> HllBank:
    """The bank from its stored arrays, which are stored alike."""
    saved = {name: array.copy() for name, array in bank.save().items()}
    read = HllBank(bank.model, 0)
    read.restore({name: array.copy() for name, array in saved.items()})
    for name, array in read.save().items():
        np.testing.assert_array_equal(array, saved[name])
    return read


@pytest.mark.slow
@pytest.mark.parametrize("lg_k", [4, 8, 10, 13])
def test_a_bank_is_the_sketches_of_its_groups(lg_k: int) -> None:
    rng, model = np.random.default_rng(lg_k), Hll(lg_k)
    pairs = [(HllBank(model, 1), ListBank(model, 1)) for _ in range(2)]
    kinds = set()
    for step in range(24):
        for bank, sketches in pairs:
            groups, values = rows_of(rng, 10 + 5 * step, 40 * (step + 1))
            for one in (bank, sketches):
                one.resize(10 + 5 * step)
                one.update(groups, values)
            same(bank, sketches)
            kinds.add((bool((bank.held >= 0).any()), bool((bank.held < 0).any())))
        if step % 5 == 4:
            (bank, sketches), (other, others) = pairs
            bank.merge(other)
            sketches.merge(others)
            same(bank, sketches)
            pairs[0] = (again(bank), sketches)
            same(*pairs[0])
            loaded = HllBank(model, 0)
            loaded.load(bank.to_bytes())
            same(loaded, sketches)
            places = rng.permutation(bank.n_groups)
            moved = bank.placed(places, bank.n_groups).to_bytes()
            assert [moved[place] for place in places] == bank.to_bytes()
            some = places[: bank.n_groups // 2]
            assert bank.chosen(some).to_bytes() == [bank.to_bytes()[group] for group in some]
    assert (True, True) in kinds


def test_state_of_a_bank_with_registers_for_all_groups_is_read() -> None:
    """As earlier releases wrote it: a table of registers and a table of items."""
    rng, model, n = np.random.default_rng(2), Hll(8), 30
    bank, sketches = HllBank(model, n), ListBank(model, n)
    groups, values = rows_of(rng, n, 600)
    bank.update(groups, values)
    sketches.update(groups, values)
    singles = [sketches.held[group] for group in range(n)]
    old = HllBank(model, 0)
    old.restore(
        {
            "registers": np.stack([one.registers for one in singles]),
            "rows": np.array([one.rows for one in singles]),
            "few": np.concatenate([one.few for one in singles]),
            "held": np.concatenate([one.held for one in singles]),
        }
    )
    same(old, sketches)
    groups, values = rows_of(rng, n, 600)
    old.update(groups, values)
    sketches.update(groups, values)
    same(old, sketches)


def test_memory_follows_what_groups_hold() -> None:
    """One large group among ten thousand small ones."""
    model, n = Hll(16), 10_000
    bank = HllBank(model, n)
    bank.update(np.repeat(np.arange(n, dtype=np.int32), 3), np.arange(3 * n))
    assert bank.nbytes < 150 * n
    bank.update(np.zeros(10**5, np.int32), np.arange(10**5))
    assert bank.nbytes < 150 * n + 4 * 2**16
    bank.clear()
    assert bank.nbytes < 50 * n
    assert not bank.bars(Distinct()).value.any()
