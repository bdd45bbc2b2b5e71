"""Latest answers: read from the committed state, so that there is one truth."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from streamgauge.contracts.answer import EMPTY, Answer, charges_of
from streamgauge.contracts.bars import Sides
from streamgauge.contracts.causes import FILTER, INTERRUPTION, LATE_ROWS
from streamgauge.engine import state as wire
from streamgauge.engine.across_run import AcrossRun, AcrossState, state_key
from streamgauge.engine.bounds_piece import BoundsPiece
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.decay_piece import DecayPiece
from streamgauge.engine.deferral_newest import newest
from streamgauge.engine.deferrals import seated
from streamgauge.engine.memory import Memories
from streamgauge.engine.pane_piece import PanePiece
from streamgauge.engine.portfolio_piece import PortfolioPiece
from streamgauge.engine.progress import StreamState
from streamgauge.engine.promise_aggregate_run import AggregateRun
from streamgauge.engine.promise_state import PromiseState
from streamgauge.engine.promise_work import PromiseWork, takes_part
from streamgauge.engine.ring_piece import RingPiece
from streamgauge.engine.row_work import RowWork
from streamgauge.engine.summary_piece import SummaryPiece
from streamgauge.engine.unusable import Floats, Losses, losses_of, reaches
from streamgauge.engine.view_run import covered_now, rows_now
from streamgauge.engine.waiting import covers
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND
from streamgauge.log.home import Home
from streamgauge.operators import emission
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.selections import group_of, selection_of, shard_of
from streamgauge.plan.view import View
from streamgauge.promise.costs import Allowance, Spent


def latest_answers(home: Home, name: str | None = None) -> list[Answer]:
    """The newest answer of every query and group, or of one query."""
    while True:
        epoch = home.committed()
        try:
            return _answers_after(home, epoch, name) if epoch else []
        except FileNotFoundError:
            # Two epochs passed while we read, and the state we read from is gone.
            if home.committed() == epoch:
                raise wire.absent(home, epoch) from None


def latest_rows(home: Home, name: str) -> pa.Table:
    """The rows that a view holds, read from the committed state."""
    while True:
        epoch = home.committed()
        try:
            return _rows_after(home, epoch, name)
        except FileNotFoundError:
            # Two epochs passed while we read, and the state we read from is gone.
            if home.committed() == epoch:
                raise wire.absent(home, epoch) from None


def _rows_after(home: Home, epoch: int, name: str) -> pa.Table:
    registry = registry_at(home, epoch)
    standing = registry.query(name)
    if not isinstance(standing.asked, View) or standing.asked.stream_kind:
        kind = "a stream of rows" if isinstance(standing.asked, View) else "numbers"
        raise BindError(
            f"query {name!r} holds no rows",
            f"it answers {kind}",
            "read row_changes(name) of a stream, latest(name) of numbers",
        )
    if standing.asked.promise is not None:
        return _promising_rows(home, epoch, registry, standing)
    shard = shard_of(standing, home.shards)
    state = wire.read_state(home, epoch, shard)
    work = RowWork(home, shard, state.rows)
    work.plan(registry)
    return rows_now(work.views[group_of(standing.asked)], standing)


def rows_covered(home: Home, name: str) -> str:
    """What the rows that a view holds miss because it is not kept, and until when; or nothing."""
    while True:
        epoch = home.committed()
        try:
            return _covered_after(home, epoch, name)
        except FileNotFoundError:
            # Two epochs passed while we read, and the state we read from is gone.
            if home.committed() == epoch:
                raise


def _covered_after(home: Home, epoch: int, name: str) -> str:
    registry = registry_at(home, epoch)
    standing = registry.queries.get(name)
    if standing is None or not isinstance(standing.asked, View) or standing.asked.promise:
        return ""
    if selection_of(standing.asked) is not None:
        return ""
    shard = shard_of(standing, home.shards)
    state = wire.from_bytes(home.state(epoch, shard).read_bytes(), shard, home.shards)
    work = RowWork(home, shard, state.rows)
    work.plan(registry)
    coverage, until = covered_now(work.views[group_of(standing.asked)], standing)
    return "" if coverage == 1.0 else covers(registry, standing.asked.streams, coverage, until)


def _promising_rows(home: Home, epoch: int, registry: Registry, standing: Standing) -> pa.Table:
    """Rows that a promising view has found and holds, from all shards with a part in it."""
    found = []
    for shard in range(home.shards):
        if takes_part(standing, shard, home.shards):
            state = wire.read_state(home, epoch, shard)
            work = PromiseWork(home, shard, state.promise)
            work.plan(registry)
            found.append(work.rows_now(standing))
    return pa.concat_tables(found).combine_chunks()


def _answers_after(home: Home, epoch: int, name: str | None) -> list[Answer]:
    registry = registry_at(home, epoch)
    by_id = {s.id: s for s in registry.queries.values() if name in (None, s.name)}
    found: list[Answer] = []
    for shard in range(home.shards):
        state = wire.read_state(home, epoch, shard)
        others, found = found, []
        found += _from_across(state.across, by_id, registry, home)
        found += _from_promise(state.promise, by_id, registry, home)
        for stream_name, stream in state.streams.items():
            tick = registry.stream(stream_name).tick
            found += _deferred(home, registry, shard, stream_name, stream, by_id)
            for piece in stream.pieces.values():
                if isinstance(piece, PortfolioPiece):
                    found += _from_memory(piece.seats.memory, [""], by_id, tick)
                elif isinstance(piece, BoundsPiece):
                    found += _from_bounds(piece, by_id, tick)
                elif isinstance(piece, SummaryPiece):
                    found += _from_summaries(piece, by_id, tick)
                elif isinstance(piece, (PanePiece, RingPiece, DecayPiece)):
                    found += _from_memory(piece.seats.memory, piece.groups.texts, by_id, tick)
        losses = losses_of(registry, state.streams)
        found = others + (_marked(found, losses, state.streams) if losses else found)
    return sorted(found, key=lambda answer: (answer.query, str(answer.group)))


def _marked(answers: list[Answer], losses: Losses, streams: dict[str, StreamState]) -> list[Answer]:
    """Answers with what they miss of rows that could not be used."""
    places: dict[str, int] = {}
    who = [places.setdefault(answer.query, len(places)) for answer in answers]
    queries = [losses.registry.query(name).query for name in places]
    looked = [reaches(query, losses.registry) for query in queries]
    number, at = np.array(who, np.int32), np.array([a.as_of for a in answers], np.int64)
    # One that stands until it changes misses what has been lost since, too.
    since = [
        (place, streams[name].closed * losses.registry.stream(name).tick)
        for place, query in enumerate(queries)
        if query.answer.kind == "change"
        for name in query.streams
    ]
    later = np.array(since, np.int64).reshape(-1, 2)
    lasting = np.ones(len(queries))
    now = losses.coverage_of_each(looked.__getitem__, later[:, 0].astype(np.int32), later[:, 1])
    np.minimum.at(lasting, later[:, 0], now)
    covered = losses.coverage_of_each(looked.__getitem__, number, at)
    marked = list(answers)
    for place, share in _below_one(np.minimum(covered, lasting[number])):
        answer = answers[place]
        coverage = answer.coverage * share
        marked[place] = replace(answer, coverage=coverage, contract_met=False)
    return marked


def _below_one(covered: Floats) -> Iterator[tuple[int, float]]:
    places = np.flatnonzero(covered < 1.0)
    yield from zip(places.tolist(), covered[places].tolist(), strict=True)


def _from_across(
    states: dict[str, AcrossState], by_id: dict[int, Standing], registry: Registry, home: Home
) -> list[Answer]:
    out = []
    for standing in by_id.values():
        state = states.get(state_key(standing))
        if state is None:
            continue
        run = AcrossRun(home, registry, standing, state)
        memory = Memories([(standing.id, standing.version)], state.memory[np.newaxis])
        out += _from_memory(memory, [""], by_id, run.tick, *run.sworn)
    return out


def _from_promise(
    state: PromiseState, by_id: dict[int, Standing], registry: Registry, home: Home
) -> list[Answer]:
    out = []
    for standing in by_id.values():
        known = state.aggregates.get(state_key(standing))
        if known is None:
            continue
        run = AggregateRun(home, registry, standing, Allowance(), Spent(), known)
        memory = Memories([(standing.id, standing.version)], known.memory[np.newaxis])
        found = _from_memory(memory, [""], by_id, run.stream.tick, *run.sworn)
        out += [replace(answer, share=known.share) for answer in found]
    return out


def _from_summaries(piece: SummaryPiece, by_id: dict[int, Standing], tick: int) -> list[Answer]:
    sworn = piece.basis, piece.confidence
    memory = piece.seats.memory
    out = _from_memory(memory, piece.groups.texts, by_id, tick, *sworn)
    for top in piece.tops.values():
        standing = by_id.get(top.query)
        if standing is None or standing.version != top.version:
            continue
        for row, text in zip(top.rows, top.texts, strict=True):
            cell = [0.0] * emission.MEMORY
            cell[emission.LAST] = row[emission.VALUE]
            cell[emission.LAST_LOW], cell[emission.LAST_HIGH] = row[
                emission.LOW : emission.HIGH + 1
            ]
            cell[emission.LAST_TICK] = row[emission.TICK]
            cell[emission.LAST_COVERAGE] = row[emission.COVERAGE]
            cell[emission.LAST_OWN_BELOW] = row[emission.OWN_BELOW]
            cell[emission.LAST_OWN_ABOVE] = row[emission.OWN_ABOVE]
            cell[emission.LAST_EPOCH] = top.epoch
            out.append(_answer(standing, text, cell, tick, *sworn))
    return out


def _from_bounds(piece: BoundsPiece, by_id: dict[int, Standing], tick: int) -> list[Answer]:
    out = []
    for number, version, text, memory in piece.newest():
        standing = by_id.get(number)
        if standing is not None and standing.version == version:
            wide = memory[emission.LAST_HIGH] > memory[emission.LAST_LOW]
            basis = FILTER if wide else "exact"
            out.append(_answer(standing, text, memory, tick, basis, 1.0))
    return out


def _deferred(
    home: Home,
    registry: Registry,
    shard: int,
    name: str,
    state: StreamState,
    by_id: dict[int, Standing],
) -> list[Answer]:
    """Newest answers of deferred queries; their groups follow from the plan."""
    found, tick = [], registry.stream(name).tick
    for piece in seated(home, registry, shard, name, state):
        for item in newest(piece):
            if item.standing.id in by_id:
                cell, silent = item.cell, item.silent
                answer = _answer(item.standing, item.text, cell, tick, *item.sworn, silent=silent)
                found.append(replace(answer, slope=item.slope * SECOND / tick))
    return found


def _from_memory(
    memory: Memories,
    groups: list[str],
    by_id: dict[int, Standing],
    tick: int,
    basis: str = "exact",
    confidence: float = 1.0,
) -> list[Answer]:
    out = []
    for row, (number, version) in enumerate(memory.who):
        standing = by_id.get(number)
        if standing is None or standing.version != version:
            continue
        for group, text in enumerate(groups):
            cell = memory.cells[row, group] if group < memory.cells.shape[1] else None
            if cell is not None and cell[emission.GIVEN]:
                plain = [float(x) for x in cell]
                out.append(_answer(standing, text, plain, tick, basis, confidence))
    return out


def _answer(
    standing: Standing,
    text: str,
    cell: list[float],
    tick: int,
    basis: str,
    confidence: float,
    *,
    silent: float | None = None,
) -> Answer:
    """An answer as it is remembered; `silent` is what silence adds, where that is bounded."""
    value = cell[emission.LAST]
    interrupted = cell[emission.LAST_SILENT] > 0
    empty = cell[emission.LAST_SILENT] == emission.EMPTIED
    own_below, own_above, late_below, late_above = cell[emission.LAST_OWN_BELOW :]
    chance = 0.0 if empty or math.isnan(value) else 1.0 - confidence
    doubt = (math.inf if interrupted else 0.0) if silent is None else silent
    causes = (
        Sides(basis, own_below, own_above, chance),
        Sides(LATE_ROWS, late_below, late_above),
        Sides(INTERRUPTION, doubt, doubt),
    )
    answer = Answer(
        standing.query.name,
        None if math.isnan(value) else value,
        cell[emission.LAST_LOW],
        cell[emission.LAST_HIGH],
        as_of=int(cell[emission.LAST_TICK]) * tick,
        version=standing.version,
        group=tuple(json.loads(text)) if text else (),
        confidence=confidence,
        epoch=int(cell[emission.LAST_EPOCH]),
        coverage=cell[emission.LAST_COVERAGE],
        basis="interrupted" if interrupted else EMPTY if empty else basis,
        charges=charges_of(causes),
    )
    met = not interrupted and standing.query.contract.met_by(answer)
    return replace(answer, contract_met=met)
