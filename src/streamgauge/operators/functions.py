"""Functions of one's own: Python functions that a query calls by name.

A function is kept by its place, `module:name`, never by its code, so that every worker finds the
same one and a later release can still read the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from streamgauge.kernel.errors import BindError


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function with a name in queries.

    Parameters
    ----------
    name
        Name in queries, in lower case.
    target
        Where it is: `module:name`. A plain function takes one NumPy array per argument and returns
        one of the same length; an aggregate takes the values of a group and returns a number.
    returns
        Type of the result: float, int, string, bool or time.
    aggregate
        Whether it is an aggregate.

    Examples
    --------
    >>> float(Function("hypot", "numpy:hypot").load()(3.0, 4.0))
    5.0
    """

    name: str
    target: str
    returns: str = "float"
    aggregate: bool = False

    def load(self) -> Callable[..., Any]:
        """The function itself."""
        return _loaded(self.target)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "name": self.name,
            "target": self.target,
            "returns": self.returns,
            "aggregate": self.aggregate,
        }


@lru_cache(maxsize=256)
def _loaded(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise BindError(
            f"no function at {target!r}",
            str(error),
            "write 'module:function', of a module that can be imported where the job runs",
        ) from None
    if not callable(found):
        raise BindError(f"{target!r} is no function", f"it is {found!r}", "name a function")
    loaded: Callable[..., Any] = found
    return loaded


Functions = dict[str, Function]
