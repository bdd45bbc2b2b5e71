"""Rescaling: the state of a shard out of that of all shards there were before it.

The state after an epoch was left by as many shards as ran its page. Where others run the next,
each of them reads all of it once, and keeps what it owns: placement is a function of what is placed
and of the number of shards alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from streamgauge.engine import state as wire
from streamgauge.engine.distribution import columns_of
from streamgauge.engine.leaving import settle_names
from streamgauge.engine.operator import PageOperator, Site
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.state import ShardState
from streamgauge.engine.stream_inputs import UNSTARTED, InputState, StreamState
from streamgauge.log.home import Home
from streamgauge.plan.registry import Registry
from streamgauge.plan.sharing import StreamPlan, share


def gathered(home: Home, before: Home, shard: int, epoch: int, registry: Registry) -> ShardState:
    """The state of a shard after an epoch that other shards have run."""
    plans = {name: share(registry, stream) for name, stream in registry.streams.items()}
    state = ShardState(epoch, {name: StreamState() for name in plans})
    runs = {
        name: StreamRun(home, shard, plan, registry, state.streams[name])
        for name, plan in plans.items()
    }
    for number in range(before.shards):
        old = wire.read_state(before, epoch, number)
        for name, run in runs.items():
            if name in old.streams:
                _take_stream(run, _compiled(before, number, plans[name], registry, old, name))
        for name, operator in old.operators.items():
            known = state.operators.setdefault(name, operator)
            if known is not operator:
                known.join(operator, Site(home, shard), registry)
        state.lost |= old.lost
    for run in runs.values():
        for held in run.state.inputs.values():
            held.pieces = {name: p for name, p in held.pieces.items() if name not in held.lost}
    state.operators = {n: one for n, one in state.operators.items() if n not in state.lost}
    return state


def _compiled(
    home: Home, shard: int, plan: StreamPlan, registry: Registry, state: ShardState, name: str
) -> StreamRun:
    """A stream of a shard there was, with its queries: they say whose cells are whose."""
    run = StreamRun(home, shard, plan, registry, state.streams[name])
    for part in run.parts:
        run.state.inputs.setdefault(part, InputState())
    run.compile()
    return run


def _take_stream(run: StreamRun, part: StreamRun) -> None:
    """Take in what one shard knew of a stream: all knew the calendar of all rows."""
    state, old = run.state, part.state
    if state.closed == UNSTARTED:
        state.closed, state.awake_until, state.first = old.closed, old.awake_until, old.first
        state.tally, state.coming = old.tally, old.coming
    state.births = old.births | state.births
    for name, plan in run.parts.items():
        held, source = state.inputs.setdefault(name, InputState()), old.inputs[name]
        if not columns_of(name) and source.pieces and not held.pieces:
            # Series have the numbers that they had on the first of the shards that know them.
            held.words, held.series = source.words, source.series
        settle_names(held, plan)
        _take_operators(run, part, name)


def _take_operators(run: StreamRun, part: StreamRun, name: str) -> None:
    held, was, bench = run.state.inputs[name], part.bench(name), run.bench(name)
    for key, _ in run.mine(name):
        text = key.text()
        source = part.state.inputs[name]
        if text in source.lost:
            held.lost[text] = source.lost[text]
        piece = source.pieces.get(text)
        if piece is None or text in held.lost:
            continue
        moved = piece.relocated(was, bench)
        if moved is None:
            held.lost[text] = "numbers of names in a sketch differ between the shards there were"
        elif text in held.pieces:
            held.pieces[text].join(moved)
        else:
            held.pieces[text] = moved


def settle(
    site: Site, runs: Iterable[StreamRun], operators: Iterable[PageOperator], epoch: int
) -> None:
    """Have what belongs to a shard alone, once its queries are seated."""
    for run in runs:
        for name, held in run.state.inputs.items():
            for piece in held.pieces.values():
                # Groups that are on other shards now have not ended.
                piece.ends(run.state.closed)
            held.waiting = run._waiting(name, epoch + 1)
    for operator in operators:
        operator.settle(site)
