"""Replay: a history of pages through the real log and shards, to compare with the reference.

The pages are given, so nothing here depends on a clock: what a lander would have written is written
page by page, and every shard runs as an executor would run it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from streamgauge.contracts.answer import Answer
from streamgauge.engine import shard
from streamgauge.engine.clocks import Clocks
from streamgauge.engine.commit import commit
from streamgauge.engine.lanes import NO_PEAK
from streamgauge.engine.settling import settled
from streamgauge.kernel.allowed import NOTHING, Allowed
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page, Segment, home_for
from streamgauge.log.segments import write_parquet
from streamgauge.results.change_log import answers, as_answers
from streamgauge.streams.stream import Stream
from tests.kit.strategies import as_arrow
from tests.oracles.reference import Arrival, Row


def write_pages(
    home: Home, streams: Sequence[Stream], pages: Sequence[Arrival], others: Sequence[int] = ()
) -> None:
    """Write pages of some streams as a lander would; each may have another number of shards."""
    journal, declared = Journal(home), {stream.name: stream for stream in streams}
    clocks = Clocks()
    peaks = clocks.peaks
    for number, arrival in enumerate(pages, journal.last() + 1):
        clocks.advance(arrival.changes, declared)
        changes = tuple(change for change in arrival.changes if change["do"] != "advance")
        segments = tuple(
            _segment(home, stream, arrival.rows[stream.name], number, peaks)
            for stream in streams
            if arrival.rows.get(stream.name)
        )
        told = clocks.of(streams, {})
        shards = others[number % len(others)] if others else 0
        page = Page(number, 0, changes, segments, dict(peaks), {}, (), clocks=told, shards=shards)
        journal.append(page)


def _segment(
    home: Home, stream: Stream, rows: Sequence[Row], number: int, peaks: dict[str, int]
) -> Segment:
    path = home.segments(stream.name) / f"{number:06d}.parquet"
    write_parquet(path, as_arrow(rows, stream.schema, time=stream.time))
    low, high = min(row.ts for row in rows), max(row.ts for row in rows)
    peak, origin = peaks.get(stream.name, NO_PEAK), str(path)
    _raise(peaks, stream.name, high)
    return Segment(stream.name, origin, (0, 1), len(rows), low, high, peak, origin)


def _raise(peaks: dict[str, int], stream: str, to: int) -> None:
    peaks[stream] = max(peaks.get(stream, NO_PEAK), to)


def run_pages(home: Home, upto: int | None = None, *, forget: bool = False) -> None:
    """Run the pages that wait, one epoch each; `forget` reads all state from disk each time."""
    last = upto or Journal(home).last()
    for epoch in range(home.committed(), last):
        if forget:
            shard.forget(home)
        receipts = settled(home, epoch + 1, partial(_attempt, home, epoch))
        commit(home, epoch, receipts, 0.0)


def _attempt(home: Home, epoch: int) -> list[shard.Receipt]:
    shards = home_for(home, Journal(home).page(epoch + 1)).shards
    return [shard.run(home, k, epoch, epoch + 1) for k in range(shards)]


def replay(
    directory: Path,
    stream: Stream,
    pages: Sequence[Arrival],
    *,
    shards: int = 1,
    forget: bool = False,
    allowed: Allowed = NOTHING,
    others: Sequence[int] = (),
) -> list[Answer]:
    """All answers of a history, from a new home; `others` are the shards of its pages in turn."""
    home = Home.open(directory, shards=shards, allowed=allowed)
    write_pages(home, (stream,), pages, others)
    run_pages(home, forget=forget)
    shard.forget(home)
    return list(as_answers(answers(home)))


def sort_key(answer: Answer) -> tuple[str, ...]:
    """An order in which two sets of answers can be laid side by side."""
    return (
        f"{answer.epoch:09d}",
        f"{answer.as_of:020d}",
        f"{answer.revision:09d}",
        answer.query,
        str(answer.group),
    )


def same_number(one: float | None, other: float | None) -> bool:
    """Whether two numbers agree up to rounding."""
    if one is None or other is None:
        return one is other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def same_answer(one: Answer, other: Answer) -> bool:
    """Whether two answers agree in everything, numbers up to rounding."""
    if sort_key(one) != sort_key(other) or one.version != other.version:
        return False
    numbers = all(
        same_number(getattr(one, name), getattr(other, name))
        for name in ("value", "low", "high", "coverage", "confidence")
    )
    charges = len(one.charges) == len(other.charges) and all(
        a.by == b.by and same_number(a.below, b.below) and same_number(a.above, b.above)
        for a, b in zip(one.charges, other.charges, strict=True)
    )
    return (
        numbers and charges and (one.basis, one.contract_met) == (other.basis, other.contract_met)
    )
