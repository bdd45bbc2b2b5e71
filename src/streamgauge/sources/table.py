"""All kinds of sources: a line for each. Whatever knows sources goes by this table."""

from __future__ import annotations

from streamgauge.kernel.loading import load
from streamgauge.sources.source_kind import SourceKind

SOURCES = (
    "streamgauge.sources.kinds.files",
    "streamgauge.sources.kinds.plant",
    "streamgauge.sources.kinds.rate",
    "streamgauge.sources.kinds.replay",
    "streamgauge.sources.kinds.push",
    "streamgauge.sources.kinds.edge",
    "streamgauge.sources.kinds.mqtt",
    "streamgauge.sources.kinds.kafka",
    "streamgauge.sources.kinds.dataframe",
)
KINDS: dict[str, SourceKind] = {
    kind.name: kind for kind in (load(f"{name}:SOURCE") for name in SOURCES)
}
# Kinds that statements and project files can name.
DECLARED = {name: kind for name, kind in KINDS.items() if kind.declared}
