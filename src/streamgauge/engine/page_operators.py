"""The operators of a shard that read pages themselves: which there are, and their queries."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.engine.operator import PageOperator, Site, page_module
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Technique, technique_of, techniques


def operator_name(registry: Registry, standing: Standing) -> str:
    """The name of the operator that a query belongs to, among those that read pages."""
    technique = technique_of(registry, standing)
    return _name(technique, technique.key(registry, standing).text())


def planned(
    site: Site, registry: Registry, held: Mapping[str, PageOperator]
) -> dict[str, PageOperator]:
    """The operators that the queries need, compiled; state that no query needs is gone."""
    shards = site.home.shards
    groups: dict[str, list[Standing]] = {}
    of: dict[str, Technique] = {}
    for standing in registry.queries.values():
        technique = technique_of(registry, standing)
        if technique.fed or not technique.takes(standing, site.shard, shards):
            continue
        name = _name(technique, technique.key(registry, standing).text())
        groups.setdefault(name, []).append(standing)
        of[name] = technique
    order = {technique.name: place for place, technique in enumerate(techniques())}
    found: dict[str, PageOperator] = {}
    for name in sorted(groups, key=lambda name: order[of[name].name]):
        found[name] = held.get(name) or page_module(of[name]).opened()
        found[name].compile(site, registry, groups[name])
    return found


def compiled_for(
    site: Site, registry: Registry, standing: Standing, held: Mapping[str, PageOperator]
) -> PageOperator | None:
    """The operator of one query with all queries that share it, compiled; None where none is."""
    technique = technique_of(registry, standing)
    name = operator_name(registry, standing)
    if technique.fed or name not in held:
        return None
    shards = site.home.shards
    sharing = [
        one
        for one in registry.queries.values()
        if technique_of(registry, one) is technique
        and technique.takes(one, site.shard, shards)
        and operator_name(registry, one) == name
    ]
    if standing not in sharing:
        return None
    held[name].compile(site, registry, sharing)
    return held[name]


def _name(technique: Technique, key: str) -> str:
    return f"{technique.name}/{key}"
