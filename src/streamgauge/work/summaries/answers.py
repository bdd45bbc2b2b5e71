"""Answers from sketches, as they are asked for, made and remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from streamgauge.operators.aggregate import BETWEEN
from streamgauge.operators.emission import (
    COVERAGE,
    EMPTIED,
    GROUP,
    HIGH,
    LAST,
    LAST_COVERAGE,
    LAST_EPOCH,
    LAST_HIGH,
    LAST_LOW,
    LAST_OWN_ABOVE,
    LAST_OWN_BELOW,
    LAST_TICK,
    LOW,
    MEMORY,
    OWN_ABOVE,
    OWN_BELOW,
    QUERY,
    SILENT,
    TICK,
    VALUE,
    WIDTH,
    Floats,
)
from streamgauge.plan.registry import Standing
from streamgauge.synopses.questions import Question


class Asking(NamedTuple):
    """A compiled query: what it asks, when it is due, and its window in panes."""

    standing: Standing
    question: Question
    cadence: str
    period: int
    patience: int
    slide: int
    length: int
    since: int
    begun: int


class Top(NamedTuple):
    """The last list that a query over top items gave to a group."""

    query: int
    version: int
    rows: list[list[float]]
    texts: list[str]
    epoch: int = 0


def dropped(last: Top | None, who: tuple[int, int], texts: Sequence[str]) -> list[str]:
    """Items of the last list of a query that are not in the next."""
    # Another version has given nothing yet.
    if last is None or (last.query, last.version) != who:
        return []
    now = set(texts)
    return [text for text in last.texts if text not in now]


def remembered_item(row: Sequence[float], epoch: int) -> list[float]:
    """An item of a list, as answers are remembered."""
    cell = [0.0] * MEMORY
    cell[LAST], cell[LAST_LOW], cell[LAST_HIGH] = row[VALUE], row[LOW], row[HIGH]
    cell[LAST_TICK], cell[LAST_COVERAGE] = row[TICK], row[COVERAGE]
    cell[LAST_OWN_BELOW], cell[LAST_OWN_ABOVE] = row[OWN_BELOW], row[OWN_ABOVE]
    cell[LAST_EPOCH] = epoch
    return cell


@dataclass(slots=True)
class Answers:
    """Answers as they are made, with the texts of their groups."""

    matrix: Floats
    texts: list[str]
    n: int = 0

    def add(self, rows: list[list[float]], texts: list[str] | None) -> None:
        """Append answers; with texts of their own, these join the list."""
        if not rows:
            return
        more = np.array(rows)
        if texts is not None:
            more[:, GROUP] = np.arange(len(self.texts), len(self.texts) + len(texts))
            self.texts += texts
        self.matrix = np.concatenate((self.matrix[: self.n], more))
        self.n += len(rows)


def item_text(group: str, item: Any) -> str:
    """The name of a group's item: the values of the group, then the item or its parts."""
    if isinstance(item, float) and item.is_integer():
        item = int(item)
    parts = item.split(BETWEEN) if isinstance(item, str) else [item]
    return json.dumps([*json.loads(group or "[]"), *parts], default=str)


def gone_item(query: int, tick: int, covered: float) -> list[float]:
    """An item that is not in the list any more: its count is not known."""
    row = [0.0] * WIDTH
    row[QUERY], row[TICK], row[COVERAGE], row[SILENT] = query, tick, covered, EMPTIED
    row[VALUE] = row[LOW] = row[HIGH] = np.nan
    return row
