"""Rows: columns of arriving rows with their effective time, ready for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from streamgauge.kernel.columns import as_floats
from streamgauge.log.journal import Segment
from streamgauge.log.reader import read_segment
from streamgauge.operators.casts import cast
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from streamgauge.plan.standing import Standing
from streamgauge.streams.stream import Stream

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


_COLUMNS = ("eff", "tick", "ts")


@dataclass(slots=True)
class Rows:
    """Columns of one length.

    `tick` is the check that first sees a row; `eff` its effective time; `late` whether it came
    behind the watermark.
    """

    eff: Ints
    tick: Ints
    ts: Ints
    late: Flags
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

    def narrowed(self, numbers: Sequence[str], words: Sequence[str]) -> Rows:
        """The same rows with fewer columns."""
        return Rows(
            self.eff,
            self.tick,
            self.ts,
            self.late,
            {name: self.numbers[name] for name in numbers},
            {name: self.words[name] for name in words},
        )

    def cut(self, closed: int) -> tuple[Rows, Rows]:
        """Rows that take effect up to a closed tick, and those that wait."""
        if not self.late.any() and _ascending(self.tick):
            edge = int(np.searchsorted(self.tick, closed, side="right"))
            return self.take(slice(0, edge)), self.take(slice(edge, None))
        ready = self.tick <= closed
        return self.take(ready), self.take(~ready)

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
        {name: np.concatenate([p.numbers[name] for p in parts]) for name in parts[0].numbers},
        {name: np.concatenate([p.words[name] for p in parts]) for name in parts[0].words},
    )


def no_rows(numbers: Sequence[str], words: Sequence[str]) -> Rows:
    """Rows of these columns, none of them."""
    none = np.empty(0, np.int64)
    return Rows(
        none, none, none, np.empty(0, np.bool_),
        {name: np.empty(0) for name in numbers},
        {name: np.empty(0, np.int32) for name in words},
    )  # fmt: skip


class Columns(Protocol):
    """Whoever knows the columns of a stream, those that are derived too."""

    @property
    def stream(self) -> Stream:
        """The stream, with derived columns in its schema."""

    @property
    def derived(self) -> dict[str, Expr]:
        """Columns that are computed, by name."""

    @property
    def functions(self) -> Functions:
        """Functions that these call."""

    def deriving(self, column: str) -> Sequence[Standing]:
        """The queries that compute a column, where they are known."""


def read_columns(
    plan: Columns,
    segment: Segment,
    numbers: Sequence[str],
    words: Sequence[str],
    logged: Sequence[str] = (),
) -> pa.Table:
    """Columns of a segment that some are made of, its time, and those asked for as they stand."""
    stream = plan.stream
    made = read_in_place(plan, (stream.time, *numbers, *words))
    texts = [name for name in words if name in made and stream.schema.type(name) == "string"]
    return read_segment(segment, tuple(dict.fromkeys((*made, *logged))), texts)


def read_in_place(plan: Columns, names: Sequence[str]) -> tuple[str, ...]:
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
