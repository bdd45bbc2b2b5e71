"""Row batches: rows of a segment as they were read, before any shard has numbered their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streamgauge.engine.calendar import Calendar
from streamgauge.engine.row_groups import RowGroups
from streamgauge.engine.rows import (
    Flags,
    Floats,
    Ints,
    Rows,
    as_numbers,
    as_words,
    lateness,
    ticks_of,
)
from streamgauge.kernel.coded import CodedColumn
from streamgauge.kernel.columns import Interner, as_instants
from streamgauge.log.journal import Segment
from streamgauge.streams.stream import Stream


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Columns of one length: event time, effective time, lateness, numbers, and coded names.

    `dropped` counts the late rows among those read that came too late to be folded at all.
    """

    ts: Ints
    eff: Ints
    late: Flags
    numbers: dict[str, Floats]
    words: dict[str, CodedColumn]
    dropped: int = 0

    @classmethod
    def of(
        cls,
        stream: Stream,
        segment: Segment,
        table: pa.Table,
        numbers: Sequence[str],
        words: Sequence[str],
    ) -> RowBatch:
        """The columns of a segment, each row with its effective time."""
        ts = as_instants(table[stream.time])
        late, eff = lateness(ts, segment.peak, stream.late.allowed, segment.passed)
        batch = cls(
            ts,
            eff,
            late,
            {name: as_numbers(table[name]) for name in numbers},
            {name: CodedColumn.of(as_words(table[name])) for name in words},
        )
        policy = stream.late
        if policy.policy != "revise" or not late.any():
            return batch
        return batch._without(late & (ts < eff - policy.reach))

    def _without(self, gone: Flags) -> RowBatch:
        return replace(self.take(np.flatnonzero(~gone)), dropped=int(gone.sum()))

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, which: Ints) -> RowBatch:
        """Some of the rows, in the order asked for."""
        return RowBatch(
            self.ts[which],
            self.eff[which],
            self.late[which],
            {name: column[which] for name, column in self.numbers.items()},
            {name: column.take(which) for name, column in self.words.items()},
        )

    def narrowed(self, numbers: Sequence[str], words: Sequence[str]) -> RowBatch:
        """The same rows with fewer columns."""
        return RowBatch(
            self.ts,
            self.eff,
            self.late,
            {name: self.numbers[name] for name in numbers},
            {name: self.words[name] for name in words},
        )

    def groups(self, columns: Sequence[str], shards: int, form: int) -> RowGroups:
        """The groups that the rows are in by some columns."""
        return RowGroups.of({name: self.words[name] for name in columns}, shards, form)

    def owned(self, columns: Sequence[str], shard: int, shards: int, form: int) -> RowBatch:
        """The rows that a shard owns, hashed by some columns; all rows where there are none."""
        if not columns or shards == 1:
            return self
        groups = self.groups(columns, shards, form)
        return self.take(np.flatnonzero(groups.owner[groups.of_row] == shard))

    def calendar(self, tick: int) -> Calendar:
        """Which ticks the rows are in."""
        return Calendar.of(ticks_of(self.eff, tick), late=int(self.late.sum()) + self.dropped)

    def named(self, tick: int, interners: dict[str, Interner]) -> Rows:
        """The rows as kernels take them, names numbered by a shard's interners."""
        return Rows(
            self.eff,
            ticks_of(self.eff, tick),
            self.ts,
            self.late,
            dict(self.numbers),
            {name: interners[name].encode(column) for name, column in self.words.items()},
        )
