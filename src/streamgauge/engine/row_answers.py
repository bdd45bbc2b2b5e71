"""Row answers: rows that operators give, put into blocks and marked with what they miss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.unusable import Losses, Reach, reaches
from streamgauge.operators.delta import Delta
from streamgauge.plan.registry import Standing
from streamgauge.results.row_blocks import RowBlock

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RowsGiven:
    """Rows that one view gave: net changes by instant.

    `share` and `unseen` say what a budget reached, `coverage` how much of the windows is kept;
    None: everything.
    """

    standing: Standing
    delta: Delta
    missing: Ints
    met: npt.NDArray[np.bool_]
    share: Floats | None = None
    unseen: Floats | None = None
    coverage: Floats | None = None


def marked(block: RowBlock, losses: Losses) -> RowBlock:
    """Rows with the rows missing behind them that could not be used."""
    lost = np.zeros(len(block.as_of), np.int64)
    places = np.repeat(np.arange(len(lost)), np.diff(block.offsets))
    alike: dict[tuple[Reach, ...], list[int]] = {}
    for number, (name, _) in enumerate(block.names):
        key = reaches(losses.registry.query(name).asked, losses.registry)
        alike.setdefault(key, []).append(number)
    for found, numbers in alike.items():
        here = places[np.isin(block.to, numbers)]
        lost[here] = np.maximum(lost[here], losses.rows(found, block.as_of[here]))
    return replace(block, missing=block.missing + lost, met=block.met & (lost == 0))


def row_blocks(given: Sequence[RowsGiven]) -> list[RowBlock]:
    """Rows of all views, one block for each set of columns."""
    by_schema: dict[pa.Schema, list[RowsGiven]] = {}
    for item in given:
        by_schema.setdefault(item.delta.rows.schema, []).append(item)
    blocks = []
    for items in by_schema.values():
        sizes = [len(item.delta) for item in items]
        total = sum(sizes)
        blocks.append(
            RowBlock(
                pa.concat_tables([item.delta.rows for item in items]),
                np.concatenate([item.delta.at for item in items]),
                np.concatenate([item.delta.count for item in items]),
                np.concatenate([item.missing for item in items]),
                np.concatenate([item.met for item in items]),
                tuple((item.standing.name, item.standing.version) for item in items),
                np.repeat(np.arange(len(items), dtype=np.int32), sizes),
                np.arange(total + 1, dtype=np.int32),
                _told([item.share for item in items], sizes, 1.0),
                _told([item.unseen for item in items], sizes, 0.0),
                _told([item.coverage for item in items], sizes, 1.0),
            )
        )
    return blocks


def _told(parts: Sequence[Floats | None], sizes: Sequence[int], usual: float) -> Floats | None:
    """What was said of the rows of each view, at its usual value where nothing was."""
    if all(part is None for part in parts):
        return None
    whole = zip(parts, sizes, strict=True)
    return np.concatenate([np.full(n, usual) if part is None else part for part, n in whole])
