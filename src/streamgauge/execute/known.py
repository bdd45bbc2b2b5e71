"""Names in force, for whoever completes what is typed."""

from __future__ import annotations

from streamgauge.execute.show import describe
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.language.complete import Known
from streamgauge.plan.registry import Registry
from streamgauge.plan.shadows import is_shadow


def known_names(registry: Registry) -> Known:
    """Names of a registry by kind, and the columns of what can be read."""

    def columns(name: str) -> tuple[str, ...]:
        if not any(name in kept for kept in readable):
            return ()
        try:
            return tuple(describe(registry, name)["column"].to_pylist())
        except StreamgaugeError:
            # A view whose streams are gone has no columns any more.
            return ()

    readable = (registry.streams, registry.tables, registry.queries, registry.names)
    return Known(
        {
            "stream": registry.streams,
            "view": registry.names,
            "table": registry.tables,
            "query": [name for name in registry.queries if not is_shadow(name)],
            "window": registry.windows,
            "function": registry.functions,
            "summary": registry.summaries,
            "alert": registry.alerts,
            "sink": registry.sinks,
        },
        columns,
    )
