"""EXPLAIN: the plan of a standing query, who shares its work and who spends the error."""

from __future__ import annotations

from streamgauge.plan.explaining import route_lines
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import technique_of


def explain(registry: Registry, name: str, *, shards: int, epoch: int) -> str:
    """The plan of a query as text, outermost first, as seen after an epoch."""
    standing = registry.query(name)
    known = technique_of(standing)
    told, routes = known.explain(registry, standing, shards), known.routes(registry, standing)
    lines = [_title(standing, epoch), _body(told.tree), *route_lines(routes), *told.closing]
    return "\n".join(lines)


def _title(standing: Standing, epoch: int) -> str:
    since = f"since epoch {standing.born}" if standing.born <= epoch else "from the next epoch"
    return f"{standing.name} version {standing.version}, {standing.status}, {since}"


def _body(tree: list[tuple[int, str, str]]) -> str:
    """Lines of depth, text and note, with the notes in one column."""
    width = max(len(text) + 2 * depth for depth, text, _ in tree) + 4
    return "\n".join(f"{'  ' * depth}{text}".ljust(width) + note for depth, text, note in tree)
