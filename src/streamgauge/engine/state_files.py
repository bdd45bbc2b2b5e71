"""Files of the state of a shard: a whole, and files of what has changed since.

A page writes the blocks of arrays that it has changed. Files of changes are put together level by
level, and the state is written as a whole again once its files are twice its size, so the bytes
that pages write follow what they change, and reading follows the size of the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from streamgauge.kernel import wire_changes
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import damaged, reading, write_whole
from streamgauge.kernel.wire import Packed, kind_of, pack, unpack
from streamgauge.kernel.wire_changes import Blocks, Stored, apart, compared, together
from streamgauge.log.commits import state_files
from streamgauge.log.home import Home

# State of fewer bytes is written whole by each page.
SMALL = 1 << 18
# So many files of changes of one size become one.
FAN = 8
LEAST = 1 << 16


@dataclass(slots=True)
class StateFiles:
    """What is stored of a shard's state: files, the oldest first, and which has each block.

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
    keep = _kept(before.sizes, changed.nbytes)
    if keep < len(before.sizes):
        changed = changed.since(before.numbers[keep])
    total = sum(before.sizes[:keep]) + changed.nbytes
    if 2 * changed.nbytes > size or total > 2 * size + SMALL:
        return _written_whole(path, home, packed)
    data = pack(wire_changes.changes(state, changed))
    write_whole(path, data)
    number = before.numbers[-1] + 1
    return StateFiles(
        [*before.names[:keep], home.file_of(path)],
        [*before.sizes[:keep], len(data)],
        [*before.numbers[:keep], number],
        changed.stored_in(number),
        size,
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


def _kept(sizes: Sequence[int], nbytes: int) -> int:
    """How many files stay as they are when changes of so many bytes are added to the rest."""
    keep = len(sizes)
    while True:
        first = keep
        while first > 1 and _level(sizes[first - 1]) <= _level(nbytes):
            first -= 1
        if keep - first < FAN - 1:
            return keep
        nbytes += sum(sizes[first:keep])
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
        packed = unpack(chain[0][1], kind=kind, version=version)
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
    """Files and their bytes from the last whole on."""
    chain: list[tuple[Path, bytes]] = []
    for path in reversed(paths):
        chain.insert(0, (path, path.read_bytes()))
        with naming(path, what):
            if kind_of(chain[0][1]) != wire_changes.KIND:
                return chain
    raise damaged(paths[0], what, "the whole before these changes is absent")


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
