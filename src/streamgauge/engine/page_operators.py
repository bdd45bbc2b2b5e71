"""The operators of a shard that read pages themselves: which there are, and their queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from streamgauge.engine.distribution import logged_input
from streamgauge.engine.operator import PageOperator, Site, page_module
from streamgauge.engine.reading import Wanted
from streamgauge.engine.store import logged_columns
from streamgauge.plan.distribution import HashBy
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
        found[name] = held.get(name) or page_module(of[name]).opened()
        found[name].compile(site, registry, groups[name])
    return found


def taken(site: Site, registry: Registry, having: Sequence[int]) -> dict[int, dict[str, Wanted]]:
    """What operators that no stream feeds take of all rows of streams, on some of the shards."""
    shards = site.home.shards
    found: dict[int, dict[str, Wanted]] = {shard: {} for shard in having}
    for technique, standing in _unfed(site, registry):
        here = [shard for shard in having if technique.takes(standing, shard, shards)]
        if not here:
            continue
        for name, by, wanted in _reads(registry, technique, standing):
            for shard in here if by is None else ():
                found[shard][name] = found[shard].get(name, Wanted()).joined(wanted)
    return found


def taken_in_part(registry: Registry) -> dict[str, dict[str, Wanted]]:
    """What operators take of rows of streams that are split, by stream and by how they are."""
    found: dict[str, dict[str, Wanted]] = {}
    for technique, standing in _unfed_of(registry):
        for name, by, wanted in _reads(registry, technique, standing):
            if by is not None:
                known = found.setdefault(name, {})
                known[by] = known.get(by, Wanted()).joined(wanted)
    return found


def _reads(
    registry: Registry, technique: Technique, standing: Standing
) -> Iterator[tuple[str, str | None, Wanted]]:
    """The streams of a query, how the rows of each are split if they are, and what is taken."""
    routes = technique.routes(registry, standing)
    for name, columns in technique.reads(registry, standing).items():
        route = routes.get(name)
        by = route.by if isinstance(route, HashBy) else ()
        taken = (*columns.numbers, *columns.words, *by)
        logged = logged_columns(registry.stream(name), taken)
        yield name, logged_input(route), Wanted(logged=logged, checked=columns.numbers)


def _unfed(site: Site, registry: Registry) -> list[tuple[Technique, Standing]]:
    """Queries whose operators no stream feeds."""
    return site.once("unfed", partial(_unfed_of, registry))


def _unfed_of(registry: Registry) -> list[tuple[Technique, Standing]]:
    asked = ((technique_of(one), one) for one in registry.queries.values())
    return [(technique, standing) for technique, standing in asked if not technique.fed]


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
        if technique_of(one) is technique
        and technique.takes(one, site.shard, shards)
        and operator_name(registry, one) == name
    ]
    if standing not in sharing:
        return None
    held[name].compile(site, registry, sharing)
    return held[name]


def _name(technique: Technique, key: str) -> str:
    return f"{technique.name}/{key}"
