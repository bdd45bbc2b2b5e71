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
from streamgauge.contracts.causes import INTERRUPTION, LATE_ROWS
from streamgauge.engine import state as wire
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.operator import Newest, Operator, PageOperator, Site
from streamgauge.engine.page_operators import compiled_for, planned
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.stream_inputs import StreamState
from streamgauge.engine.unusable import Floats, Losses, losses_of, reaches
from streamgauge.engine.waiting import covers
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND
from streamgauge.log.commits import home_after
from streamgauge.log.home import Home
from streamgauge.operators import emission
from streamgauge.plan.assignment import Assignment
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import share as shared
from streamgauge.plan.technique import technique_of
from streamgauge.plan.view import View


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
    if standing.suspended is not None:
        raise BindError(
            f"query {name!r} is suspended",
            f"since epoch {standing.suspended.since}: {standing.suspended.why}",
            f"write RESUME QUERY {name}; row_changes({name!r}) gives the rows before",
        )
    found = [one.rows_now(standing) for one in _operators(home, epoch, registry, standing)]
    return found[0] if len(found) == 1 else pa.concat_tables(found).combine_chunks()


def _operators(
    home: Home, epoch: int, registry: Registry, standing: Standing
) -> Iterator[PageOperator]:
    """The operators of a query that reads pages, on the shards that have a part in it."""
    home = home_after(home, epoch)
    for shard in range(home.shards):
        if technique_of(standing).takes(standing, shard, home.shards):
            held = wire.read_state(home, epoch, shard).operators
            operator = compiled_for(Site(home, shard), registry, standing, held)
            if operator is not None:
                yield operator


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
    if standing is None or technique_of(standing).fed:
        return ""
    for operator in _operators(home, epoch, registry, standing):
        coverage, until = operator.covered(standing)
        if coverage < 1.0:
            return covers(registry, standing.asked.streams, coverage, until)
    return ""


def _answers_after(home: Home, epoch: int, name: str | None) -> list[Answer]:
    registry = registry_at(home, epoch)
    by_id = {s.id: s for s in registry.queries.values() if name in (None, s.name)}
    found: list[Answer] = []
    home = home_after(home, epoch)
    for shard in range(home.shards):
        state = wire.read_state(home, epoch, shard)
        others, found = found, []
        site = Site(home, shard)
        # Planning looks at every query; mostly there is no operator to plan for.
        known = state.operators
        if known:
            known = planned(site, registry, known, Assignment.of(registry).paged)
        for operator in known.values():
            for newest, tick in operator.latest_answers():
                found += _answers_of(newest, by_id, tick)
        for stream_name, stream in state.streams.items():
            tick = registry.stream(stream_name).tick
            for piece in readable(site, registry, stream_name, stream):
                for newest in piece.latest_answers():
                    found += _answers_of(newest, by_id, tick)
            found += _before_failing(stream, by_id, tick)
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


def _before_failing(state: StreamState, by_id: dict[int, Standing], tick: int) -> list[Answer]:
    """The newest answers of queries that are suspended: they hold no longer."""
    stalled = [one.operator for held in state.inputs.values() for one in held.stalled.values()]
    newest = (each for piece in stalled if piece.readable for each in piece.latest_answers())
    found = (answer for each in newest for answer in _answers_of(each, by_id, tick))
    return [replace(answer, contract_met=False) for answer in found]


def readable(site: Site, registry: Registry, name: str, state: StreamState) -> Iterator[Operator]:
    """The operators of a stored stream; those that cannot be read without their queries seated."""
    if all(piece.readable for piece in state.pieces.values()):
        yield from state.pieces.values()
        return
    plan = shared(registry, registry.stream(name))
    run = StreamRun(site.home, site.shard, plan, registry, state)
    asked = {key.text(): queries for part in run.parts for key, queries in run.mine(part)}
    for part in run.parts:
        for text, piece in state.inputs[part].pieces.items():
            if not piece.readable:
                piece.seat(run.bench(part), registry, asked[text])
            yield piece


def _answers_of(newest: Newest, by_id: dict[int, Standing], tick: int) -> list[Answer]:
    """The answer that an operator remembers, if it is of a query that is asked for."""
    standing = by_id.get(newest.number)
    if standing is None or standing.version != newest.version:
        return []
    answer = _answer(standing, newest, tick)
    return [replace(answer, slope=newest.slope * SECOND / tick, share=newest.share)]


def _answer(standing: Standing, newest: Newest, tick: int) -> Answer:
    """An answer as it is remembered."""
    cell, basis, text = newest.cell, newest.basis, newest.group
    value = cell[emission.LAST]
    interrupted = cell[emission.LAST_SILENT] > 0
    empty = cell[emission.LAST_SILENT] == emission.EMPTIED
    own_below, own_above, late_below, late_above = cell[emission.LAST_OWN_BELOW :]
    chance = 0.0 if empty or math.isnan(value) else 1.0 - newest.confidence
    doubt = (math.inf if interrupted else 0.0) if newest.silent is None else newest.silent
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
        confidence=newest.confidence,
        epoch=int(cell[emission.LAST_EPOCH]),
        coverage=cell[emission.LAST_COVERAGE],
        basis="interrupted" if interrupted else EMPTY if empty else basis,
        charges=charges_of(causes),
    )
    met = not interrupted and standing.query.contract.met_by(answer)
    return replace(answer, contract_met=met)
