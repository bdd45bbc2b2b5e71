"""State of a shard in the wire format: everything that must survive, and nothing else.

Compiled queries are not state: they follow from the registry.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streamgauge.engine.across_run import AcrossState
from streamgauge.engine.across_state import pack_across, unpack_across
from streamgauge.engine.progress import StreamState
from streamgauge.engine.promise_state import PromiseState, pack_promise, unpack_promise
from streamgauge.engine.row_state import pack_rows, unpack_rows
from streamgauge.engine.row_work import RowState
from streamgauge.engine.stream_state import Arrays, pack_stream, unpack_stream
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import damaged, reading
from streamgauge.kernel.wire import Packed, pack, unpack
from streamgauge.log.home import Home

KIND = "shard"
VERSION = 5


@dataclass(slots=True)
class ShardState:
    """All that a shard knows after an epoch."""

    epoch: int = 0
    streams: dict[str, StreamState] = field(default_factory=dict)
    rows: RowState = field(default_factory=RowState)
    across: dict[str, AcrossState] = field(default_factory=dict)
    promise: PromiseState = field(default_factory=PromiseState)


def to_bytes(state: ShardState, shard: int, shards: int) -> bytes:
    """Write a shard's state; equal state gives equal bytes."""
    arrays: Arrays = {}
    streams = {
        name: pack_stream(f"{serial}", stream, arrays)
        for serial, (name, stream) in enumerate(state.streams.items())
    }
    values = {"epoch": state.epoch, "shard": shard, "shards": shards, "streams": streams}
    if state.rows.views or state.rows.selections:
        values["rows"] = pack_rows("rows", state.rows, arrays)
    if state.across:
        values["across"] = pack_across("across", state.across, arrays)
    if state.promise:
        values["promise"] = pack_promise("promise", state.promise, arrays)
    return pack(Packed(KIND, VERSION, values, arrays))


def read_state(home: Home, epoch: int, shard: int) -> ShardState:
    """State of a shard after an epoch; FileNotFoundError where none is there any more."""
    path, what = home.state(epoch, shard), f"state of shard {shard} after epoch {epoch}"
    data = path.read_bytes()
    with reading(path, what):
        try:
            return from_bytes(data, shard, home.shards)
        except StateTooOld as error:
            raise StateTooOld(error.what, f"{path}: {error.detail}", error.hint) from error


def shards_of(data: bytes) -> int:
    """How many shards the bytes of a state say there are."""
    return int(unpack(data, kind=KIND, version=VERSION).values["shards"])


def absent(home: Home, epoch: int) -> StateTooOld:
    """The error of state that should be there."""
    folder = home.state(epoch, 0).parent
    there = len(list(folder.glob("shard-*.sgst")))
    return damaged(
        folder, f"state after epoch {epoch}", f"it has {there} files for {home.shards} shards"
    )


def from_bytes(data: bytes, shard: int, shards: int) -> ShardState:
    """Read a shard's state, or refuse it."""
    packed = unpack(data, kind=KIND, version=VERSION)
    streams = {
        name: unpack_stream(f"{serial}", values, packed.arrays, shard, shards)
        for serial, (name, values) in enumerate(packed.values["streams"].items())
    }
    rows = RowState()
    if "rows" in packed.values:
        rows = unpack_rows("rows", packed.values["rows"], packed.arrays)
    across = unpack_across("across", packed.values.get("across", {}), packed.arrays)
    promise = unpack_promise("promise", packed.values.get("promise", {}), packed.arrays)
    return ShardState(packed.values["epoch"], streams, rows, across, promise)
