"""Things by their dotted names, so that tables can name what is loaded when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(path: str) -> Any:
    """A module, or what it has: "module" or "module:name".

    >>> load("math:pi")
    3.141592653589793
    """
    module, _, name = path.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found
