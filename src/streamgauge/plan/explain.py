"""EXPLAIN: the plan of a standing query, who shares its work and who spends the error."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.plan.explaining import route_lines
from streamgauge.plan.planned_charges import planned, words
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.standing_queries import StandingQueries
from streamgauge.plan.technique import technique_of
from streamgauge.plan.view import View


def explain(registry: Registry, name: str, *, shards: int, epoch: int) -> str:
    """The plan of a query as text, outermost first, as seen after an epoch."""
    standing = registry.query(name)
    if standing.suspended is not None:
        # The plan that it has when it is resumed.
        asked = StandingQueries(registry.queries)
        asked[name] = replace(standing, suspended=None)
        registry = replace(registry, queries=asked)
    known = technique_of(standing)
    told, routes = (
        known.explain(registry, registry.query(name), shards),
        known.routes(registry, standing),
    )
    causes = [] if isinstance(standing.asked, View) else [_causes(registry, standing)]
    lines = [title(standing, epoch), _body(told.tree), *route_lines(routes), *causes]
    return "\n".join([*lines, *told.closing])


def _causes(registry: Registry, standing: Standing) -> str:
    return f"error by cause: {words(planned(registry, standing))}"


def title(standing: Standing, epoch: int) -> str:
    """The first line of a plan, and why the query does not run."""
    since = f"since epoch {standing.born}" if standing.born <= epoch else "from the next epoch"
    line = f"{standing.name} version {standing.version}, {standing.status}, {since}"
    return line if standing.suspended is None else f"{line}\n{standing.suspended}"


def _body(tree: list[tuple[int, str, str]]) -> str:
    """Lines of depth, text and note, with the notes in one column."""
    width = max(len(text) + 2 * depth for depth, text, _ in tree) + 4
    return "\n".join(f"{'  ' * depth}{text}".ljust(width) + note for depth, text, note in tree)
