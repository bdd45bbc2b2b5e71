"""Which files decide what a kernel compiles to: its own, and those whose names it uses.

A kernel uses other kernels and constants. Names are followed from the bodies of kernels through
the definitions of each module to the modules that they are imported from, and no further, so that
a change of an error message leaves compiled kernels as they are.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "streamgauge"
ROOT = Path(__file__).parent.parent
DECORATOR = "compiled"
# Stands for all names of a module, where it is imported whole.
ALL = "*"


@dataclass(frozen=True)
class Definitions:
    """What a module defines, what it imports from this package, and the names of its kernels."""

    names: Mapping[str, frozenset[str]]
    imports: Mapping[str, tuple[Path, str]]
    kernels: frozenset[str]

    def used(self, wanted: frozenset[str]) -> Iterator[tuple[Path, str]]:
        """Imported names that some names of the module rest on."""
        waiting, seen = set(self.names if ALL in wanted else wanted), set[str]()
        while waiting:
            name = waiting.pop()
            seen.add(name)
            waiting |= self.names.get(name, frozenset()) - seen
            if name in self.imports:
                yield self.imports[name]


@functools.cache
def definitions(path: Path) -> Definitions:
    """Read the definitions of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: dict[str, frozenset[str]] = {}
    imports: dict[str, tuple[Path, str]] = {}
    kernels: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom | ast.Import):
            imports.update(_imports(node))
            continue
        for name in _defined(node):
            names[name] = names.get(name, frozenset()) | _names_in(node)
            kernels.update({name} if DECORATOR in names[name] else ())
    # How kernels are kept decides nothing about them.
    imports.pop(DECORATOR, None)
    return Definitions(names, imports, frozenset(kernels))


def _defined(node: ast.stmt) -> list[str]:
    """Names that a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and _stored(part)]


def _stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _names_in(node: ast.stmt) -> frozenset[str]:
    return frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _imports(node: ast.ImportFrom | ast.Import) -> Iterator[tuple[str, tuple[Path, str]]]:
    """Names that come from this package, each with its file and its name there."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if file := _file(alias.name):
                yield alias.asname or alias.name.partition(".")[0], (file, ALL)
        return
    for alias in node.names:
        bound = alias.asname or alias.name
        if whole := _file(f"{node.module}.{alias.name}"):
            yield bound, (whole, ALL)
        elif file := _file(node.module or ""):
            yield bound, (file, alias.name)


def _file(module: str) -> Path | None:
    package, *parts = module.split(".")
    if package != PACKAGE:
        return None
    place = ROOT.joinpath(*parts)
    return next((f for f in (place.with_suffix(".py"), place / "__init__.py") if f.exists()), None)


def deciding(path: Path) -> set[Path]:
    """Files that decide what the kernels of a module compile to."""
    waiting = {(path, name) for name in definitions(path).kernels}
    seen: set[tuple[Path, str]] = set()
    while waiting:
        file, name = waiting.pop()
        seen.add((file, name))
        waiting |= set(definitions(file).used(frozenset({name}))) - seen
    return {path} | {file for file, _ in seen}
