"""The operators of a shard that read pages themselves: which there are, and their queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from streamgauge.engine.operator import PageOperator, Site, page_module
from streamgauge.engine.reading import Wanted
from streamgauge.engine.store import logged_columns
from streamgauge.engine.turns import turn
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Technique, technique_of, techniques


def operator_name(registry: Registry, standing: Standing) -> str:
    """The name of the operator that a query belongs to, among those that read pages."""
    technique = technique_of(standing)
    return _name(technique, technique.key(registry, standing).text())


def planned(
    site: Site, registry: Registry, held: Mapping[str, PageOperator]
) -> dict[str, PageOperator]:
    """The operators that the queries need, compiled; state that no query needs is gone."""
    shards = site.home.shards
    groups: dict[str, list[Standing]] = {}
    of: dict[str, Technique] = {}
    for technique, standing in _unfed(site, registry):
        if not technique.takes(standing, site.shard, shards):
            continue
        name = _name(technique, technique.key(registry, standing).text())
        groups.setdefault(name, []).append(standing)
        of[name] = technique
    order = {technique.name: place for place, technique in enumerate(techniques())}
    found: dict[str, PageOperator] = {}
    for name in sorted(groups, key=lambda name: order[of[name].name]):
        with turn(name, partial(asked_of, registry, name)):
            operator = held.get(name) or page_module(of[name]).opened()
            operator.compile(site, registry, groups[name])
            found[name] = operator
    return found


def asked_of(registry: Registry, name: str) -> list[Standing]:
    """The queries of an operator that reads pages, on all shards."""
    return [one for _, one in _running(registry) if operator_name(registry, one) == name]


def taken(site: Site, registry: Registry, having: Sequence[int]) -> dict[int, dict[str, Wanted]]:
    """What operators that no stream feeds take of streams, on some of the shards."""
    shards = site.home.shards
    found: dict[int, dict[str, Wanted]] = {shard: {} for shard in having}
    for technique, standing in _unfed(site, registry):
        here = [shard for shard in having if technique.takes(standing, shard, shards)]
        if not here:
            continue
        for name, columns in technique.reads(registry, standing).items():
            logged = logged_columns(registry.stream(name), (*columns.numbers, *columns.words))
            wanted = Wanted(logged=logged, checked=columns.numbers)
            for shard in here:
                found[shard][name] = found[shard].get(name, Wanted()).joined(wanted)
    return found


def _unfed(site: Site, registry: Registry) -> list[tuple[Technique, Standing]]:
    """Queries whose operators no stream feeds."""
    return site.once("unfed", partial(_running, registry))


def _running(registry: Registry) -> list[tuple[Technique, Standing]]:
    """Queries that are not suspended and whose operators no stream feeds."""
    running = (one for one in registry.queries.values() if one.suspended is None)
    asked = ((technique_of(one), one) for one in running)
    return [(technique, standing) for technique, standing in asked if not technique.fed]


def compiled_of(site: Site, registry: Registry, name: str, operator: PageOperator) -> bool:
    """Compile an operator for those of its queries that this shard has a part in, if any."""
    shards = site.home.shards
    queries = [
        standing
        for technique, standing in _running(registry)
        if technique.takes(standing, site.shard, shards)
        and operator_name(registry, standing) == name
    ]
    if queries:
        operator.compile(site, registry, queries)
    return bool(queries)


def compiled_for(
    site: Site, registry: Registry, standing: Standing, held: Mapping[str, PageOperator]
) -> PageOperator | None:
    """The operator of one query with all queries that share it, compiled; None where none is."""
    technique = technique_of(standing)
    name = operator_name(registry, standing)
    if technique.fed or name not in held:
        return None
    shards = site.home.shards
    sharing = [
        one
        for one in registry.queries.values()
        if one.suspended is None
        and technique_of(one) is technique
        and technique.takes(one, site.shard, shards)
        and operator_name(registry, one) == name
    ]
    if standing not in sharing:
        return None
    held[name].compile(site, registry, sharing)
    return held[name]


def _name(technique: Technique, key: str) -> str:
    return f"{technique.name}/{key}"
