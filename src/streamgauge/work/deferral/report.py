"""Deferrals: what the cells of deferred queries are doing, read from the committed state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamgauge.drift.cells import TIMER
from streamgauge.engine import state as wire
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.latest import readable
from streamgauge.engine.operator import Site
from streamgauge.log.commits import home_after
from streamgauge.log.home import Home
from streamgauge.operators.accumulate import AVG
from streamgauge.operators.emission import ALWAYS, Floats
from streamgauge.work.deferral.operator import DeferralOperator
from streamgauge.work.deferral.roster import Roster

# Names of silent series that are listed for a cell.
MOST_NAMES = 20

DEFERRALS = pa.schema(
    [
        ("query", pa.string()),
        ("version", pa.int32()),
        ("group", pa.string()),
        ("regime", pa.string()),
        ("members", pa.int32()),
        ("silent", pa.int32()),
        ("silent_series", pa.list_(pa.string())),
        ("checks", pa.int64()),
        ("evaluations", pa.int64()),
        ("drift", pa.float64()),
        ("sigma", pa.float64()),
        ("wait", pa.float64()),
        ("due", pa.timestamp("us", tz="UTC")),
        ("missed", pa.int64()),
        ("penalty", pa.float64()),
    ]
)


def deferrals(home: Home, name: str | None = None) -> pa.Table:
    """One row for each cell of the deferred queries, or of one of them.

    `silent_series` names the silent members, the first 20 of them by name. `checks` are the ticks
    it could have been evaluated at since it was registered, `drift` and `sigma` its model per
    second and per root second, `wait` the seconds it usually waits, `due` its next deadline;
    `missed` are deadlines that lack of capacity made late, `penalty` the error that is expected of
    it.
    """
    while True:
        epoch = home.committed()
        try:
            return _deferrals_after(home, epoch, name) if epoch else DEFERRALS.empty_table()
        except FileNotFoundError:
            # Two epochs passed while we read, and the state we read from is gone.
            if home.committed() == epoch:
                raise wire.absent(home, epoch) from None


def _deferrals_after(home: Home, epoch: int, name: str | None) -> pa.Table:
    parts = [DEFERRALS.empty_table()]
    registry = registry_at(home, epoch)
    home = home_after(home, epoch)
    for shard in range(home.shards):
        state = wire.read_state(home, epoch, shard)
        for stream, held in state.streams.items():
            tick = registry.stream(stream).tick
            found = readable(Site(home, shard), registry, stream, held)
            pieces = [piece for piece in found if isinstance(piece, DeferralOperator)]
            named = held.whole.series.names.values
            parts += [_rows(piece, tick, name, named) for piece in pieces]
    return pa.concat_tables(parts)


def silent_members(piece: DeferralOperator, named: Sequence[str]) -> list[list[str]]:
    """Names of the members of each cell that are silent at the last tick, in order."""
    roster = piece.roster
    assert roster is not None
    found: list[list[str]] = [[] for _ in roster.cells]
    if not len(piece.recent):
        return found
    paths, now = piece.paths, piece.recent[-1]
    quiet = (paths["tick"] != ALWAYS) & (now - paths["tick"] > paths["gap"])
    links, silent = roster.links, np.zeros(len(named), np.bool_)
    silent[: len(paths)] = quiet
    owner = np.repeat(np.arange(len(found)), np.diff(links.pointer))
    for place in np.flatnonzero(silent[links.member]).tolist():
        c, s = int(owner[place]), int(links.member[place])
        if paths["tick"][s] > roster.cells["born"][c]:
            found[c].append(named[s])
    return [sorted(names) for names in found]


def _rows(piece: DeferralOperator, tick: int, name: str | None, named: Sequence[str]) -> pa.Table:
    roster, memory = piece.roster, piece.memory
    assert roster is not None
    per_query = [s.name for s in piece.standings], [s.version for s in piece.standings]
    names, versions = (np.repeat(np.array(part), roster.sizes) for part in per_query)
    chosen = np.ones(len(names), np.bool_) if name is None else names == name
    members = silent_members(piece, named)
    quiet = [members[c] for c in np.flatnonzero(chosen).tolist()]
    second = 1e6 / tick
    mu, var = _models(piece, roster)
    watched = memory.cell["regime"] != TIMER
    unset = (memory.due == ALWAYS) | watched
    due = np.where(unset, 0, memory.due) * tick
    columns = [
        pa.array(names[chosen].tolist(), pa.string()),
        pa.array(versions[chosen].astype(np.int32)),
        roster.texts.filter(pa.array(chosen)),
        pa.array(np.where(watched, "watch", "timer")[chosen].tolist(), pa.string()),
        pa.array(np.diff(roster.links.pointer)[chosen].astype(np.int32)),
        pa.array([len(names) for names in quiet], pa.int32()),
        pa.array([names[:MOST_NAMES] for names in quiet], pa.list_(pa.string())),
        pa.array((piece.ticks - memory.cell["started"][chosen]).astype(np.int64)),
        pa.array(memory.cell["evaluations"][chosen].astype(np.int64)),
        pa.array((mu * second)[chosen]),
        pa.array((np.sqrt(var) * np.sqrt(second))[chosen]),
        pa.array((memory.cell["usual"] / second)[chosen].astype(np.float64)),
        pa.array(due[chosen], pa.int64(), mask=unset[chosen]).cast(pa.timestamp("us", tz="UTC")),
        pa.array(memory.cell["missed"][chosen].astype(np.int64)),
        pa.array(memory.cell["penalty"][chosen].astype(np.float64)),
    ]
    return pa.table(columns, schema=DEFERRALS)


def _models(piece: DeferralOperator, roster: Roster) -> tuple[Floats, Floats]:
    """Drift and variance per tick of each cell, by its members and what it learned itself."""
    links, n = roster.links, len(roster.cells)
    owner = np.repeat(np.arange(n), np.diff(links.pointer))
    weight = links.weight if len(links.weight) else np.ones(len(links.member))
    mass = np.bincount(owner, weight, n)
    # Series that no row has come from have no path yet.
    seen = links.member < len(piece.paths)
    owner, weight, member = owner[seen], weight[seen], links.member[seen]
    mu = np.bincount(owner, weight * piece.paths["mu"][member], n)
    var = np.bincount(owner, weight**2 * piece.paths["var"][member], n)
    averaged = (roster.cells["op"] == AVG) & (mass != 0.0)
    scale = np.where(averaged, mass, 1.0)
    cell = piece.memory.cell
    own = cell["seen"] > 0.0
    drift = np.where(own, cell["moved"] / np.where(own, cell["seen"], 1.0), mu / scale)
    told = cell["foretold"] > 0.0
    ratio = np.where(told, cell["squares"] / np.where(told, cell["foretold"], 1.0), 1.0)
    return drift.astype(np.float64), var / scale**2 * ratio
