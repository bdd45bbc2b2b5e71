"""Names in statements and plans: what they refer to, and putting values for parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from streamgauge.language.parse import parse
from streamgauge.language.statements import FromName, FromResample, FromSelect
from streamgauge.operators.expression import Expr
from streamgauge.plan.members import Members
from streamgauge.plan.nodes import Scan, Stored
from streamgauge.plan.registry import Registry


def members(registry: Registry, name: str) -> tuple[str, ...]:
    """Queries that a name stands for: one, or the parts `name.x` and `name[x]` of a family."""
    if name not in registry.queries:
        parts = tuple(q for q in registry.queries if q.startswith((f"{name}.", f"{name}[")))
        if parts:
            return parts
    return (registry.query(name).name,)


def parts_of(value: Any) -> Iterator[Any]:
    """All frozen values inside a value, itself first."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts_of(item)
    elif is_dataclass(value):
        yield value
        for item in fields(value):
            yield from parts_of(getattr(value, item.name))


def functions_in(value: Any) -> set[str]:
    """Names of functions that a statement or a query calls."""
    calls = (part for part in parts_of(value) if isinstance(part, Expr))
    return {str(part.value) for part in calls if part.op in ("call", "aggregate")}


def tables_in(value: Any) -> set[str]:
    """Names of streams, tables and views that a statement or a query reads."""
    found = set()
    for part in parts_of(value):
        if isinstance(part, (FromName, FromResample)):
            found.add(part.name)
        elif isinstance(part, Scan):
            found.add(part.stream)
        elif isinstance(part, (Stored, Members)):
            found.add(part.table)
    return found


def reads_window(text: str, window: str, registry: Registry) -> bool:
    """Whether a query as written reads a window by its name, itself or in a view it reads."""
    said = parse(text)
    parts = [part for part in parts_of(said) if isinstance(part, (FromName, FromSelect))]
    if any(part.window == window for part in parts):
        return True
    inside = tables_in(said) & set(registry.names)
    return any(reads_window(registry.names[name], window, registry) for name in inside)


def changed(value: Any, change: Callable[[Expr], Expr | None]) -> Any:
    """The same value with every expression in it changed, those inside subqueries too."""
    if isinstance(value, tuple):
        return tuple(changed(item, change) for item in value)
    if isinstance(value, Expr) and (new := change(value)) is not None:
        return new
    if not is_dataclass(value) or isinstance(value, type):
        return value
    old = {item.name: getattr(value, item.name) for item in fields(value)}
    parts = {name: changed(part, change) for name, part in old.items()}
    return value if parts == old else replace(value, **parts)
