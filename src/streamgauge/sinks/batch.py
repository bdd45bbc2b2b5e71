"""Batch: what a sink has to deliver of one epoch."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.log.home import Home
from streamgauge.plan.shadows import EXACT_SHADOW, TICKS_SHADOW
from streamgauge.plan.sink import Sink
from streamgauge.results.change_log import epoch_answers
from streamgauge.results.row_blocks import epoch_blocks
from streamgauge.targets.table import KINDS


@dataclass(frozen=True, slots=True)
class Batch:
    """Answers and changes of rows of one epoch, always in the same order.

    Parameters
    ----------
    epoch
        The epoch.
    answers
        Numbers with their bars, by event time.
    rows
        Changes of rows; a table for each set of columns.
    """

    epoch: int
    answers: pa.Table
    rows: tuple[pa.Table, ...] = ()

    @property
    def size(self) -> int:
        """How many there are in all."""
        return int(self.answers.num_rows + sum(table.num_rows for table in self.rows))


def read_batch(home: Home, epoch: int, sink: Sink) -> Batch:
    """Read what a sink delivers of an epoch: answers of its queries, never those of shadows."""
    names = sink.queries or None
    answers = _without_shadows(epoch_answers(home, epoch, names))
    if KINDS[sink.to.kind].refuses_rows:
        return Batch(epoch, answers)
    blocks = map(_without_shadows, epoch_blocks(home, epoch, names))
    return Batch(epoch, answers, tuple(table for table in blocks if table.num_rows))


def _without_shadows(table: pa.Table) -> pa.Table:
    query = table["query"]
    shadow = pc.or_(pc.starts_with(query, EXACT_SHADOW), pc.starts_with(query, TICKS_SHADOW))
    return table.filter(pc.invert(shadow))
