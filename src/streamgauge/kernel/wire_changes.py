"""Changes of packed state: the blocks of its arrays that differ from what was stored before.

Arrays are taken apart into rows (the first axis, where its rows are long) and rows into blocks, so
that an array that grows along its first two axes keeps the blocks it had. What is remembered of
stored state is a hash of each block, not the block.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.kernel.wire import Array, Packed

KIND = "changes"
VERSION = 1
BLOCK = 256
# Rows that are shorter are not told apart: an array of them is one row.
LONG_ROW = 4096
# A list of so many plain values is stored like an array, so that a few new ones are a few blocks.
LONG_LIST = 256
_WORD = 8
_LIST = "\0list"
_LISTS = "\0lists"

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)


@dataclass(slots=True)
class Blocks:
    """Blocks of one array as they are stored: their hashes, and the number of the file of each."""

    hashes: Words
    file: npt.NDArray[np.int32]


@dataclass(slots=True)
class Changed:
    """Arrays beside what is stored of them: their blocks, and those that are not stored."""

    blocks: dict[str, Blocks] = field(default_factory=dict)
    masks: dict[str, Mask] = field(default_factory=dict)

    def since(self, number: int) -> Changed:
        """Those that are in a file of this number or a later one as well."""
        masks = {
            name: mask | (self.blocks[name].file >= number) for name, mask in self.masks.items()
        }
        return Changed(self.blocks, masks)

    def with_blocks_of(self, number: int, nbytes: int) -> Changed:
        """Those, and so many bytes of the blocks that the file of this number alone has."""
        left, masks = nbytes // BLOCK, {}
        for name, mask in self.masks.items():
            held = np.flatnonzero((self.blocks[name].file == number) & ~mask)[: max(left, 0)]
            masks[name] = mask.copy()
            masks[name].reshape(-1)[held] = True
            left -= len(held)
        return Changed(self.blocks, masks)

    @property
    def nbytes(self) -> int:
        """Bytes of the changed blocks, at most."""
        return BLOCK * sum(int(mask.sum()) for mask in self.masks.values())

    def stored_in(self, number: int) -> dict[str, Blocks]:
        """The blocks, once the changed ones are in the file of this number."""
        for name, mask in self.masks.items():
            self.blocks[name].file[mask] = number
        return self.blocks


def files_in_use(stored: Mapping[str, Blocks]) -> set[int]:
    """Numbers of the files that have some block.

    >>> file = np.array([[7, 9, 7]], np.int32)
    >>> sorted(files_in_use({"a": Blocks(np.zeros((1, 3), np.uint64), file)}))
    [7, 9]
    """
    numbers = [blocks.file.reshape(-1) for blocks in stored.values() if blocks.file.size]
    if not numbers:
        return set()
    least = min(int(each.min()) for each in numbers)
    found = [np.flatnonzero(np.bincount(each - least)) for each in numbers]
    return set((np.concatenate(found) + least).tolist())


def apart(packed: Packed) -> Packed:
    """The same state with long lists of plain values among its arrays.

    >>> packed = Packed("shard", 1, {"names": [str(n) for n in range(1000)]})
    >>> [array.nbytes for array in apart(packed).arrays.values()]
    [5891]
    >>> together(apart(packed)) == packed
    True
    """
    arrays = dict(packed.arrays)
    values = {key: _apart(value, f"/{key}", arrays) for key, value in packed.values.items()}
    return Packed(packed.kind, packed.version, values, arrays)


def _apart(value: Any, path: str, arrays: dict[str, Array]) -> Any:
    if isinstance(value, dict):
        return {key: _apart(item, f"{path}/{key}", arrays) for key, item in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) < LONG_LIST:
        return [_apart(item, f"{path}/{place}", arrays) for place, item in enumerate(value)]
    name = f"{_LISTS}{path}"
    text = json.dumps(value, separators=(",", ":")).encode()
    arrays[name] = np.frombuffer(text, np.uint8)
    return {_LIST: name}


def together(packed: Packed) -> Packed:
    """State with its lists among its values again."""
    arrays = {name: a for name, a in packed.arrays.items() if not name.startswith(_LISTS)}
    values = {key: _together(value, packed.arrays) for key, value in packed.values.items()}
    return Packed(packed.kind, packed.version, values, arrays)


def _together(value: Any, arrays: dict[str, Array]) -> Any:
    if isinstance(value, list):
        return [_together(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if _LIST in value:
        return json.loads(arrays[value[_LIST]].tobytes())
    return {key: _together(item, arrays) for key, item in value.items()}


def compared(arrays: dict[str, Array], known: dict[str, Blocks]) -> Changed:
    """Arrays beside the blocks that are known to be stored."""
    found = Changed()
    for name, array in arrays.items():
        hashes = _hashes(_rows(array))
        old = known.get(name)
        if old is not None and old.hashes.shape == hashes.shape:
            found.blocks[name] = Blocks(hashes, old.file.copy())
            found.masks[name] = hashes != old.hashes
            continue
        file = np.zeros(hashes.shape, np.int32)
        changed = np.ones(hashes.shape, np.bool_)
        if old is not None:
            common = tuple(map(slice, map(min, hashes.shape, old.hashes.shape)))
            changed[common] = hashes[common] != old.hashes[common]
            _onto(file, old.file)
        found.blocks[name] = Blocks(hashes, file)
        found.masks[name] = changed
    return found


def changes(packed: Packed, changed: Changed) -> Packed:
    """What is to be stored of state, beside what is: the changed blocks and where they belong."""
    table: list[Any] = []
    places: list[Array] = []
    whole: list[Bytes] = []
    ends: list[Bytes] = []
    for name, array in packed.arrays.items():
        mask, code = changed.masks[name], array.dtype.str.lstrip("<|=")
        if not mask.any():
            table.append([name, code, list(array.shape), 0, 0])
            continue
        rows = _rows(array)
        full = rows.shape[1] // BLOCK
        at, last = np.nonzero(mask[:, :full]), np.flatnonzero(mask[:, full:])
        table.append([name, code, list(array.shape), len(at[0]), len(last)])
        places += [at[0] * full + at[1], last]
        whole.append(_blocks(rows)[at].reshape(-1))
        ends.append(rows[last, full * BLOCK :].reshape(-1))
    values = {
        "kind": packed.kind, "version": packed.version, "values": packed.values, "arrays": table,
    }  # fmt: skip
    arrays = {
        "places": np.concatenate([np.empty(0, np.int64), *places]),
        "blocks": np.concatenate([np.empty(0, np.uint8), *whole]),
        "ends": np.concatenate([np.empty(0, np.uint8), *ends]),
    }
    return Packed(KIND, VERSION, values, arrays)


@dataclass(slots=True)
class Stored:
    """State as files of changes make it, and the number of the file that each block is in."""

    packed: Packed
    files: dict[str, npt.NDArray[np.int32]] = field(default_factory=dict)

    @classmethod
    def of(cls, packed: Packed) -> Stored:
        """State that is in one file, of number 0, as a whole."""
        shapes = {name: _shape(_rows(array)) for name, array in packed.arrays.items()}
        return cls(packed, {name: np.zeros(shape, np.int32) for name, shape in shapes.items()})

    def change(self, change: Packed, number: int) -> None:
        """Make the changes of a file; arrays are changed in their place."""
        places, blocks, ends = (change.arrays[name] for name in ("places", "blocks", "ends"))
        arrays: dict[str, Array] = {}
        files: dict[str, npt.NDArray[np.int32]] = {}
        n_places = n_bytes = n_last = 0
        for name, code, shape, n_blocks, n_ends in change.values["arrays"]:
            rows, file = self._widened(name, code, shape)
            full, rest = divmod(rows.shape[1], BLOCK)
            if n_blocks:
                where = np.divmod(places[n_places : n_places + n_blocks], full)
                given = blocks[n_bytes : n_bytes + n_blocks * BLOCK]
                _blocks(rows)[where] = given.reshape(n_blocks, BLOCK)
                file[where] = number
            if n_ends:
                last = places[n_places + n_blocks : n_places + n_blocks + n_ends]
                given = ends[n_last : n_last + n_ends * rest]
                rows[last, full * BLOCK :] = given.reshape(n_ends, rest)
                file[last, full] = number
            n_places += n_blocks + n_ends
            n_bytes += n_blocks * BLOCK
            n_last += n_ends * rest
            arrays[name] = rows.reshape(-1).view("<" + code).reshape(shape)
            files[name] = file
        told = change.values
        self.packed = Packed(told["kind"], told["version"], told["values"], arrays)
        self.files = files

    def _widened(
        self, name: str, code: str, shape: Sequence[int]
    ) -> tuple[Bytes, npt.NDArray[np.int32]]:
        """An array of this shape with what there is of it, in rows, and the files of its blocks."""
        nbytes = math.prod(shape) * np.dtype(code).itemsize
        n_rows = _n_rows(shape, nbytes)
        old = self.packed.arrays.get(name)
        rows = np.zeros((0, 0), np.uint8) if old is None else _rows(old)
        file = self.files.get(name, np.zeros((0, 0), np.int32))
        if rows.shape == (n_rows, nbytes // n_rows):
            return rows, file
        wider = np.zeros((n_rows, nbytes // n_rows), np.uint8)
        return _onto(wider, rows), _onto(np.zeros(_shape(wider), np.int32), file)

    def blocks(self) -> dict[str, Blocks]:
        """What is stored of each array."""
        return {
            name: Blocks(_hashes(_rows(array)), self.files[name])
            for name, array in self.packed.arrays.items()
        }


def _onto(new: npt.NDArray[T], old: npt.NDArray[T]) -> npt.NDArray[T]:
    """A new array with what it has in common with an old one."""
    common = tuple(map(slice, map(min, new.shape, old.shape)))
    new[common] = old[common]
    return new


def _n_rows(shape: Any, nbytes: int) -> int:
    many = len(shape) > 1 and shape[0] > 0 and nbytes >= LONG_ROW * shape[0]
    return int(shape[0]) if many else 1


def _rows(array: Array) -> Bytes:
    """The bytes of an array in rows."""
    n_rows = _n_rows(array.shape, array.nbytes)
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return flat.reshape(n_rows, len(flat) // n_rows)


def _blocks(rows: Bytes) -> Bytes:
    """The full blocks of rows; a view."""
    n_rows, size = rows.shape
    shape = (n_rows, size // BLOCK, BLOCK)
    return np.lib.stride_tricks.as_strided(rows, shape, (size, BLOCK, 1))


def _shape(rows: Bytes) -> tuple[int, int]:
    """Rows and blocks of each."""
    return len(rows), -(-rows.shape[1] // BLOCK)


def _hashes(rows: Bytes) -> Words:
    """A hash of each block; the last of a row may be shorter."""
    n_rows, size = rows.shape
    out = np.empty(_shape(rows), np.uint64)
    if size % _WORD:
        padded = np.zeros((n_rows, size + -size % _WORD), np.uint8)
        padded[:, :size] = rows
        rows = padded
    words = rows.view(np.uint64)
    _mix(words if words.flags.aligned else words.copy(), size, _FACTORS, _OTHERS, out)
    return out


@compiled
def _mix(words: Words, size: int, factors: Words, others: Words, out: Words) -> None:
    """Hash the words of each block, each by its place in it."""
    n_words = words.shape[1]
    for row in range(out.shape[0]):
        for block in range(out.shape[1]):
            start = block * len(factors)
            total = np.uint64(0)
            for place in range(min(len(factors), n_words - start)):
                mixed = words[row, start + place]
                mixed = (mixed ^ (mixed >> np.uint64(32))) * factors[place]
                mixed = (mixed ^ (mixed >> np.uint64(29))) * others[place]
                total += mixed ^ (mixed >> np.uint64(32))
            rest = size - start * _WORD
            if rest < BLOCK:
                # Ends that differ in length alone are not the same.
                total ^= factors[0] * np.uint64(rest)
            out[row, block] = total


def _odd(first: int) -> Words:
    """Odd factors that have nothing in common: the numbers of SplitMix64."""
    words = np.arange(first, first + BLOCK // _WORD, dtype=np.uint64)
    words *= np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (words ^ (words >> np.uint64(31))) | np.uint64(1)


_FACTORS = _odd(1)
_OTHERS = _odd(1000)
