"""Changes of packed state make, of the state before, the state after: byte for byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamgauge.kernel.wire import Array, Packed, pack, unpack
from streamgauge.kernel.wire_changes import (
    BLOCK,
    KIND,
    VERSION,
    Blocks,
    Stored,
    apart,
    changes,
    compared,
    together,
)

KINDS = ("f8", "i4", "u1", "i8")


def random_array(dice: np.random.Generator, shape: tuple[int, ...]) -> Array:
    found: Array = dice.integers(0, 255, size=shape).astype(str(dice.choice(KINDS)))
    return found


def random_state(dice: np.random.Generator) -> dict[str, Array]:
    """Arrays with and without long rows, empty ones, ends that fill no block."""
    many = [(int(dice.integers(0, 5000)),), tuple(map(int, dice.integers(0, 300, 2)))]
    many += [tuple(map(int, dice.integers(0, 40, 3)))]
    many += [(int(dice.integers(1, 6)), int(dice.integers(900, 1500)), int(dice.integers(1, 3)))]
    return {f"a{n}": random_array(dice, shape) for n, shape in enumerate(many)}


def grown(dice: np.random.Generator, array: Array) -> Array:
    """Other numbers in a few places of an array, which may have another shape."""
    more = dice.integers(-3, 9, array.ndim) * (dice.random(array.ndim) < 0.5)
    out = np.zeros(
        [max(0, size + add) for size, add in zip(array.shape, more, strict=True)], array.dtype
    )
    common = tuple(map(slice, map(min, out.shape, array.shape)))
    out[common] = array[common]
    if out.size:
        out.reshape(-1)[dice.integers(0, out.size, 3)] = dice.integers(0, 100, 3)
    return out


@pytest.mark.parametrize("seed", range(30))
def test_state_is_what_its_changes_make_of_what_was_stored(seed: int) -> None:
    dice = np.random.default_rng(seed)
    live, names = random_state(dice), [str(n) for n in range(300)]
    first = pack(apart(Packed("shard", 4, {"names": names}, live)))
    stored = Stored.of(unpack(first, kind="shard", version=4))
    known: dict[str, Blocks] = stored.blocks()
    for number in range(1, 5):
        names = names + ["more"] * int(dice.integers(0, 3))
        live = {
            name: grown(dice, array) if dice.random() < 0.7 else array
            for name, array in live.items()
            if dice.random() < 0.95
        } | ({f"new{number}": random_array(dice, (50,))} if dice.random() < 0.3 else {})
        values: dict[str, Any] = {"names": names, "epoch": number, "inner": [{"one": names}]}
        packed = Packed("shard", 4, values, live)
        state = apart(packed)
        found = compared(state.arrays, known)
        data = pack(changes(state, found))
        known = found.stored_in(number)
        stored.change(unpack(data, kind=KIND, version=VERSION), number)
        assert pack(together(stored.packed)) == pack(packed)
        for name, blocks in stored.blocks().items():
            np.testing.assert_array_equal(blocks.hashes, known[name].hashes)
            np.testing.assert_array_equal(blocks.file, known[name].file)


def test_only_blocks_that_changed_are_stored() -> None:
    array = np.zeros((10, 10_000, 4))
    known = compared({"a": array}, {}).stored_in(0)
    array[3, 500, 1] = array[9, 9_999, 3] = 1.0
    assert compared({"a": array}, known).nbytes == 2 * BLOCK
    wider = np.zeros((10, 10_016, 4))
    wider[:, :10_000] = array
    assert compared({"a": wider}, known).nbytes == 2 * BLOCK + 10 * 2 * BLOCK


@pytest.mark.parametrize("bit", range(0, 64, 7))
def test_the_smallest_difference_is_seen(bit: int) -> None:
    """Sums and times differ in few bits, and two differences must not cancel out."""
    words = np.full(BLOCK // 8 * 64, np.float64(1024.0)).view(np.uint64)
    known = compared({"a": words}, {}).stored_in(0)
    for place in range(0, len(words), 32):
        words[place + 3] ^= np.uint64(1 << bit)
        words[place + 17] ^= np.uint64(1 << bit)
    assert compared({"a": words}, known).masks["a"].all()
