"""The operators of a shard that read pages themselves: which there are, and their queries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from streamgauge.engine.distribution import logged_input
from streamgauge.engine.operator import PageOperator, Site, page_module
from streamgauge.engine.reading import Wanted
from streamgauge.engine.store import logged_columns
from streamgauge.engine.turns import turn
from streamgauge.plan.assignment import technique_of_name
from streamgauge.plan.distribution import HashBy
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Technique, technique_of


def operator_name(registry: Registry, standing: Standing) -> str:
    """The name of the operator that a query belongs to, among those that read pages."""
    technique = technique_of(standing)
    return _name(technique, technique.key(registry, standing).text())


def planned(
    site: Site,
    registry: Registry,
    held: Mapping[str, PageOperator],
    asked: Mapping[str, Sequence[Standing]],
    touched: Collection[str] | None = None,
) -> dict[str, PageOperator]:
    """The operators that queries need, in their order; state that no query needs is gone.

    All are compiled, or those that a change has `touched`.
    """
    shards = site.home.shards
    found: dict[str, PageOperator] = {}
    for name, queries in asked.items():
        if touched is not None and name not in touched:
            if name in held:
                found[name] = held[name]
            continue
        known = technique_of_name(name)
        mine = [one for one in queries if known.takes(one, site.shard, shards)]
        if mine:
            with turn(name, partial(_listed, queries)):
                operator = held.get(name) or page_module(known).opened()
                operator.compile(site, registry, mine)
                found[name] = operator
    return found


def _listed(queries: Sequence[Standing]) -> Sequence[Standing]:
    return queries


def taken(
    site: Site, registry: Registry, asked: Mapping[str, Sequence[Standing]], shard: int
) -> dict[str, Wanted]:
    """What operators that read pages take of all rows of streams on a shard."""
    found: dict[str, Wanted] = {}
    for name, queries in asked.items():
        known = technique_of_name(name)
        for standing in queries:
            if not known.takes(standing, shard, site.home.shards):
                continue
            for stream, by, wanted in _reads(registry, known, standing):
                if by is None:
                    found[stream] = found.get(stream, Wanted()).joined(wanted)
    return found


def compiled_of(
    site: Site, registry: Registry, name: str, queries: Sequence[Standing], operator: PageOperator
) -> bool:
    """Compile an operator for those of its queries that this shard has a part in, if any."""
    known = technique_of_name(name)
    mine = [one for one in queries if known.takes(one, site.shard, site.home.shards)]
    if mine:
        operator.compile(site, registry, mine)
    return bool(mine)


def taken_in_part(
    registry: Registry, asked: Mapping[str, Sequence[Standing]]
) -> dict[str, dict[str, Wanted]]:
    """What they take of rows of streams that are split, by stream and by how they are."""
    found: dict[str, dict[str, Wanted]] = {}
    for name, queries in asked.items():
        for standing in queries:
            for stream, by, wanted in _reads(registry, technique_of_name(name), standing):
                if by is not None:
                    known = found.setdefault(stream, {})
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
        logged = logged_columns(registry.stream(name), (*columns.numbers, *columns.words, *by))
        yield name, logged_input(route), Wanted(logged=logged, checked=columns.numbers)


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
