"""Moving views to other shards after a rescale: those over the same windows stay together."""

from __future__ import annotations

from streamgauge.engine.logged_rows import owners_by
from streamgauge.engine.store import merged, widened
from streamgauge.log.home import Home
from streamgauge.operators.delta import joined
from streamgauge.plan.partitioning import shown_columns
from streamgauge.plan.registry import Registry, Standing
from streamgauge.work.relations.view_run import ViewRun, ViewState, columns_of, number_key


def put_together(state: ViewState, other: ViewState, registry: Registry, home: Home) -> None:
    """Have the views of both, and the rows that the windows of either hold."""
    for name, theirs in other.stores.items():
        mine = state.stores.get(name, theirs)
        columns = list(dict.fromkeys((*mine.rows.column_names, *theirs.rows.column_names)))
        stream = registry.stream(name)
        both = [widened(store, stream, columns, home) for store in (mine, theirs)]
        state.stores[name] = merged(both)
    state.tables = other.tables | state.tables
    state.held = other.held | state.held
    state.born = other.born | state.born
    for who, delta in other.pending.items():
        held = [state.pending[who]] if who in state.pending else []
        state.pending[who] = joined([*held, delta], delta.rows.schema)
    state.whole = other.whole | state.whole
    state.numbers = other.numbers | state.numbers


def keep_read(run: ViewRun) -> None:
    """Keep what the views that are here read."""
    state = run.state
    known = {(standing.id, standing.version) for standing in run.views}
    state.born = {who: at for who, at in state.born.items() if who in known}
    state.pending = {who: delta for who, delta in state.pending.items() if who in known}
    state.whole = {who: state.whole[who] for who in state.born}
    for name, stream in run.streams.items():
        columns = columns_of(run.views, name, run.split.get(name))
        store = widened(state.stores[name], stream, columns, run.site.home)
        state.stores[name] = run.mine_of(name, store)
    for standing in run.views if run.split else ():
        _keep_pending(run, standing)
    names = {name for standing in run.views for name in standing.view.tables}
    state.tables = {name: state.tables[name] for name in sorted(names)}
    asked = {number_key(node) for node in run.asked}
    state.numbers = {key: state.numbers[key] for key in sorted(asked)}
    wanted = set(run.held_keys())
    state.held = {key: held for key, held in state.held.items() if key in wanted}


def _keep_pending(run: ViewRun, standing: Standing) -> None:
    """Keep the changes that wait of rows that are this shard's."""
    who = standing.id, standing.version
    if who in run.state.pending:
        delta = run.state.pending[who]
        columns = shown_columns(standing.view.plan)
        owners = owners_by(delta.rows, columns, run.site.home.shards)
        run.state.pending[who] = delta.take(owners == run.site.shard)
