"""What is held of a budget, and how large that is where nobody says."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.kernel import memory
from streamgauge.kernel.errors import BindError, MemoryExceeded
from streamgauge.kernel.memory import (
    Ledger,
    allowance,
    ask_for,
    bytes_of,
    claimed,
    in_force,
    machine_memory,
    working_for,
)


def test_claims_add_up_and_are_given_back() -> None:
    ledger = Ledger(100)
    with in_force(ledger):
        one, other = claimed(), claimed()
        one.ask(60)
        other.ask(40)
        with pytest.raises(MemoryExceeded, match="state needs more memory"):
            other.ask(41)
        assert (ledger.held, other.held) == (100, 40)
        one.ask(10)
        ask_for(50)
        with pytest.raises(MemoryExceeded):
            ask_for(51)
        assert ledger.held == 50
    del one, other
    assert ledger.held == 0


def test_an_error_names_the_queries_at_work_and_only_those() -> None:
    names = [f"q{n}" for n in range(5)]
    with in_force(Ledger(10)):
        with working_for(lambda: names), pytest.raises(MemoryExceeded) as caught:
            claimed().ask(11)
        assert caught.value.what == (
            "query 'q0', 'q1', 'q2' and 2 more that share its state needs more memory than it may "
            "have"
        )
        assert caught.value.queries == tuple(names)
        with pytest.raises(MemoryExceeded) as caught:
            claimed().ask(11)
        assert caught.value.queries == ()


def test_a_container_says_what_it_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = (tmp_path / "memory.max", tmp_path / "absent")
    monkeypatch.setattr(memory, "_LIMITS", limits)
    for text, expected in (("1073741824\n", 1 << 30), ("max\n", None)):
        limits[0].write_text(text)
        machine_memory.cache_clear()
        found = machine_memory()
        assert found == expected if expected else found > 1 << 28
    machine_memory.cache_clear()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("512m", 512 << 20),
        ("8G", 8 << 30),
        ("8 GiB", 8 << 30),
        ("2gb", 2 << 30),
        (1 << 20, 1 << 20),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str | int, number: int) -> None:
    assert bytes_of(text) == number


@pytest.mark.parametrize("text", ["", "8", "g", "-8g", "8x", "1.5g", "100k"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(BindError, match="cannot read the memory"):
        bytes_of(text)


def test_half_of_the_machine_is_for_state() -> None:
    assert allowance(None, 1) == machine_memory() // 2
    assert allowance(None, 10**9) == memory.SMALLEST
