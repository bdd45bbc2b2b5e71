"""Scan: a slice of a page read once, its rows sorted into packets, one for each shard.

A scan is a pure function of the page: wherever and however often it runs, it gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.calendar import merged
from streamgauge.engine.packet import Packet, packets
from streamgauge.engine.progress import Brought
from streamgauge.engine.rows import read_columns, read_in_place
from streamgauge.engine.scan_plan import StreamScan
from streamgauge.engine.slices import Slice, report_values
from streamgauge.log.home import Home
from streamgauge.log.journal import Page


def scan(home: Home, page: Page, part: Slice) -> Iterator[bytes]:
    """The packets of a slice, in the order of the shards."""
    segment = part.segment
    plan = StreamScan.from_dict(page.scans[segment.stream])
    numbers, words = plan.numbers, plan.words
    table = read_columns(plan, segment, numbers, words)
    report_values(home, part.place, segment, table, read_in_place(plan, numbers))
    batch = RowBatch.of(plan.stream, segment, table, numbers, words)
    inputs = [(name, batch.narrowed(n, w)) for name, (n, w) in plan.inputs.items()]
    for packet in packets(segment.stream, plan.stream.tick, batch, inputs, home.shards):
        yield packet.to_bytes()


def brought(page: Page, sent: Sequence[bytes]) -> dict[str, Brought]:
    """What the packets of a shard bring, by stream; they are in the order of their slices."""
    by_stream: dict[str, list[Packet]] = {name: [] for name in page.scans}
    for data in sent:
        packet = Packet.from_bytes(data)
        by_stream[packet.stream].append(packet)
    found = {}
    for name, parts in by_stream.items():
        inputs = StreamScan.from_dict(page.scans[name]).inputs
        found[name] = Brought(
            merged([part.calendar for part in parts]),
            {item: [part.batches[item] for part in parts] for item in inputs},
        )
    return found
