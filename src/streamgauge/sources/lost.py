"""Event times of the rows that a stream cannot take, as far as they can be read."""

from __future__ import annotations

import json
from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.kernel.time import Instant
from streamgauge.sources.convert import caster, convert
from streamgauge.sources.draft import Draft
from streamgauge.sources.footer import INSTANT_MAX, INSTANT_MIN
from streamgauge.sources.units import another_unit, time_unit
from streamgauge.streams.stream import Stream


def lost_times(
    draft: Draft,
    stream: Stream,
    column: pa.ChunkedArray,
    out: NDArray[np.int64],
    untimed: Collection[int],
    arrived: Instant,
) -> dict[int, Instant]:
    """Event times of the rows left out, by place; else the newest before them, where there is one.

    Parameters
    ----------
    draft
        What was read; its broken entries never became rows.
    column
        Event times of its rows, null where they cannot be read.
    out
        Rows that are left out.
    untimed
        Those whose time is not to be believed.
    arrived
        When the rows were seen.
    """
    if not len(out) and not draft.broken:
        return {}
    times = column.cast(pa.int64())
    readable = times.is_valid().to_numpy()
    readable[np.array(sorted(untimed), dtype=np.int64)] = False
    instants = times.fill_null(0).to_numpy()
    own = {int(draft.places[r]): int(instants[r]) for r in out.tolist() if readable[r]}
    own |= _from_objects(draft, stream, arrived)
    sound = readable.copy()
    sound[out] = False
    places, newest = draft.places[sound], np.maximum.accumulate(instants[sound])
    missing = {int(p) for p in draft.places[out].tolist()} | {place for place, _, _ in draft.broken}
    for place in sorted(missing - own.keys()):
        before = int(np.searchsorted(places, place)) - 1
        if before >= 0:
            own[place] = int(newest[before])
    return own


def _from_objects(draft: Draft, stream: Stream, arrived: Instant) -> dict[int, Instant]:
    """Event times of entries that are JSON objects of which another value did not fit."""
    found: dict[int, str] = {}
    for place, _, text in draft.broken:
        value = _value(text, stream.time)
        if value is not None:
            found[place] = value
    unit, kind = time_unit(stream.source_dict()), stream.schema.type(stream.time)
    cast = caster(pa.string(), kind, unit=unit, clock=True)
    if not found or cast is None:
        return {}
    column, _ = convert(pa.chunked_array([list(found.values())], pa.string()), cast, kind)
    times = column.cast(pa.int64())
    latest = INSTANT_MAX if stream.future is None else min(INSTANT_MAX, arrived + stream.future)
    strange = np.zeros(len(times), dtype=bool)
    if "time_unit" not in stream.source_dict():
        for mask, _ in another_unit(times):
            strange |= mask.fill_null(False).to_numpy() & np.array(
                [_whole(t) for t in found.values()]
            )
    return {
        place: instant
        for place, instant, odd in zip(found, times.to_pylist(), strange.tolist(), strict=True)
        if instant is not None and INSTANT_MIN <= instant <= latest and not odd
    }


def _value(text: str, name: str) -> str | None:
    """A whole number or text of a JSON object by its name."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text).get(name)
    except (ValueError, RecursionError):
        return None
    return str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None


def _whole(text: str) -> bool:
    return text.strip().lstrip("+").isdigit()
