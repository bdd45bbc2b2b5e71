"""State of a shard in the wire format: everything that must survive, and nothing else.

Compiled queries are not state: they follow from the registry.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streamgauge.engine.operator import Arrays, PageOperator, page_module
from streamgauge.engine.stalling import Readers, StalledReader
from streamgauge.engine.state_files import StateFiles, naming, read_packed
from streamgauge.engine.stream_inputs import StreamState
from streamgauge.engine.stream_state import pack_stream, unknown_technique, unpack_stream
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import damaged
from streamgauge.kernel.wire import Packed, pack, unpack
from streamgauge.log.commits import home_after, state_files
from streamgauge.log.home import BY_TEXT, Home
from streamgauge.plan.technique import techniques

KIND = "shard"
VERSION = 6
# Where operators that read pages were kept up to version 4.
_EARLIER = {"rows", "across", "promise"}


@dataclass(slots=True)
class ShardState:
    """All that a shard knows after an epoch: of its streams, and of operators that read pages.

    `form` is the format of its home; `lost` says of operators whose state cannot be read why not.
    """

    epoch: int = 0
    streams: dict[str, StreamState] = field(default_factory=dict)
    operators: dict[str, PageOperator] = field(default_factory=dict)
    form: int = BY_TEXT
    lost: dict[str, str] = field(default_factory=dict)
    readers: Readers = field(default_factory=Readers)


def to_bytes(state: ShardState, shard: int, shards: int) -> bytes:
    """Write a shard's state; equal state gives equal bytes."""
    return pack(packed(state, shard, shards))


def packed(state: ShardState, shard: int, shards: int) -> Packed:
    """A shard's state as named arrays and plain values."""
    arrays: Arrays = {}
    streams = {
        name: pack_stream(f"{serial}", stream, arrays)
        for serial, (name, stream) in enumerate(state.streams.items())
    }
    values = {"epoch": state.epoch, "shard": shard, "shards": shards, "streams": streams}
    if state.form != BY_TEXT:
        values["form"] = state.form
    if state.operators:
        values["operators"] = [
            [name, operator.pack(f"operator/{serial}", arrays)]
            for serial, (name, operator) in enumerate(state.operators.items())
        ]
    if state.readers.stalled:
        values["stalled"] = [
            [name, one.pack(f"stalled/{serial}", arrays)]
            for serial, (name, one) in enumerate(state.readers.stalled.items())
        ]
    return Packed(KIND, VERSION, values, arrays)


def read_state(home: Home, epoch: int, shard: int) -> ShardState:
    """State of a shard after an epoch; FileNotFoundError where none is there any more."""
    return _state(home, epoch, shard, remember=False)[0]


def loaded(home: Home, epoch: int, shard: int) -> tuple[ShardState, StateFiles]:
    """State of a shard after an epoch and what is stored of it, for whoever goes on from it."""
    return _state(home, epoch, shard, remember=True)


def read_arrays(home: Home, epoch: int, shard: int) -> Packed:
    """The stored form of the state of a shard after an epoch."""
    return read_packed(home, epoch, shard, kind=KIND, version=VERSION)[0]


def _state(home: Home, epoch: int, shard: int, *, remember: bool) -> tuple[ShardState, StateFiles]:
    found, files = read_packed(home, epoch, shard, kind=KIND, version=VERSION, remember=remember)
    what = f"state of shard {shard} after epoch {epoch}"
    with naming(home.root / files.names[-1], what):
        return _unpacked(found, shard, found.values.get("shards", home.shards)), files


def shards_of(data: bytes) -> int:
    """How many shards the bytes of a state say there are."""
    return int(unpack(data, kind=KIND, version=VERSION).values["shards"])


def form_of(data: bytes) -> int:
    """The format of the home that the bytes of a state are of."""
    return int(unpack(data, kind=KIND, version=VERSION).values.get("form", BY_TEXT))


def absent(home: Home, epoch: int) -> StateTooOld:
    """The error of state that should be there."""
    shards = home_after(home, epoch).shards
    listed = [path for k in range(shards) for path in state_files(home, epoch, k)]
    gone = [path for path in listed if not path.exists()]
    folder = home.state(epoch, 0).parent
    return damaged(
        gone[0] if gone else folder,
        f"state after epoch {epoch}",
        f"{len(gone)} of {len(listed)} files for {shards} shards are absent",
    )


def from_bytes(data: bytes, shard: int, shards: int) -> ShardState:
    """Read a shard's state, or refuse it."""
    return _unpacked(unpack(data, kind=KIND, version=VERSION), shard, shards)


def _unpacked(packed: Packed, shard: int, shards: int) -> ShardState:
    streams = {
        name: unpack_stream(f"{serial}", values, packed.arrays, shard, shards)
        for serial, (name, values) in enumerate(packed.values["streams"].items())
    }
    form = packed.values.get("form", BY_TEXT)
    lost: dict[str, str] = {}
    stalled = {
        name: StalledReader.unpack(f"stalled/{serial}", values, packed.arrays)
        for serial, (name, values) in enumerate(packed.values.get("stalled", ()))
    }
    operators, readers = _operators(packed, lost), Readers(stalled)
    return ShardState(packed.values["epoch"], streams, operators, form, lost, readers)


def _operators(packed: Packed, lost: dict[str, str]) -> dict[str, PageOperator]:
    """Operators that read pages, by their techniques and keys; those that cannot be are `lost`."""
    found: dict[str, PageOperator] = {}
    by_name = {technique.name: technique for technique in techniques()}
    for serial, (name, values) in enumerate(packed.values.get("operators", ())):
        technique = by_name.get(name.partition("/")[0])
        try:
            if technique is None:
                raise unknown_technique(name)
            module = page_module(technique)
            found[name] = module.restored(f"operator/{serial}", values, packed.arrays)
        except StateTooOld as error:
            lost[name] = error.what
    if found or lost:
        return found
    for technique in techniques():
        if not technique.fed and _EARLIER & packed.values.keys():
            known = page_module(technique).restored_all(packed.values, packed.arrays)
            found |= {f"{technique.name}/{key}": one for key, one in known.items()}
    return found
