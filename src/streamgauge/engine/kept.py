"""Kept: what the committed state holds for one query, and how many bytes that takes."""

from __future__ import annotations

from streamgauge.engine import state as wire
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.operator import Kept, Site
from streamgauge.engine.page_operators import compiled_for
from streamgauge.engine.state import ShardState
from streamgauge.engine.stream_state import operator_bytes
from streamgauge.log.commits import home_after
from streamgauge.log.home import Home
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import piece_of, share
from streamgauge.plan.technique import technique_of

__all__ = ["Kept", "kept"]


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
    if standing is None or standing.suspended is not None:
        return []
    total: dict[str, Kept] = {}
    home = home_after(home, epoch)
    for shard in range(home.shards):
        for part in _on_shard(home, epoch, shard, registry, standing):
            old = total.get(part.what, Kept(part.what, 0, 0))
            total[part.what] = Kept(part.what, old.count + part.count, old.nbytes + part.nbytes)
    return list(total.values())


def _on_shard(
    home: Home, epoch: int, shard: int, registry: Registry, standing: Standing
) -> list[Kept]:
    technique = technique_of(standing)
    if technique.fed:
        return _of_fed(wire.read_state(home, epoch, shard), registry, standing)
    if not technique.takes(standing, shard, home.shards):
        return []
    held = wire.read_state(home, epoch, shard).operators
    operator = compiled_for(Site(home, shard), registry, standing, held)
    return [] if operator is None else operator.kept(standing)


def _of_fed(state: ShardState, registry: Registry, standing: Standing) -> list[Kept]:
    plan = share(registry, registry.stream(standing.query.stream))
    key = piece_of(registry, standing)
    stream = state.streams.get(standing.query.stream)
    inputs = [] if stream is None else list(stream.inputs.values())
    held = next((one for one in inputs if key.text() in one.pieces), None)
    if held is None:
        return []
    what, count = held.pieces[key.text()].content()
    read = key.reads(plan.stream.schema, plan.operators[key])
    return [Kept(what, count, operator_bytes(held, key.text(), read))]
