"""EXPLAIN of a view: its plan, what each part keeps, and who shares it."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.kernel.time import duration_text
from streamgauge.plan.bidding import taken
from streamgauge.plan.explain import title
from streamgauge.plan.explaining import route_lines, scan_note
from streamgauge.plan.freshness import told
from streamgauge.plan.keeping import changing_in, retained, scan_of
from streamgauge.plan.memory import growing, growth, memory_of, own_memory
from streamgauge.plan.nodes import Node, Scan, Stored, Windowed
from streamgauge.plan.offer import Statistics
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import technique_of
from streamgauge.plan.tree import lines
from streamgauge.plan.view import View
from streamgauge.streams.table import Table


def explain_view(view: View, registry: Registry, *, shards: int, epoch: int) -> str:
    """The plan of a view as text, outermost first, as seen after an epoch."""
    others = _others(view, registry)
    kept = retained(view.plan, changing_in(registry.streams))
    rows = [(0, f"Answer {view.answer}", f"owed {view.contract}, {_mode(view)}")]
    for depth, text, node in lines(view.plan):
        rows.append((depth + 1, text, _note(node, registry, others, kept)))
    width = max(len(text) + 2 * depth for depth, text, _ in rows) + 4
    body = "\n".join(f"{'  ' * depth}{text}".ljust(width) + note for depth, text, note in rows)
    kind, reason = memory_of(view.plan, changing_in(registry.streams))
    fresh = told(view, [registry.stream(name) for name in view.streams], registry.windows)
    return "\n".join(
        (
            _title(view, registry, epoch),
            body,
            f"memory {kind}: {reason}",
            *_growth(growing(view.plan, changing_in(registry.streams))),
            *_stores(view, kept),
            *_placed(view, registry, shards),
            f"kept back 0 of the error: rows {'that are given ' if view.promise else ''}are exact",
            *([fresh] if fresh else []),
        )
    )


def _placed(view: View, registry: Registry, shards: int) -> list[str]:
    standing = registry.queries.get(view.name)
    if standing is None or standing.asked != view:
        standing = Standing(0, view, technique=taken(view, Statistics.of(registry, view)).technique)
    known = technique_of(standing)
    routes = known.routes(registry, standing)
    return [*known.place(registry, view, shards), *route_lines(routes)]


def _growth(streams: tuple[str, ...]) -> list[str]:
    if not streams:
        return []
    return [f"state {growth(streams)}; a window bounds it: {streams[0]} [RANGE 5 MINUTES]"]


def _title(view: View, registry: Registry, epoch: int) -> str:
    standing = registry.queries.get(view.name)
    if standing is None:
        return f"{view.name}, not registered"
    return title(standing, epoch)


def _mode(view: View) -> str:
    start = "from history" if view.history else "from now"
    words = {
        "changes": "rows that come and go",
        "append": "rows that stay",
        "store": "current rows only",
    }
    if view.stream_kind:
        return f"a stream of rows, {start}"
    return f"{words[view.mode]}, {start}"


def _others(view: View, registry: Registry) -> list[set[Node]]:
    """The nodes of each other view that could share work: those that begin with the same rows."""
    own = registry.queries.get(view.name)
    found = []
    for standing in registry.queries.values():
        other = standing.asked
        if not isinstance(other, View) or other.name == view.name:
            continue
        together = own is not None and own.born == standing.born
        if view.promise is not None or other.promise is not None:
            continue
        if view.history == other.history and (view.history or together):
            found.append(set(other.plan.walk()))
    return found


def _note(
    node: Node, registry: Registry, others: list[set[Node]], kept: Mapping[Windowed, str]
) -> str:
    """What a node spends, what it keeps and who else uses it."""
    if isinstance(node, Scan):
        return scan_note(registry.stream(node.stream))
    sharing = 1 + sum(node in nodes for nodes in others)
    shared = f"shared by {sharing} queries" if sharing > 1 else "not shared"
    if isinstance(node, Stored):
        return f"spends 0, {_origin(registry.tables[node.table])}, {shared}"
    _, reason = own_memory(node, kept)
    return f"spends 0, keeps {reason}, {shared}"


def _origin(table: Table) -> str:
    pace = "" if table.every is None else f", read again every {duration_text(table.every)}"
    return f"{table.origin}{pace}"


def _stores(view: View, kept: Mapping[Windowed, str]) -> list[str]:
    """The rows that are kept of each stream: as far back as its windows reach."""
    found = []
    for name in view.streams:
        windows = [str(node.window) for node in kept if scan_of(node).stream == name]
        kinds = ", ".join(sorted(set(windows), key=windows.index))
        found.append(f"store of {name}: {kinds or 'no row is kept'}")
    return found
