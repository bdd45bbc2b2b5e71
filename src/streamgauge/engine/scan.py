"""Scan: a slice of a page read once, its rows sorted into packets, one for each shard.

A scan is a pure function of the page: wherever and however often it runs, it gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.calendar import merged
from streamgauge.engine.clocks import closed_by
from streamgauge.engine.packet import Packet, shares
from streamgauge.engine.partial import Partial, partial_of, split
from streamgauge.engine.progress import Brought
from streamgauge.engine.rows import Flags, read_columns, read_in_place, ticks_of
from streamgauge.engine.scan_plan import StreamScan
from streamgauge.engine.slices import Slice, report_values
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.plan.table_key import TableKey


def scan(home: Home, page: Page, part: Slice) -> Iterator[bytes]:
    """The packets of a slice, in the order of the shards."""
    segment = part.segment
    plan = StreamScan.from_dict(page.scans[segment.stream])
    numbers, words = plan.numbers, plan.words
    table = read_columns(plan, segment, numbers, words)
    report_values(home, part.place, segment, table, read_in_place(plan, numbers))
    batch = RowBatch.of(plan.stream, segment, table, numbers, words)
    calendar = batch.calendar(plan.stream.tick)
    rows, cells = _work(plan, page, batch)
    shares_of = {name: shares(name, part, home.shards) for name, part in rows.items()}
    cells_of = {text: split(part, name, home.shards) for name, text, part in cells}
    for shard in range(home.shards):
        yield Packet(
            segment.stream,
            calendar,
            {name: parts[shard] for name, parts in shares_of.items()},
            {text: parts[shard] for text, parts in cells_of.items()},
        ).to_bytes()


def _work(
    plan: StreamScan, page: Page, batch: RowBatch
) -> tuple[dict[str, RowBatch], list[tuple[str, str, Partial]]]:
    """What is sent of a batch: rows for each input, and cells where its rows were added up."""
    rows, cells = {}, []
    stream = plan.stream
    ready = ticks_of(batch.eff, stream.tick) <= closed_by(page, stream)
    for name, (numbers, words) in plan.inputs.items():
        rows[name] = batch.narrowed(numbers, words)
        added = _added(plan, name, rows[name], ready)
        if added:
            # Rows that are not due yet wait as rows.
            rows[name] = rows[name].take(np.flatnonzero(~ready))
            cells += [(name, text, part) for text, part in added.items()]
    return rows, cells


def _added(plan: StreamScan, name: str, batch: RowBatch, ready: Flags) -> dict[str, Partial]:
    """The cells of all tables of an input; none where one of them needs the rows."""
    texts = plan.tables.get(name, ())
    if not texts or not len(batch):
        return {}
    due = batch if ready.all() else batch.take(np.flatnonzero(ready))
    schema = plan.stream.schema
    kinds = {column: schema.type(column) for column in schema.names}
    found = {}
    for text in texts:
        part = partial_of(TableKey.from_text(text), due, plan.stream.tick, kinds)
        if part is None:
            return {}
        found[text] = part
    return found


def brought(page: Page, sent: Sequence[bytes]) -> dict[str, Brought]:
    """What the packets of a shard bring, by stream; they are in the order of their slices."""
    by_stream: dict[str, list[Packet]] = {name: [] for name in page.scans}
    for data in sent:
        packet = Packet.from_bytes(data)
        by_stream[packet.stream].append(packet)
    found = {}
    for name, parts in by_stream.items():
        inputs = StreamScan.from_dict(page.scans[name]).inputs
        cells: dict[str, list[Partial]] = {}
        for part in parts:
            for text, partial in part.partials.items():
                cells.setdefault(text, []).append(partial)
        found[name] = Brought(
            merged([part.calendar for part in parts]),
            {item: [part.batches[item] for part in parts] for item in inputs},
            cells,
        )
    return found
