"""Row batches: rows of a segment as they were read, before any shard has numbered their names.

Whoever works on rows takes the columns it needs of a batch; a column is made once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streamgauge.engine.calendar import Calendar
from streamgauge.engine.row_groups import RowGroups
from streamgauge.engine.rows import (
    Columns,
    Flags,
    Floats,
    Ints,
    Rows,
    as_numbers,
    as_words,
    lateness,
    ticks_of,
)
from streamgauge.engine.turns import check, turn
from streamgauge.kernel.coded import CodedColumn
from streamgauge.kernel.columns import Interner, as_instants
from streamgauge.log.journal import Segment
from streamgauge.operators.evaluate import evaluate
from streamgauge.streams.stream import Stream


@dataclass(frozen=True, slots=True)
class LoggedRows:
    """Columns of rows as they stand in the log, and where each row stands there.

    `page` and `segment` say in which segment of which page, `row` has the numbers of the rows in
    it.
    """

    table: pa.Table
    page: int
    segment: int
    row: Ints

    def take(self, which: Ints) -> LoggedRows:
        """Some of the rows."""
        return replace(self, table=self.table.take(pa.array(which)), row=self.row[which])

    def cut(self, start: int, stop: int) -> LoggedRows:
        """Rows that lie together, without a copy."""
        return replace(self, table=self.table.slice(start, stop - start), row=self.row[start:stop])

    def select(self, columns: Sequence[str]) -> LoggedRows:
        """The same rows with fewer columns."""
        return replace(self, table=self.table.select(list(columns)))


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Columns of one length: event time, effective time, lateness, numbers, and coded names.

    `logged` are the columns that numbers and names are made of, as long as some may be asked for.
    `dropped` counts the late rows among those read that came too late to be folded at all.
    """

    ts: Ints
    eff: Ints
    late: Flags
    numbers: dict[str, Floats]
    words: dict[str, CodedColumn]
    dropped: int = 0
    logged: LoggedRows | None = None

    @classmethod
    def of(
        cls,
        stream: Stream,
        segment: Segment,
        table: pa.Table,
        place: tuple[int, int],
        start: int = 0,
    ) -> RowBatch:
        """Columns of a segment, or of a part of it from a row on, each row with its effective time.

        `place` is the page and the number of the segment in it.
        """
        ts = as_instants(table[stream.time])
        late, eff = lateness(ts, segment.peak, stream.late.allowed, segment.passed)
        row = np.arange(start, start + len(ts), dtype=np.int64)
        batch = cls(ts, eff, late, {}, {}, logged=LoggedRows(table, *place, row))
        policy = stream.late
        if policy.policy != "revise" or not late.any():
            return batch
        return batch._without(late & (ts < eff - policy.reach))

    def grown(self, plan: Columns, numbers: Sequence[str], words: Sequence[str]) -> RowBatch:
        """The same batch, once it has these columns as numbers and as names."""
        for name in numbers:
            if name not in self.numbers:
                self.numbers[name] = as_numbers(self._logged(plan, name))
        for name in words:
            if name not in self.words:
                self.words[name] = CodedColumn.of(as_words(self._logged(plan, name)))
        return self

    def _logged(self, plan: Columns, name: str) -> pa.ChunkedArray:
        assert self.logged is not None, f"column {name!r} was neither read nor made"
        expr = plan.derived.get(name)
        if expr is None:
            return self.logged.table[name]
        with turn(f"{plan.stream.name}/column {name}", lambda: plan.deriving(name)):
            computed = evaluate(expr, self.logged.table, plan.functions)
        # Without the column no operator of the stream can go on.
        check()
        return pa.chunked_array([computed])

    def _without(self, gone: Flags) -> RowBatch:
        return replace(self.take(np.flatnonzero(~gone)), dropped=int(gone.sum()))

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, which: Ints) -> RowBatch:
        """Some of the rows, in the order asked for."""
        ts = self.ts[which]
        return RowBatch(
            ts,
            ts if self.eff is self.ts else self.eff[which],
            self.late[which],
            {name: column[which] for name, column in self.numbers.items()},
            {name: column.take(which) for name, column in self.words.items()},
            logged=None if self.logged is None else self.logged.take(which),
        )

    def narrowed(self, numbers: Sequence[str], words: Sequence[str]) -> RowBatch:
        """The same rows with some of the columns that were made, and no others."""
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
