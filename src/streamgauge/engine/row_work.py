"""The work on rows of one shard: its views and its selections, and the blocks they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.progress import StreamRun
from streamgauge.engine.selection_run import SelectionRun, SelectionState
from streamgauge.engine.unusable import Losses, Reach, reaches
from streamgauge.engine.view_run import RowsGiven, ViewRun, ViewState
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.selections import Selection, group_of, selection_of, shard_with
from streamgauge.plan.view import View
from streamgauge.results.row_blocks import RowBlock, write_rows

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class RowState:
    """What a shard knows of rows after an epoch."""

    views: dict[str, ViewState] = field(default_factory=dict)
    selections: dict[str, SelectionState] = field(default_factory=dict)


@dataclass(slots=True)
class RowWork:
    """All views of a shard, in the groups that are worked out together."""

    home: Home
    shard: int
    state: RowState
    views: dict[str, ViewRun] = field(default_factory=dict)
    selections: dict[str, SelectionRun] = field(default_factory=dict)

    def plan(self, registry: Registry) -> None:
        """Group the views that are registered; forget the state of groups that are gone."""
        groups: dict[str, list[Standing]] = {}
        selected: dict[str, list[tuple[Standing, Selection]]] = {}
        for standing in registry.queries.values():
            if not isinstance(standing.asked, View) or standing.asked.promise is not None:
                continue
            selection = selection_of(standing.asked)
            if shard_with(standing, selection, self.home.shards) != self.shard:
                continue
            if selection is None:
                groups.setdefault(group_of(standing.asked), []).append(standing)
            else:
                selected.setdefault(selection.stream, []).append((standing, selection))
        known = self.state
        known.views = {key: known.views.get(key) or ViewState() for key in groups}
        self.views = {
            key: ViewRun(self.home, registry, views, known.views[key])
            for key, views in groups.items()
        }
        self.selections = {
            name: SelectionRun(
                self.home, registry, registry.stream(name), views, known.selections.get(name)
            )
            for name, views in selected.items()
        }
        for run in self.selections.values():
            run.seat()
        known.selections = {
            name: run.state for name, run in self.selections.items() if run.state is not None
        }

    def seat(self, runs: dict[str, StreamRun], epoch: int) -> None:
        """Let the changes of an epoch take effect."""
        for view in self.views.values():
            view.seat(runs, epoch)

    def revived(self, state: RowState) -> RowWork:
        """The same plan over state that was stored."""
        work = RowWork(self.home, self.shard, state)
        for key, view in self.views.items():
            work.views[key] = replace(view, state=state.views[key])
        for name, selection in self.selections.items():
            work.selections[name] = replace(selection, state=state.selections[name])
        return work

    def advance(
        self,
        runs: dict[str, StreamRun],
        page: Page,
        losses: Losses,
        files: dict[str, int],
        attempt: str,
        more: Sequence[RowBlock] = (),
    ) -> int:
        """Take a page; write the rows it gives and `more`; return how many answers they are.

        `files` gets the checksum of each file, which has the name of the `attempt`.
        """
        blocks: list[RowBlock] = []
        for selection in self.selections.values():
            blocks += selection.advance(runs[selection.stream.name], page)
        given = [item for view in self.views.values() for item in view.advance(runs, page)]
        blocks += [*row_blocks(given), *more]
        if losses:
            blocks = [_marked(block, losses) for block in blocks]
        for serial, block in enumerate(blocks):
            path = self.home.rows(page.number, self.shard, serial, attempt)
            files[self.home.file_of(path)] = write_rows(path, block, epoch=page.number)
        return sum(len(block.to) for block in blocks)


def _marked(block: RowBlock, losses: Losses) -> RowBlock:
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
