"""Settle: what a reader handed over, brought to the types and rules of its stream.

Each row of a draft ends in the table or, with its reasons, among the rejects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamgauge.kernel.time import SECOND, Instant
from streamgauge.sources.convert import caster, convert, plain, textual
from streamgauge.sources.draft import Draft, Refused
from streamgauge.sources.footer import INSTANT_MAX, INSTANT_MIN
from streamgauge.sources.lost import lost_times
from streamgauge.sources.rejects import KEPT, Rejects, misfit
from streamgauge.sources.units import another_unit, time_unit
from streamgauge.streams.stream import Stream


@dataclass(frozen=True)
class Parsed:
    """What became of a file, or of records: each row is in `table` or in `rejects`.

    Parameters
    ----------
    table
        Clean rows in the order they came in, columns exactly those of the stream.
    rejects
        Dead letters, columns as in `Rejects`. A row that was kept with a NaN or an infinite value
        set to null has an entry too; its reason ends in "the row is kept".
    """

    table: pa.Table
    rejects: pa.Table


class _Faults:
    """What is wrong with which rows, gathered rule by rule."""

    def __init__(self) -> None:
        self.reasons: dict[int, list[str]] = {}
        self.untimed: set[int] = set()

    def add(
        self, rows: NDArray[np.int64], reasons: Iterable[str], *, untimed: bool = False
    ) -> None:
        """Note what is wrong with rows; `untimed`: their times are no times to go by."""
        for row, reason in zip(rows.tolist(), reasons, strict=False):
            self.reasons.setdefault(row, []).append(reason)
        if untimed:
            self.untimed.update(rows.tolist())

    def rows(self) -> NDArray[np.int64]:
        return np.array(sorted(self.reasons), dtype=np.int64)


def settle(path: str, draft: Draft, stream: Stream, arrived: Instant) -> Parsed | Refused:
    """Cast and check the rows of a draft; refused when a column cannot be of its type at all."""
    faults, notices = _Faults(), _Faults()
    columns = _typed(draft, stream, faults)
    if isinstance(columns, Refused):
        return replace(columns, rows=len(draft.places) + len(draft.broken))
    for name, kind in stream.schema.columns:
        if kind == "float":
            columns[name] = _finite(name, columns[name], notices)
    _check_nulls(stream, columns, faults)
    _check_unit(stream, draft.columns[stream.time], columns[stream.time], faults)
    _check_times(stream, columns[stream.time], arrived, faults)
    _check_strays(stream, columns[stream.time], faults)
    table = pa.table(columns, schema=stream.schema.to_arrow())
    out = faults.rows()
    if len(out):
        kept = np.ones(table.num_rows, dtype=bool)
        kept[out] = False
        table = table.filter(pa.array(kept))
    entries = draft.broken + _entries(draft, faults.reasons)
    noticed = {row: why for row, why in notices.reasons.items() if row not in faults.reasons}
    entries += _entries(draft, noticed)
    used = set(draft.places[np.array(sorted(noticed), dtype=np.int64)].tolist())
    times = lost_times(draft, stream, columns[stream.time], out, faults.untimed, arrived)
    return Parsed(table, Rejects.of(path, entries, times, used).rows)


def _entries(draft: Draft, reasons: dict[int, list[str]]) -> list[tuple[int, str, str]]:
    rows = np.array(sorted(reasons), dtype=np.int64)
    if not len(rows):
        return []
    why = ["; ".join(reasons[row]) for row in rows.tolist()]
    return list(zip(draft.places[rows].tolist(), why, draft.texts(rows), strict=True))


def _typed(draft: Draft, stream: Stream, faults: _Faults) -> dict[str, pa.ChunkedArray] | Refused:
    unit = time_unit(stream.source_dict())
    columns = {}
    for name, kind in stream.schema.columns:
        raw = draft.columns[name]
        cast = caster(raw.type, kind, unit=unit, clock=name == stream.time)
        if cast is None:
            return Refused(f"column {name!r} is {raw.type} and cannot be cast to {kind}")
        columns[name], bad = convert(raw, cast, kind)
        if name in stream.widened:
            inexact = _inexact(raw, columns[name])
            values = plain(raw.take(inexact))
            faults.add(inexact, (f"column {name!r}: {v} {_BEYOND}" for v in values))
        if not len(bad):
            continue
        values = plain(raw.take(bad))
        if draft.typed and len(bad) == len(raw) - raw.null_count:
            example = misfit(name, values[0], kind)
            return Refused(f"column {name!r} is {raw.type} and has no {kind} in it: {example}")
        faults.add(bad, (misfit(name, value, kind) for value in values))
    return columns


_BEYOND = "is a whole number that a float does not hold exactly"


def _inexact(raw: pa.ChunkedArray, floats: pa.ChunkedArray) -> NDArray[np.int64]:
    """Rows whose whole number is so large that a float is another number."""
    large = _where(pc.greater_equal(pc.abs(floats), 2.0**53))
    if not len(large):
        return large
    exact = [_whole_equal(value) for value in plain(raw.take(large))]
    chosen: NDArray[np.int64] = large[~np.array(exact, dtype=bool)]
    return chosen


def _whole_equal(value: object) -> bool:
    """Whether a value is no whole number, or one that a float holds."""
    try:
        whole = int(value) if isinstance(value, (int, str)) else None
    except ValueError:
        return True
    return whole is None or whole == int(float(whole))


def _finite(name: str, column: pa.ChunkedArray, notices: _Faults) -> pa.ChunkedArray:
    finite = pc.is_finite(column)
    if pc.all(finite).as_py() is not False:
        return column
    for test, word in ((pc.is_nan, "NaN"), (pc.is_inf, "infinite")):
        rows = _where(test(column))
        reason = f"column {name!r}: value is {word}; {KEPT}"
        notices.add(rows, (reason for _ in rows))
    return pc.if_else(finite, column, pa.scalar(None, column.type))


def _check_nulls(stream: Stream, columns: dict[str, pa.ChunkedArray], faults: _Faults) -> None:
    for name in dict.fromkeys((stream.time, *stream.key)):
        if not columns[name].null_count:
            continue
        role = "time" if name == stream.time else "key"
        rows = _where(columns[name].is_null())
        # A value that could not be cast is null by now, and has its reason already.
        rows = np.array([r for r in rows.tolist() if r not in faults.reasons], dtype=np.int64)
        faults.add(rows, (f"column {name!r}: null in a {role} column" for _ in rows))


def _check_unit(
    stream: Stream, raw: pa.ChunkedArray, column: pa.ChunkedArray, faults: _Faults
) -> None:
    """Leave out whole numbers that are seconds or milliseconds, unless the unit is declared."""
    if "time_unit" in stream.source_dict():
        return
    times = column.cast(pa.int64())
    for mask, reason in another_unit(times):
        rows = _where(mask)
        if not len(rows):
            continue
        given = raw.take(pa.array(rows))
        if pa.types.is_dictionary(given.type):
            given = given.cast(given.type.value_type)
        if textual(given.type):
            whole = pc.match_substring_regex(given.cast(pa.string()), r"^\s*\+?[0-9]+\s*$")
            rows = rows[pc.fill_null(whole, False).to_numpy()]
        elif not pa.types.is_integer(given.type):
            continue
        values = times.take(pa.array(rows)).to_pylist()
        said = (f"column {stream.time!r}: {value} {reason}" for value in values)
        faults.add(rows, said, untimed=True)


def _check_times(
    stream: Stream, column: pa.ChunkedArray, arrived: Instant, faults: _Faults
) -> None:
    times = column.cast(pa.int64())
    strange = pc.or_(pc.less(times, INSTANT_MIN), pc.greater(times, INSTANT_MAX))
    rows = _where(strange)
    said = (f"column {stream.time!r}: not in the years 1 to 9999" for _ in rows)
    faults.add(rows, said, untimed=True)
    if stream.future is None:
        return
    rows = _where(pc.and_not(pc.greater(times, arrived + stream.future), strange))
    ahead = ((time - arrived) // SECOND for time in times.take(rows).to_pylist())
    said = (f"column {stream.time!r}: {s} s ahead of its arrival" for s in ahead)
    faults.add(rows, said, untimed=True)


# A stray is left out when so many rows for each of its kind would be late because of it.
STRAY_OTHERS = 10


def strays(times: NDArray[np.int64], future: int) -> NDArray[np.int64]:
    """Positions of the few rows whose time would make nearly all rows after them late.

    They are farther ahead of all other rows than `future`, and than those span themselves; and
    at least ten rows with earlier times follow for each of them.

    >>> strays(np.array([0, 10**15, *range(1, 20)]), 10**6)
    array([1])
    """
    n = len(times)
    most = n // (STRAY_OTHERS + 1)
    none = np.array([], dtype=np.int64)
    if most == 0 or int(times.max()) - int(times.min()) <= future:
        return none
    top = np.partition(times, n - most - 1)[n - most - 1 :]
    top.sort()
    wide = np.flatnonzero(np.diff(top) > max(future, 0))
    for gap in wide.tolist():
        edge = int(top[gap])
        if int(top[gap + 1]) - edge <= edge - int(times.min()):
            continue
        far = np.flatnonzero(times > edge)
        behind = n - int(far[0]) - len(far)
        if behind >= STRAY_OTHERS * len(far):
            return far
    return none


def _check_strays(stream: Stream, column: pa.ChunkedArray, faults: _Faults) -> None:
    if stream.future is None:
        return
    sound = np.ones(len(column), dtype=bool)
    sound[faults.rows()] = False
    places = np.flatnonzero(sound)
    times = column.cast(pa.int64()).fill_null(0).to_numpy()[places]
    rows = places[strays(times, stream.future)]
    if not len(rows):
        return
    others = np.delete(times, np.searchsorted(places, rows))
    ahead = (
        (int(times[np.searchsorted(places, row)]) - int(others.max())) // SECOND for row in rows
    )
    said = (f"column {stream.time!r}: {s} s ahead of all other rows" for s in ahead)
    faults.add(rows, said, untimed=True)


def _where(mask: pa.ChunkedArray) -> NDArray[np.int64]:
    if not pc.any(mask).as_py():
        return np.array([], dtype=np.int64)
    chosen: NDArray[np.int64] = np.flatnonzero(pc.fill_null(mask, False).to_numpy())
    return chosen
