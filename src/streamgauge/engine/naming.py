"""Naming: rows to series numbers and to group numbers, per shard.

Numbers follow first appearance in the log, so they are the same whatever the batches were.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamgauge.engine.placement import coded_values, group_hash, owners
from streamgauge.engine.rows import Rows
from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.kernel.wire import Array

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
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

    def encode(self, rows: Rows, words: Words, form: int) -> Codes:
        """Group number of each row, in a home of some format."""
        if not self.columns:
            return np.zeros(len(rows), np.int32)
        return self.encode_columns([rows.words[column] for column in self.columns], words, form)

    def encode_columns(self, columns: list[Codes], words: Words, form: int) -> Codes:
        """Group number of each row, given the codes of the columns that it groups by."""
        combos = self.combiner.encode(columns)
        self.number(words, form)
        return np.array(self.local, np.int32)[combos] if len(combos) else combos

    def number(self, words: Words, form: int) -> None:
        """Number the groups of combinations that have no number yet."""
        fresh = self.combiner.interner.values[len(self.local) :]
        if not fresh:
            return
        groups = [_values(codes, self.columns, words) for codes in fresh]
        for values, mine in zip(groups, self._mine(groups, form), strict=True):
            self.local.append(len(self.texts) if mine else -1)
            if mine:
                self.texts.append(json.dumps(values, default=str))

    def _mine(self, groups: list[list[object]], form: int) -> list[bool]:
        """Which groups this shard owns."""
        if self.pools:
            return [group_hash(v) % self.pools % self.shards == self.shard for v in groups]
        if self.shards == 1:
            return [True] * len(groups)
        columns = [coded_values(column) for column in zip(*groups, strict=True)]
        mine: list[bool] = (owners(columns, self.shards, form) == self.shard).tolist()
        return mine

    def take_owned(self, other: Groups, was: Words, words: Words, form: int) -> Ints:
        """Begin with those of another shard's groups that this one owns; their numbers there."""
        local = np.array(other.local, np.int64)
        mine = np.flatnonzero(local >= 0)
        combos = [other.combiner.interner.values[at] for at in mine.tolist()]
        if not combos:
            return np.arange(0 if self.columns else 1)
        owned = np.array(self._mine([_values(c, self.columns, was) for c in combos], form))
        kept: Ints = local[mine[owned]]
        table = np.array(combos, np.int32)[owned]
        columns = [
            renumbered(was[name], words[name], table[:, at]).tolist()
            for at, name in enumerate(self.columns)
        ]
        self.combiner = Combiner(Interner.of(zip(*columns, strict=True)))
        self.local = list(range(len(kept)))
        self.texts = [other.texts[group] for group in kept.tolist()]
        return kept

    def join(self, other: Groups) -> None:
        """Take in the groups of another shard, after these."""
        at = len(self.texts)
        self.combiner.renumber([*self.combiner.interner.values, *other.combiner.interner.values])
        self.local += [at + group for group in other.local]
        self.texts += other.texts


def renumbered(was: Interner, names: Interner, codes: Codes) -> Codes:
    """Numbers that the same values have among other names, which learn them."""
    used = np.unique(codes)
    used = used[used >= 0]
    known, number = was.listed(), np.full(len(was) + 1, -1, np.int32)
    number[used] = [names.add(_one_nan(known[code])) for code in used.tolist()]
    found: Codes = number[codes]
    return found


def _one_nan(value: object) -> object:
    """The NaN that a dictionary finds again."""
    return math.nan if value != value else value


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
