"""Naming: rows to series numbers and to group numbers, per shard.

Numbers follow first appearance in the log, so they are the same whatever the batches were.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamgauge.engine.distribution import group_hash
from streamgauge.engine.rows import Rows
from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.kernel.wire import Array

Codes = npt.NDArray[np.int32]
Words = dict[str, Interner]


def series_name(values: list[object]) -> str:
    """Name of a series as queries write it: its key values joined by a bar.

    >>> series_name(["plant-1", 7])
    'plant-1|7'
    """
    return "|".join(map(str, values))


@dataclass(slots=True)
class Series:
    """Numbers of series by name; a query may name a series before its first row."""

    names: Interner = field(default_factory=Interner)
    combiner: Combiner = field(default_factory=Combiner)
    local: list[int] = field(default_factory=list)

    def encode(self, rows: Rows, key: tuple[str, ...], words: Words) -> Codes:
        """Series number of each row."""
        combos = self.combiner.encode([rows.words[column] for column in key])
        for codes in self.combiner.interner.values[len(self.local) :]:
            self.local.append(self.names.add(series_name(_values(codes, key, words))))
        return np.array(self.local, np.int32)[combos] if len(combos) else combos


@dataclass(slots=True)
class Groups:
    """Numbers of the groups a shard owns; -1 for those of others.

    A group is owned by its hash, or where there are `pools` by the pool that its hash is in.
    """

    columns: tuple[str, ...]
    shard: int
    shards: int
    combiner: Combiner = field(default_factory=Combiner)
    local: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    pools: int = 0

    def __post_init__(self) -> None:
        if not self.columns and not self.texts:
            self.texts.append("")

    def encode(self, rows: Rows, words: Words) -> Codes:
        """Group number of each row."""
        if not self.columns:
            return np.zeros(len(rows), np.int32)
        return self.encode_columns([rows.words[column] for column in self.columns], words)

    def encode_columns(self, columns: list[Codes], words: Words) -> Codes:
        """Group number of each row, given the codes of the columns that it groups by."""
        combos = self.combiner.encode(columns)
        self.number(words)
        return np.array(self.local, np.int32)[combos] if len(combos) else combos

    def number(self, words: Words) -> None:
        """Number the groups of combinations that have no number yet."""
        for codes in self.combiner.interner.values[len(self.local) :]:
            values = _values(codes, self.columns, words)
            text, place = json.dumps(values, default=str), group_hash(values)
            place = place % self.pools if self.pools else place
            mine = place % self.shards == self.shard
            self.local.append(len(self.texts) if mine else -1)
            if mine:
                self.texts.append(text)


def _values(codes: tuple[int, ...], columns: tuple[str, ...], words: Words) -> list[object]:
    return [
        None if code < 0 else words[column].values[code]
        for code, column in zip(codes, columns, strict=True)
    ]


def pack_combiner(prefix: str, combiner: Combiner, arrays: dict[str, Array]) -> None:
    """Add the combinations that have a number to `arrays`."""
    values = combiner.interner.values
    width = len(values[0]) if values else 1
    arrays[f"{prefix}/combos"] = np.array(values, np.int32).reshape(len(values), width)


def unpack_combiner(prefix: str, arrays: dict[str, Array]) -> Combiner:
    """Read the combinations back."""
    return Combiner(Interner.of(map(tuple, arrays[f"{prefix}/combos"].tolist())))
