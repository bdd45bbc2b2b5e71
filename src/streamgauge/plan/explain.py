"""EXPLAIN: the plan of a standing query, who shares its work and who spends the error."""

from __future__ import annotations

from streamgauge.plan.explaining import route_lines
from streamgauge.plan.planned_charges import planned, words
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import technique_of
from streamgauge.plan.view import View


def explain(registry: Registry, name: str, *, shards: int, epoch: int) -> str:
    """The plan of a query as text, outermost first, as seen after an epoch."""
    standing = registry.query(name)
    known = technique_of(standing)
    told, routes = known.explain(registry, standing, shards), known.routes(registry, standing)
    causes = [] if isinstance(standing.asked, View) else [_causes(registry, standing)]
    lines = [_title(standing, epoch), _body(told.tree), *route_lines(routes), *causes]
    return "\n".join([*lines, *told.closing])


def _causes(registry: Registry, standing: Standing) -> str:
    return f"error by cause: {words(planned(registry, standing))}"


def _title(standing: Standing, epoch: int) -> str:
    since = f"since epoch {standing.born}" if standing.born <= epoch else "from the next epoch"
    return f"{standing.name} version {standing.version}, {standing.status}, {since}"


def _body(tree: list[tuple[int, str, str]]) -> str:
    """Lines of depth, text and note, with the notes in one column."""
    width = max(len(text) + 2 * depth for depth, text, _ in tree) + 4
    return "\n".join(f"{'  ' * depth}{text}".ljust(width) + note for depth, text, note in tree)
