"""Files of the state of a shard: a whole, and files of what has changed since.

A page writes the blocks of arrays that it has changed. Files of changes are put together level by
level while that takes few bytes. Once the files have twice the bytes of the state, each page also
writes some blocks that only the oldest file has, until nobody needs that file. So the bytes that a
page writes follow what it changes, and reading follows the size of the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from streamgauge.kernel import wire_changes
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import reading, write_whole
from streamgauge.kernel.wire import Packed, kind_of, pack, unpack
from streamgauge.kernel.wire_changes import (
    Blocks,
    Changed,
    Stored,
    apart,
    compared,
    files_in_use,
    together,
)
from streamgauge.log.commits import state_files
from streamgauge.log.home import Home

# State of fewer bytes is written whole by each page.
SMALL = 1 << 18
# So many files of changes of one size become one.
FAN = 8
LEAST = 1 << 16
# From so many files on, fewer become one.
MANY = 64
# What a page may write again of what is stored: so many bytes, this share of the state, or as much
# as it changes. Larger files of changes are few beside the state, and stay as they are.
ROOM = 1 << 21
SHARE = 64


@dataclass(slots=True)
class StateFiles:
    """What is stored of a shard's state: files, the oldest first, and which has each block.

    The first is the state as a whole until all of its blocks are in later files as well.

    Parameters
    ----------
    names
        Files below the data directory.
    sizes, numbers
        Bytes of each, and its number among all that were written since the whole.
    blocks
        Blocks of the arrays; None where the state is small, and each page writes all of it.
    nbytes
        Bytes of the state.
    """

    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    blocks: dict[str, Blocks] | None = None
    nbytes: int = 0

    def counts(self, home: Home, epoch: int, shard: int) -> bool:
        """Whether these are the files that a commit lists."""
        if epoch == 0:
            return not self.names
        return [home.root / name for name in self.names] == state_files(home, epoch, shard)


def write_state(path: Path, home: Home, packed: Packed, before: StateFiles) -> StateFiles:
    """Write state, or what has changed of it, to a new file."""
    if before.blocks is None:
        return _written_whole(path, home, packed)
    state = apart(packed)
    changed = compared(state.arrays, before.blocks)
    size = sum(array.nbytes for array in state.arrays.values())
    room = max(ROOM, size // SHARE, changed.nbytes)
    most = changed.nbytes + room
    keep = _kept(before.sizes, changed.nbytes, room)
    if keep < len(before.sizes):
        changed = changed.since(before.numbers[keep])
    if sum(before.sizes[:keep]) + changed.nbytes > 2 * size + SMALL:
        changed = changed.with_blocks_of(before.numbers[0], most - changed.nbytes)
    if 2 * changed.nbytes > size:
        return _written_whole(path, home, packed)
    return _written_changes(path, home, state, changed, before, keep)


def _written_changes(
    path: Path, home: Home, state: Packed, changed: Changed, before: StateFiles, keep: int
) -> StateFiles:
    """Write blocks to a file of their own; files that nobody needs any more are let go."""
    data = pack(wire_changes.changes(state, changed))
    write_whole(path, data)
    number = before.numbers[-1] + 1
    blocks = changed.stored_in(number)
    needed = files_in_use(blocks)
    kept = [place for place in range(keep) if before.numbers[place] in needed]
    return StateFiles(
        [*(before.names[place] for place in kept), home.file_of(path)],
        [*(before.sizes[place] for place in kept), len(data)],
        [*(before.numbers[place] for place in kept), number],
        blocks,
        sum(array.nbytes for array in state.arrays.values()),
    )


def _written_whole(path: Path, home: Home, packed: Packed) -> StateFiles:
    data = pack(packed)
    size = len(data)
    write_whole(path, data)
    del data
    blocks = None
    if size >= SMALL:
        blocks = compared(apart(packed).arrays, {}).stored_in(0)
    return StateFiles([home.file_of(path)], [size], [0], blocks, size)


def _kept(sizes: Sequence[int], nbytes: int, room: int) -> int:
    """How many files stay as they are when changes of so many bytes are added to the rest.

    Some files of one level are put together if there is room for them; where there are many files
    in all, as soon as they take half of it.
    """
    keep, left = len(sizes), room
    few = len(sizes) < MANY
    while True:
        first = keep
        while first > 1 and _level(sizes[first - 1]) <= _level(nbytes):
            first -= 1
        run = sum(sizes[first:keep])
        if run > left or (keep - first < FAN - 1 and (few or 2 * run < room)):
            return keep
        nbytes, left = nbytes + run, left - run
        keep = first


def _level(nbytes: int) -> int:
    """Sizes of one level differ by less than the number of files that become one."""
    return (nbytes // LEAST).bit_length() // (FAN.bit_length() - 1)


def read_packed(
    home: Home, epoch: int, shard: int, *, kind: str, version: int, remember: bool = False
) -> tuple[Packed, StateFiles]:
    """State of a shard after a committed epoch, and the files that have it.

    Whoever is to write the next changes lets the blocks be remembered.
    """
    what = f"state of shard {shard} after epoch {epoch}"
    chain = _chain(state_files(home, epoch, shard), what)
    names, sizes = ([home.file_of(path) for path, _ in chain], [len(data) for _, data in chain])
    found = StateFiles(names, sizes, list(range(len(chain))), None, sizes[0])
    with naming(chain[0][0], what):
        packed = _first(chain[0][1], kind, version)
    if len(chain) == 1 and not (remember and found.nbytes >= SMALL):
        return packed, found
    # Large bytes that are read are not held beside the arrays they became.
    chain[0] = (chain[0][0], b"")
    stored = Stored.of(apart(packed))
    for number, (path, data) in enumerate(chain[1:], 1):
        with naming(path, what):
            stored.change(_change(data, version), number)
    found.blocks = stored.blocks() if remember else None
    found.nbytes = sum(array.nbytes for array in stored.packed.arrays.values())
    return together(stored.packed), found


def _chain(paths: Sequence[Path], what: str) -> list[tuple[Path, bytes]]:
    """Files and their bytes: from the last whole on, or all where no whole is needed any more."""
    chain: list[tuple[Path, bytes]] = []
    for path in reversed(paths):
        chain.insert(0, (path, path.read_bytes()))
        with naming(path, what):
            if not _of_changes(chain[0][1]):
                break
    return chain


def _of_changes(data: bytes) -> bool:
    return kind_of(data) == wire_changes.KIND


def _first(data: bytes, kind: str, version: int) -> Packed:
    """The state that the first file of a chain has: a whole, or what changes make of nothing."""
    if not _of_changes(data):
        return unpack(data, kind=kind, version=version)
    stored = Stored(Packed(kind, version))
    stored.change(_change(data, version), 0)
    return stored.packed


def _change(data: bytes, version: int) -> Packed:
    """What a file of changes says; changes to a state of a later release are refused."""
    change = unpack(data, kind=wire_changes.KIND, version=wire_changes.VERSION)
    told = change.values["version"]
    if told > version:
        raise StateTooOld(
            f"state {change.values['kind']!r} version {told} cannot be read here",
            f"expected version {version} or older",
            "run the release that wrote it, or register the queries anew WITH HISTORY",
        )
    return change


@contextmanager
def naming(path: Path, what: str) -> Iterator[None]:
    """Say of which file it is that state cannot be read."""
    with reading(path, what):
        try:
            yield
        except StateTooOld as error:
            if str(path) in error.detail:
                raise
            raise StateTooOld(error.what, f"{path}: {error.detail}", error.hint) from error
