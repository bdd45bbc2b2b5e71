"""Synopses: small mergeable state that stands for large data, one file each.

A new one is a file and a line in `KINDS` of its family; the checks, the laws and the guarantee
tests then run on it without further code. `REGISTRY` holds them all by name. The families are
imported when it is first asked for: a job without summaries never pays for them.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

from streamgauge.kernel.wire import kind_of
from streamgauge.synopses.on_use import kind_at
from streamgauge.synopses.synopsis import Synopsis

NAMES = (
    "exact",
    "samples",
    "quantiles",
    "frequencies",
    "distinct",
    "moments",
    "histograms",
    "windowed",
    "correlated",
)

FAMILIES: tuple[ModuleType, ...]
REGISTRY: dict[str, type[Synopsis]]


@functools.cache
def families() -> tuple[ModuleType, ...]:
    """Packages of synopses, in the order of their pages."""
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in NAMES)


@functools.cache
def registry() -> dict[str, type[Synopsis]]:
    """Every kind of synopsis by name."""
    return {kind.name: kind for family in families() for kind in family.KINDS}


def kind_named(name: str) -> type[Synopsis]:
    """A kind of synopsis by name, without importing all the others where its place is known."""
    return kind_at(name) or registry()[name]


def __getattr__(name: str) -> Any:
    if name == "REGISTRY":
        return registry()
    if name == "FAMILIES":
        return families()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def from_bytes(data: bytes) -> Synopsis:
    """Read any registered synopsis from its bytes."""
    return kind_named(kind_of(data)).from_bytes(data)
