"""Signatures: the types that kernels are compiled for, as text.

Numba compiles a kernel when it is first called with arguments of some types. `signatures.json`
lists kernels with the types of their arguments, so that they can be compiled before anyone waits
for them (`precompile.py`). A list that is old or incomplete costs time, never an answer: what it
lacks is compiled on first use. `make signatures` writes it from what the tests have compiled.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numba import from_dtype
from numba import types as numba_types
from numba.core.dispatcher import Dispatcher
from numba.np.numpy_support import as_dtype

from streamgauge.kernel.jit import compiled

ROOT = Path(__file__).parent.parent
LISTED = Path(__file__).with_name("signatures.json")
PACKAGE = "streamgauge"
# Numba has annotations for some of its types, and checks those that have none against them.
types: Any = numba_types
_ARRAY = re.compile(r"(readonly )?(unaligned )?array\((\w+), (\d+)d, (\w)\)")
_LITERAL = re.compile(r"Literal\[(int|bool)\]\((-?\w+)\)")


class Unlisted(TypeError):
    """A type that has no text here."""


class TypeNames:
    """Texts of types: plain ones as Numba writes them, tuples and records by a name in a table.

    >>> names = TypeNames({})
    >>> names.text(types.float64[::1])
    'array(float64, 1d, C)'
    >>> names.type("array(float64, 1d, C)") == types.float64[::1]
    True
    """

    def __init__(self, table: dict[str, Any]) -> None:
        self.table = table
        self._made: dict[str, Any] = {}

    def text(self, kind: Any) -> str:
        """The text of a type; what is made of others is entered in the table."""
        if isinstance(kind, types.Array):
            how = ("" if kind.mutable else "readonly ") + ("" if kind.aligned else "unaligned ")
            return f"{how}array({self.text(kind.dtype)}, {kind.ndim}d, {kind.layout})"
        if isinstance(kind, types.BaseNamedTuple):
            cls = kind.instance_class
            parts = [self.text(part) for part in kind.types]
            return self._entered(cls.__name__, {"class": _name(cls), "types": parts})
        if isinstance(kind, types.BaseTuple):
            return self._entered("Tuple", {"types": [self.text(part) for part in kind.types]})
        if isinstance(kind, types.Record) and from_dtype(as_dtype(kind)) == kind:
            return self._entered("Record", _fields(as_dtype(kind)))
        if isinstance(kind, types.Number | types.Boolean | types.Literal):
            return str(kind)
        raise Unlisted(str(kind))

    def _entered(self, prefix: str, entry: dict[str, Any]) -> str:
        plain = json.loads(json.dumps(entry))
        for name, known in self.table.items():
            if known == plain:
                return name
        name = f"{prefix.strip('_')}{len(self.table)}"
        self.table[name] = plain
        return name

    def type(self, text: str) -> Any:
        """The type of a text."""
        if found := _ARRAY.fullmatch(text):
            readonly, unaligned, dtype, ndim, layout = found.groups()
            kept = {"readonly": bool(readonly), "aligned": not unaligned}
            return types.Array(self.type(dtype), int(ndim), layout, **kept)
        if found := _LITERAL.fullmatch(text):
            return types.literal(found[2] == "True" if found[1] == "bool" else int(found[2]))
        if text in self.table:
            if text not in self._made:
                self._made[text] = self._of_table(self.table[text])
            return self._made[text]
        return getattr(types, text)

    def _of_table(self, entry: Mapping[str, Any]) -> Any:
        if "fields" in entry:
            formats = [(base, tuple(shape)) for base, shape in entry["fields"]["formats"]]
            fields: Any = {**entry["fields"], "formats": formats}
            return from_dtype(np.dtype(fields, align=entry["aligned"]))
        parts = tuple(self.type(part) for part in entry["types"])
        named = found(entry["class"]) if "class" in entry else None
        return types.BaseTuple.from_types(parts, named)


def _fields(record: Any) -> dict[str, Any]:
    fields = {
        "names": list(record.names),
        "formats": [(record[name].base.str, record[name].shape) for name in record.names],
        "offsets": [record.fields[name][1] for name in record.names],
        "itemsize": record.itemsize,
    }
    return {"fields": fields, "aligned": record.isalignedstruct}


def _name(thing: Any) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def found(name: str) -> Any:
    """What a name of the form `module:name` stands for."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def listed(path: Path = LISTED) -> tuple[TypeNames, dict[str, list[list[str]]]]:
    """The listed kernels with the texts of their types, by name."""
    if not path.exists():
        return TypeNames({}), {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return TypeNames(content["types"]), content["kernels"]


def kernels_of(module: str) -> Iterator[Any]:
    """The kernels that a module defines."""
    for thing in vars(importlib.import_module(module)).values():
        if isinstance(thing, Dispatcher) and thing.py_func.__module__ == module:
            yield thing


def on_disk(kernel: Any) -> list[tuple[Any, ...]]:
    """The types that a kernel of today's text has been compiled for."""
    return [key[0] for key in kernel._cache._cache_file._load_index()]


def write(path: Path, modules: Iterable[str]) -> None:
    """List all kernels of some modules that are on disk."""
    names, kernels = TypeNames({}), dict[str, list[list[str]]]()
    for kernel in (kernel for module in modules for kernel in kernels_of(module)):
        for kinds in sorted(on_disk(kernel), key=str):
            try:
                texts = [names.text(kind) for kind in kinds]
            except Unlisted:
                continue
            kernels.setdefault(_name(kernel.py_func), []).append(texts)
    parts = {"types": names.table, "kernels": dict(sorted(kernels.items()))}
    texts = [f"{json.dumps(part)}: {_lines(content)}" for part, content in parts.items()]
    path.write_text("{" + ",\n".join(texts) + "}\n", encoding="utf-8")


def _lines(content: Mapping[str, Any]) -> str:
    """JSON of an object, a line for each key."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def modules_with_kernels() -> list[str]:
    """Modules of the package that define kernels."""
    files = sorted(ROOT.rglob("*.py"))
    using = [file for file in files if f"import {compiled.__name__}\n" in file.read_text("utf-8")]
    return [".".join((PACKAGE, *file.relative_to(ROOT).with_suffix("").parts)) for file in using]


if __name__ == "__main__":
    write(LISTED, modules_with_kernels())
