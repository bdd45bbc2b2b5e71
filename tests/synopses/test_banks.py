"""Groups of a bank that are chosen, or put beside others, are those that they were."""

from __future__ import annotations

import numpy as np
import pytest

from streamgauge.synopses import REGISTRY
from streamgauge.synopses.bank import Bank, bank_of
from tests.library import REACHED

pytestmark = pytest.mark.slow

SIZES = (40, 3, 0, 900, 1, 3_000)


def filled(name: str) -> Bank:
    """Groups of very different sizes, one of them empty, whose rows came in turns."""
    dice = np.random.default_rng(5)
    groups = dice.permutation(np.repeat(np.arange(len(SIZES), dtype=np.int32), SIZES))
    bank = bank_of(REGISTRY[name].specimen(7), len(SIZES))
    column = dice.zipf(1.3, len(groups)) % 2_000
    for part in np.array_split(np.arange(len(groups)), 3):
        bank.update(groups[part], column[part])
    return bank


@pytest.mark.parametrize("name", sorted(REACHED))
def test_chosen_groups_are_those_they_were(name: str) -> None:
    bank = filled(name)
    data = bank.to_bytes()
    for chosen in ([], [2], [1], [0, 3], [4, 5], [1, 2, 4, 5], list(range(len(SIZES)))):
        some = bank.chosen(np.array(chosen, np.int64))
        assert some.n_groups == len(chosen)
        assert some.to_bytes() == [data[group] for group in chosen]


@pytest.mark.parametrize("name", sorted(n for n in REACHED if REGISTRY[n].repeatable))
def test_chosen_groups_go_on(name: str) -> None:
    chosen = np.array([1, 2, 3, 5])
    whole, some = filled(name), filled(name).chosen(chosen)
    codes = np.arange(200, dtype=np.int32) % len(chosen)
    some.update(codes, np.arange(200) * 7)
    whole.update(chosen.astype(np.int32)[codes], np.arange(200) * 7)
    data = whole.to_bytes()
    assert some.to_bytes() == [data[group] for group in chosen.tolist()]


@pytest.mark.parametrize("name", sorted(REACHED))
def test_groups_beside_others_are_those_they_were(name: str) -> None:
    bank = filled(name)
    first, rest = (bank.chosen(np.array(part)) for part in ([0, 1, 2], [3, 4, 5]))
    assert first.beside(rest).to_bytes() == bank.to_bytes()
    assert rest.beside(first).to_bytes() == [*rest.to_bytes(), *first.to_bytes()]
