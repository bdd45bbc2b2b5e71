"""All kinds of targets: a line for each. Whatever knows targets goes by this table."""

from __future__ import annotations

from pathlib import Path

from streamgauge.kernel.loading import load
from streamgauge.targets.target_kind import TargetKind

TARGETS = (
    "streamgauge.targets.webhook",
    "streamgauge.targets.mail",
    "streamgauge.targets.kafka",
    "streamgauge.targets.postgres",
)
KINDS: dict[str, TargetKind] = {
    kind.name: kind for kind in (load(f"{name}:TARGET") for name in TARGETS)
}
# Kinds that alerts, and that answers of sinks, can be delivered to.
OF_ALERTS = tuple(kind.name for kind in KINDS.values() if kind.sender)
OF_SINKS = tuple(kind.name for kind in KINDS.values() if kind.writer)


def address_of(kind: str, address: str, root: Path) -> str:
    """The address as it is stored, from what was written and the directory it was written in."""
    known = KINDS.get(kind)
    if known is not None:
        known.refuse_stored(address)
        if known.is_a == "directory" and address:
            return str((root / address).absolute())
    return address
