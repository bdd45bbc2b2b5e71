"""Alternatives of the grammar that follow from tables: a target is no line of the grammar."""

from __future__ import annotations

from streamgauge.targets.table import KINDS, OF_ALERTS, OF_SINKS
from streamgauge.targets.target_kind import TargetKind


def _target(kind: TargetKind, *, formats: bool) -> str:
    """A target as it is written: TO, its name, its address, and what its kind has besides."""
    parts = [f'"TO" "{kind.name.upper()}" text']
    if kind.detail:
        parts.append(f'"{kind.detail.word}" text')
    if formats and kind.formats:
        parts.append('["FORMAT" (name | text)]')
    return " ".join([*parts, *(["login*"] if kind.login else [])])


ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "deliveries": tuple(f"{_target(KINDS[n], formats=False)} -> to_{n}" for n in OF_ALERTS),
    "outlets": tuple(f"{_target(KINDS[n], formats=True)} -> out_{n}" for n in OF_SINKS),
}
