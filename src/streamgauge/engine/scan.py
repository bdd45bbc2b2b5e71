"""Scan: a slice of a page read once, its rows sorted into packets, one for each shard.

A scan is a pure function of the page: wherever and however often it runs, it gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.calendar import merged
from streamgauge.engine.clocks import closed_by
from streamgauge.engine.distribution import SINGLE, SUBSCRIBED, columns_of
from streamgauge.engine.logged_rows import logged_shares
from streamgauge.engine.packet import Packet
from streamgauge.engine.partial import Partial, partials_of
from streamgauge.engine.reading import Brought, read_batch
from streamgauge.engine.row_groups import RowGroups
from streamgauge.engine.rows import Flags, ticks_of
from streamgauge.engine.scan_plan import StreamScan
from streamgauge.engine.shares import shares
from streamgauge.engine.slices import Slice
from streamgauge.engine.subscribed import subscribed
from streamgauge.log.home import Home
from streamgauge.log.journal import Page, home_for
from streamgauge.plan.table_key import TableKey

# The rows of an input by shard; None where the shard reads them.
Shares: TypeAlias = Sequence[RowBatch | None]


def scan(home: Home, page: Page, part: Slice) -> Iterator[bytes]:
    """The packets of a slice, in the order of the shards."""
    home, segment = home_for(home, page), part.segment
    plan = StreamScan.from_dict(page.scans[segment.stream])
    start = segment.first - page.segments[part.serial].first
    batch = read_batch(home, plan, part.place, segment, plan.wanted, start)
    calendar = batch.calendar(plan.stream.tick)
    rows, cells = _work(plan, page, batch, home)
    logged = {
        name: logged_shares(batch, plan.stream, name, wanted.logged, home.shards)
        for name, wanted in plan.logged.items()
    }
    for shard in range(home.shards):
        yield Packet(
            segment.stream,
            calendar,
            {name: own for name, parts in rows.items() if (own := parts[shard]) is not None},
            {text: parts[shard] for text, parts in cells.items() if len(parts[shard].tick)},
            {name: parts[shard] for name, parts in logged.items()},
        ).to_bytes()


def _work(
    plan: StreamScan, page: Page, batch: RowBatch, home: Home
) -> tuple[dict[str, Shares], dict[str, list[Partial]]]:
    """What is sent of a batch to each shard: rows of each input, and cells of added-up rows."""
    rows: dict[str, Shares] = {}
    cells: dict[str, list[Partial]] = {}
    stream, shards = plan.stream, home.shards
    ready = ticks_of(batch.eff, stream.tick) <= closed_by(page, stream)
    for name, (numbers, words) in plan.inputs.items():
        part = batch.narrowed(numbers, words)
        if name == SUBSCRIBED:
            rows[name] = _subscribed(plan, part, ready, home)
            continue
        groups = None
        if name != SINGLE:
            groups = part.groups(columns_of(name), shards, home.form)
        added = _added(plan, name, part, groups, ready, shards)
        waiting = np.flatnonzero(~ready) if added else None
        cells.update(added)
        # Rows that are not due yet wait as rows.
        if waiting is not None:
            part, groups = part.take(waiting), None if groups is None else groups.take(waiting)
        if groups is None:
            rows[name] = _shared(plan, part, shards)
        else:
            rows[name] = shares(part, groups.owner[groups.of_row], shards)
    return rows, cells


def _subscribed(plan: StreamScan, batch: RowBatch, ready: Flags, home: Home) -> Shares:
    """The rows of the series that each shard needs."""
    assert plan.subscriptions is not None, "planned without"
    series = batch.groups(plan.stream.key, 1, home.form)
    return [*subscribed(plan.subscriptions, batch, series, ready)]


def _shared(plan: StreamScan, batch: RowBatch, shards: int) -> list[RowBatch]:
    """All rows for each shard that has a table of all rows."""
    having = {TableKey.from_text(text).owner(shards) for text in plan.tables[SINGLE]}
    none = batch.take(np.empty(0, np.int64))
    return [batch if shard in having else none for shard in range(shards)]


def _added(
    plan: StreamScan,
    name: str,
    batch: RowBatch,
    groups: RowGroups | None,
    ready: Flags,
    shards: int,
) -> dict[str, list[Partial]]:
    """The cells of all tables of an input; none where one of them needs the rows."""
    texts = plan.tables.get(name, ())
    if not texts or not len(batch):
        return {}
    if not ready.all():
        due = np.flatnonzero(ready)
        batch, groups = batch.take(due), None if groups is None else groups.take(due)
    schema = plan.stream.schema
    kinds = {column: schema.type(column) for column in schema.names}
    found = {}
    for text in texts:
        key = TableKey.from_text(text)
        grouped = groups or RowGroups.single(len(batch), key.owner(shards))
        parts = partials_of(key, batch, grouped, plan.stream.tick, kinds, shards)
        if parts is None:
            return {}
        found[text] = parts
    return found


def brought(page: Page, sent: Sequence[bytes]) -> dict[str, Brought]:
    """What the packets of a shard bring, by stream; they are in the order of their slices."""
    by_stream: dict[str, list[Packet]] = {name: [] for name in page.scans}
    for data in sent:
        packet = Packet.from_bytes(data)
        by_stream[packet.stream].append(packet)
    found = {}
    for name, parts in by_stream.items():
        plan = StreamScan.from_dict(page.scans[name])
        cells: dict[str, list[Partial]] = {}
        for part in parts:
            for text, partial in part.partials.items():
                cells.setdefault(text, []).append(partial)
        found[name] = Brought(
            merged([part.calendar for part in parts]),
            inputs={
                item: [b for p in parts if len(b := p.batches[item])]
                for item in plan.inputs
                if all(item in part.batches for part in parts)
            },
            cells=cells,
            logged={item: [part.logged[item] for part in parts] for item in plan.logged},
            whole=False,
        )
    return found
