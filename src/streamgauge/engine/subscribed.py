"""Subscribed rows: those of a series for the shards that need it, and its newest for all others.

A shard keeps the newest value of every series, so that a query that comes later finds it. Of series
that nobody on the shard asks about, one row of a slice tells the newest value as well as all rows.
"""

from __future__ import annotations

import numpy as np

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.row_groups import RowGroups
from streamgauge.engine.rows import Flags
from streamgauge.engine.shares import cut_at
from streamgauge.engine.subscriptions import Subscriptions, names_of
from streamgauge.kernel.jit import compiled


def subscribed(
    asked: Subscriptions, batch: RowBatch, groups: RowGroups, ready: Flags
) -> list[RowBatch | None]:
    """The rows of a batch for each shard; None for those that read them.

    `groups` tell the series of rows, and `ready` those that take effect in the page.
    """
    wanted = asked.of(names_of(groups.words))
    pointer = np.concatenate((np.zeros(1, np.int64), np.cumsum(wanted.sum(axis=1))))
    rows, ends = _rows_of_each(
        groups.of_row,
        pointer,
        np.nonzero(wanted)[1].astype(np.int64),
        _told_to_all(batch, groups, ready),
        np.flatnonzero(asked.sent).astype(np.int64),
        len(asked.sent),
    )
    parts = cut_at(batch.take(rows), ends)
    return [part if sent else None for part, sent in zip(parts, asked.sent.tolist(), strict=True)]


def _told_to_all(batch: RowBatch, groups: RowGroups, ready: Flags) -> Flags:
    """Rows that every shard gets: late ones, those that wait, and of the others the newest.

    Late rows count as missed against the value that was the newest then, so all of them are kept.
    """
    timely = ready & ~batch.late
    told: Flags = ~timely
    columns = list(batch.numbers.values())
    for column in columns or [np.zeros(len(batch))]:
        _mark_newest(groups.of_row, len(groups.owner), batch.ts, column, timely, told)
    return told


@compiled
def _mark_newest(group, n_groups, ts, column, timely, told):  # type: ignore[no-untyped-def]
    """Mark the newest row of each group that has a value; of rows of one instant the last."""
    newest = np.full(n_groups, -1, np.int64)
    for i in range(len(group)):
        if timely[i] and not np.isnan(column[i]):
            at = newest[group[i]]
            if at < 0 or ts[i] >= ts[at]:
                newest[group[i]] = i
    for at in newest:
        if at >= 0:
            told[at] = True


@compiled
def _rows_of_each(  # type: ignore[no-untyped-def]
    group, pointer, shard, told, everyone, n_shards
):
    """Rows by the shard that gets them, in order of arrival; where the part of each begins.

    The shards that need group g are `shard[pointer[g]:pointer[g + 1]]`.
    """
    ends = np.zeros(n_shards + 1, np.int64)
    for i in range(len(group)):
        if told[i]:
            for s in everyone:
                ends[s + 1] += 1
        else:
            for j in range(pointer[group[i]], pointer[group[i] + 1]):
                ends[shard[j] + 1] += 1
    for s in range(n_shards):
        ends[s + 1] += ends[s]
    at, rows = ends[:-1].copy(), np.empty(ends[-1], np.int64)
    for i in range(len(group)):
        if told[i]:
            for s in everyone:
                rows[at[s]] = i
                at[s] += 1
        else:
            for j in range(pointer[group[i]], pointer[group[i] + 1]):
                s = shard[j]
                rows[at[s]] = i
                at[s] += 1
    return rows, ends
