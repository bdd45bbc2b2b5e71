"""Kept: what the committed state holds for one query, and how many bytes that takes."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.engine import state as wire
from streamgauge.engine.across_run import is_across, state_key
from streamgauge.engine.across_state import pack_across
from streamgauge.engine.bounds_piece import BoundsPiece
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.dataflow import held_key
from streamgauge.engine.deferral_piece import DeferralPiece
from streamgauge.engine.portfolio_piece import PortfolioPiece
from streamgauge.engine.promise_join_run import JoinState
from streamgauge.engine.promise_panes import AggregateState
from streamgauge.engine.row_state import held_bytes, number_bytes, store_bytes
from streamgauge.engine.row_work import RowWork
from streamgauge.engine.state import ShardState
from streamgauge.engine.stream_state import Arrays, piece_bytes
from streamgauge.engine.view_run import ViewRun, number_key
from streamgauge.log.home import Home
from streamgauge.plan.keeping import changing_in, holds
from streamgauge.plan.nodes import Numbers
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.selections import group_of, selection_of, shard_of
from streamgauge.plan.sharing import piece_of
from streamgauge.plan.tree import lines
from streamgauge.plan.view import View


@dataclass(frozen=True, slots=True)
class Kept:
    """One part of the state that a query rests on, maybe together with others.

    Parameters
    ----------
    what
        What it is, in words: rows of a stream, groups.
    count
        How many of them there are.
    nbytes
        Bytes that they take in the stored state.
    """

    what: str
    count: int
    nbytes: int


def kept(home: Home, name: str) -> list[Kept]:
    """What the newest committed state holds for a query; nothing before its first epoch."""
    while True:
        epoch = home.committed()
        try:
            return _kept_after(home, epoch, name) if epoch else []
        except FileNotFoundError:
            # Two epochs passed while we read, and the state we read from is gone.
            if home.committed() == epoch:
                raise wire.absent(home, epoch) from None


def _kept_after(home: Home, epoch: int, name: str) -> list[Kept]:
    registry = registry_at(home, epoch)
    standing = registry.queries.get(name)
    if standing is None:
        return []
    if standing.asked.promise is not None:
        states = [_load(home, epoch, shard) for shard in range(home.shards)]
        return _promising(standing, states)
    if isinstance(standing.asked, View):
        shard = shard_of(standing, home.shards)
        return _of_view(home, shard, registry, standing, _load(home, epoch, shard))
    states = [_load(home, epoch, shard) for shard in range(home.shards)]
    if is_across(standing):
        return _across(standing, states)
    return _of_numbers(registry, standing, states)


def _load(home: Home, epoch: int, shard: int) -> ShardState:
    return wire.read_state(home, epoch, shard)


def _of_numbers(registry: Registry, standing: Standing, states: list[ShardState]) -> list[Kept]:
    key = piece_of(registry, standing).text()
    count = nbytes = 0
    what = "groups"
    for state in states:
        stream = state.streams.get(standing.query.stream)
        inputs = [] if stream is None else list(stream.inputs.values())
        held = next((one for one in inputs if key in one.pieces), None)
        if held is None:
            continue
        piece = held.pieces[key]
        nbytes += piece_bytes(held, key)
        if isinstance(piece, PortfolioPiece):
            what = "latest values"
            count += len(piece.x.value)
        elif isinstance(piece, BoundsPiece):
            what = "bounds"
            count += len(piece.bounds.value)
        elif isinstance(piece, DeferralPiece):
            what = "cells of deferred queries"
            count += len(piece.memory.due)
        else:
            count += len(piece.groups.texts)  # type: ignore[attr-defined]
    return [Kept(what, count, nbytes)] if nbytes else []


def _across(standing: Standing, states: list[ShardState]) -> list[Kept]:
    found = []
    for state in states:
        known = state.across.get(state_key(standing))
        if known is None:
            continue
        arrays: Arrays = {}
        pack_across("", {"": known}, arrays)
        panes = sum(len(part.panes.panes) for part in known.parts)
        found.append(Kept("panes", panes, sum(array.nbytes for array in arrays.values())))
    return found


def _promising(standing: Standing, states: list[ShardState]) -> list[Kept]:
    """Rows that are looked up or may yet be, over all shards with a part in the query."""
    rows = nbytes = 0
    for state in states:
        known = state.promise.of(standing)
        if isinstance(known, JoinState):
            rows += sum(len(side.serial) + len(side.waiting) for side in known.sides)
        elif isinstance(known, AggregateState):
            rows += known.given - known.base
        elif known is not None:
            rows += 0 if known.held is None else len(known.held)
        nbytes += state.promise.nbytes(standing)
    return [Kept("rows that are looked at by promise", rows, nbytes)] if nbytes else []


def _of_view(
    home: Home, shard: int, registry: Registry, standing: Standing, state: ShardState
) -> list[Kept]:
    view = standing.view
    selection = selection_of(view)
    if selection is not None:
        waiting = state.rows.selections[selection.stream].waiting
        what = f"waiting rows of {selection.stream}"
        return [Kept(what, len(waiting), store_bytes(waiting))]
    work = RowWork(home, shard, state.rows)
    work.plan(registry)
    return [*_stores(view, work.views[group_of(view)]), *_groups(standing, work)]


def _stores(view: View, run: ViewRun) -> list[Kept]:
    found = []
    for name in view.streams:
        store = run.state.stores.get(name)
        if store is not None:
            found.append(Kept(f"rows of {name}", len(store), store_bytes(store)))
    return found


def _groups(standing: Standing, work: RowWork) -> list[Kept]:
    """Groups that are kept instead of rows, node by node, and answers that are read as rows."""
    run = work.views[group_of(standing.view)]
    since, changing = run.since(standing), changing_in(run.streams)
    found = []
    for _, text, node in lines(standing.view.plan):
        if isinstance(node, Numbers):
            known = run.state.numbers[number_key(node)]
            found.append(Kept(f"groups of {text}", len(known.newest), number_bytes(known)))
        elif holds(node, changing):
            held = run.state.held.get(held_key(node, since))
            if held is not None:
                found.append(Kept(f"groups of {text}", len(held.groups), held_bytes(held)))
    return found
