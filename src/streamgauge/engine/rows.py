"""Rows: columns of arriving rows with their effective time, ready for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from streamgauge.kernel.columns import Interner, as_floats, as_instants
from streamgauge.log.journal import Segment
from streamgauge.log.reader import read_segment
from streamgauge.operators.casts import cast
from streamgauge.operators.evaluate import evaluate
from streamgauge.plan.sharing import StreamPlan
from streamgauge.streams.stream import Stream

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


_NOWHERE: Ints = np.empty(0, np.int64)
_COLUMNS = ("eff", "tick", "ts", "page", "segment", "row")


@dataclass(slots=True)
class Rows:
    """Columns of one length.

    `tick` is the check that first sees a row; `eff` its effective time; `late` whether it came
    behind the watermark. `page`, `segment` and `row` say where it lies in the log; only rows that
    wait have them.
    """

    eff: Ints
    tick: Ints
    ts: Ints
    late: Flags
    page: Ints
    segment: Ints
    row: Ints
    numbers: dict[str, Floats]
    words: dict[str, Codes]

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, which: slice | Flags | Ints) -> Rows:
        """Some of the rows, in the order asked for."""
        return Rows(
            self.eff[which],
            self.tick[which],
            self.ts[which],
            self.late[which],
            self.page[which] if len(self.page) else self.page,
            self.segment[which] if len(self.page) else self.segment,
            self.row[which] if len(self.page) else self.row,
            {name: column[which] for name, column in self.numbers.items()},
            {name: column[which] for name, column in self.words.items()},
        )

    def owned(self) -> Rows:
        """The same rows in arrays of their own, as the kernels are compiled for."""
        own = {name: np.require(getattr(self, name), requirements=("C", "W")) for name in _COLUMNS}
        return Rows(
            **own,
            late=np.require(self.late, requirements=("C", "W")),
            numbers={n: np.require(c, requirements=("C", "W")) for n, c in self.numbers.items()},
            words={n: np.require(c, requirements=("C", "W")) for n, c in self.words.items()},
        )

    def cut(self, closed: int) -> tuple[Rows, Rows, Ints]:
        """Rows that take effect up to a closed tick, those that wait, and where those were."""
        if not self.late.any() and _ascending(self.tick):
            edge = int(np.searchsorted(self.tick, closed, side="right"))
            early, later = self.take(slice(0, edge)), self.take(slice(edge, None))
            where = np.arange(edge, len(self), dtype=np.int64)
        else:
            ready = self.tick <= closed
            early, later = self.take(ready), self.take(~ready)
            where = np.flatnonzero(~ready)
        early.page = early.segment = early.row = _NOWHERE
        return early, later, where

    def placed(self, place: tuple[int, int], where: Ints) -> Rows:
        """The same rows, told where they lie in the log."""
        self.page = np.full(len(self), place[0], np.int64)
        self.segment = np.full(len(self), place[1], np.int64)
        self.row = where
        return self

    def in_order(self) -> Rows:
        """Rows by effective time, ties in order of arrival."""
        if _ascending(self.eff):
            return self
        return self.take(np.argsort(self.eff, kind="stable"))


def _ascending(column: Ints) -> bool:
    return bool((column[1:] >= column[:-1]).all())


def join(parts: Sequence[Rows], like: Rows) -> Rows:
    """Rows one after the other, in order of arrival."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return like.take(slice(0, 0))
    if len(parts) == 1:
        return parts[0].owned()
    return Rows(
        np.concatenate([part.eff for part in parts]),
        np.concatenate([part.tick for part in parts]),
        np.concatenate([part.ts for part in parts]),
        np.concatenate([part.late for part in parts]),
        np.concatenate([part.page for part in parts]),
        np.concatenate([part.segment for part in parts]),
        np.concatenate([part.row for part in parts]),
        {name: np.concatenate([p.numbers[name] for p in parts]) for name in parts[0].numbers},
        {name: np.concatenate([p.words[name] for p in parts]) for name in parts[0].words},
    )


def no_rows(numbers: Sequence[str], words: Sequence[str]) -> Rows:
    """Rows of these columns, none of them."""
    none = np.empty(0, np.int64)
    return Rows(
        none, none, none, np.empty(0, np.bool_), none, none, none,
        {name: np.empty(0) for name in numbers},
        {name: np.empty(0, np.int32) for name in words},
    )  # fmt: skip


def arrange(
    stream: Stream,
    segment: Segment,
    table: pa.Table,
    interners: dict[str, Interner],
    numbers: Sequence[str],
    words: Sequence[str],
) -> Rows:
    """The columns of a segment as rows, each with its effective time."""
    ts = as_instants(table[stream.time])
    late, eff = lateness(ts, segment.peak, stream.late.allowed, segment.passed)
    return Rows(
        eff,
        ticks_of(eff, stream.tick),
        ts,
        late,
        _NOWHERE,
        _NOWHERE,
        _NOWHERE,
        {name: as_numbers(table[name]) for name in numbers},
        {name: interners[name].encode(as_words(table[name])) for name in words},
    )


def read_columns(
    plan: StreamPlan, segment: Segment, numbers: Sequence[str], words: Sequence[str]
) -> pa.Table:
    """The columns of a segment that are asked for, those that are derived too, and its time."""
    stream = plan.stream
    asked = dict.fromkeys((*numbers, *words))
    derived = {name: plan.derived[name] for name in asked if name in plan.derived}
    wanted = read_in_place(plan, (stream.time, *asked))
    texts = [name for name in words if name in wanted and stream.schema.type(name) == "string"]
    table = read_segment(segment, wanted, texts)
    for name, expr in derived.items():
        table = table.append_column(name, evaluate(expr, table, plan.functions))
    return table


def read_in_place(plan: StreamPlan, names: Sequence[str]) -> tuple[str, ...]:
    """Columns of a segment that some columns are, or are derived from."""
    used: dict[str, None] = {}
    for name in names:
        expr = plan.derived.get(name)
        used.update(dict.fromkeys((name,) if expr is None else expr.columns()))
    return tuple(used)


def as_words(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """A column whose values are names; a time is named by its text."""
    if not pt.is_timestamp(column.type):
        return column
    instants = column.cast(pa.timestamp("us", tz="UTC"), safe=False).cast(pa.int64())
    return cast(instants.combine_chunks(), "time", "string", len(instants))


def as_numbers(column: pa.ChunkedArray) -> Floats:
    """A column as floats; instants become microseconds, text becomes 1 where there is some."""
    if pt.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False)
        return as_floats(micros.cast(pa.int64()))
    if pt.is_string(column.type) or pt.is_dictionary(column.type):
        return np.where(column.is_valid().to_numpy(), 1.0, np.nan)
    return as_floats(column)


def ticks_of(instants: Ints, tick: int) -> Ints:
    """The check that first sees each instant: rounded up."""
    return -((-instants) // tick)


def lateness(ts: Ints, peak: int, allowed: int, passed: int | None = None) -> tuple[Flags, Ints]:
    """Which rows are late, and all effective times, given the peak before the first row.

    None takes effect before the instant that time had passed to.
    """
    late, eff = _lateness(ts, peak, allowed)
    return late, eff if passed is None else np.maximum(eff, passed + 1)


def _lateness(ts: Ints, peak: int, allowed: int) -> tuple[Flags, Ints]:
    if len(ts) == 0 or (ts[0] >= peak - allowed and _ascending(ts)):
        return np.zeros(len(ts), np.bool_), ts
    before = np.maximum.accumulate(np.concatenate((np.array([peak], np.int64), ts[:-1])))
    edge = before - allowed
    late = ts < edge
    return late, np.where(late, edge, ts)
