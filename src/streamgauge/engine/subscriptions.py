"""Subscriptions: which shards need the rows of which series, as a table that a page can carry.

A series is known by 32 bits of a hash of its name. Where two share them, a shard gets rows of a
series that it did not ask for, which changes no answer.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.naming import series_name
from streamgauge.engine.placement import value_hashes
from streamgauge.kernel.coded import CodedColumn
from streamgauge.plan.sharing import StreamPlan

Flags = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint32]
# A table of more series would be larger than the rows of a page are worth.
MOST_SERIES = 1 << 18


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Hashes of series in order, and for each the shards that need its rows.

    `sent` says to which shards rows are sent; the others ask about all series and read the rows.
    """

    hashes: Hashes
    wanted: Flags
    sent: Flags

    def of(self, names: Sequence[str]) -> Flags:
        """For each series, by name, the shards that need its rows, of those rows are sent to."""
        found = np.zeros((len(names), len(self.sent)), np.bool_)
        if not len(names) or not len(self.hashes):
            return found
        hashes = _hashes(names)
        at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        known = self.hashes[at] == hashes
        found[known] = self.wanted[at[known]]
        return found & self.sent

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "hashes": _text(self.hashes.astype("<u4")),
            "wanted": _text(np.packbits(self.wanted, axis=1)),
            "sent": self.sent.tolist(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Subscriptions:
        """Read the JSON form."""
        sent = np.array(data["sent"], np.bool_)
        hashes = np.frombuffer(base64.b64decode(data["hashes"]), "<u4").astype(np.uint32)
        bits = np.frombuffer(base64.b64decode(data["wanted"]), np.uint8)
        bits = bits.reshape(len(hashes), -(-len(sent) // 8))
        return cls(hashes, np.unpackbits(bits, axis=1, count=len(sent)).astype(np.bool_), sent)


def subscriptions_of(plan: StreamPlan, shards: int) -> Subscriptions | None:
    """The subscriptions of the queries of an input; None where all shards read its rows."""
    number: dict[str, int] = {}
    series: list[int] = []
    shard: list[int] = []
    everything = np.zeros(shards, np.bool_)
    for key, queries in plan.operators.items():
        for standing in queries:
            mine, listed = key.shard_of(standing, shards), key.series_of(standing)
            if listed is None:
                everything[mine] = True
                continue
            series += [number.setdefault(name, len(number)) for name in listed]
            shard += [mine] * len(listed)
    if not plan.stream.key or len(number) > MOST_SERIES:
        return None
    wanted = np.zeros((len(number), shards), np.bool_)
    wanted[series, shard] = True
    if everything.all():
        return None
    hashes, places = np.unique(_hashes(list(number)), return_inverse=True)
    merged = np.zeros((len(hashes), shards), np.bool_)
    np.logical_or.at(merged, places, wanted)
    return Subscriptions(hashes, merged, ~everything)


def names_of(words: dict[str, CodedColumn]) -> list[str]:
    """The names of series, given the columns of their key, a row each."""
    columns = [column.to_pylist() for column in words.values()]
    return [series_name(list(values)) for values in zip(*columns, strict=True)]


def _hashes(names: Sequence[str]) -> Hashes:
    found = value_hashes(pa.array(names, pa.string()))
    return (found >> np.uint64(32)).astype(np.uint32)


def _text(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode()
