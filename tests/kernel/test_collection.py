"""The collector is left out for a while, and comes back whatever happens."""

from __future__ import annotations

import gc

import pytest

from streamgauge.kernel.collection import set_aside, uncollected


def _broken() -> None:
    with uncollected():
        assert not gc.isenabled()
        raise ValueError("broken")


def test_the_collector_comes_back_after_a_failure() -> None:
    with pytest.raises(ValueError, match="broken"):
        _broken()
    assert gc.isenabled()


def test_one_within_another_does_not_bring_it_back_early() -> None:
    with uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_has_turned_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.slow
def test_what_lives_long_is_not_looked_through_again() -> None:
    held: list[list[int]] = [[] for _ in range(100_000)]
    set_aside()
    try:
        assert gc.get_freeze_count() > len(held)
        assert len(gc.get_objects()) < 50_000
    finally:
        gc.unfreeze()
