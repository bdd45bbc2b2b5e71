"""Functions of one's own: Python functions that a query calls by name.

A function is kept by its place, `module:name`, never by its code, so that every worker finds the
same one and a later release can still read the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.allowed import NOTHING, Allowed
from streamgauge.kernel.errors import BindError
from streamgauge.operators.function_process import PROCESS, CallFailed

# The module of a function that the embedding program gave as a callable; no statement can name it.
EMBEDDED = "<callable>"
Given = Mapping[str, Callable[..., Any]]
_IN_FORCE: ContextVar[tuple[Allowed, Given]] = ContextVar("functions in force")


@contextmanager
def in_force(allowed: Allowed = NOTHING, given: Given | None = None) -> Iterator[None]:
    """Let functions that the operator listed, or the program gave, be called in this block."""
    token = _IN_FORCE.set((allowed, given or {}))
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


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
    >>> Function("hypot", "numpy:hypot").given() is None
    True
    """

    name: str
    target: str
    returns: str = "float"
    aggregate: bool = False

    def given(self) -> Callable[..., Any] | None:
        """The callable of this process, where the embedding program gave one."""
        if not self.target.startswith(f"{EMBEDDED}:"):
            return None
        found = in_force_now()[1].get(self.name)
        if found is None:
            raise BindError(
                f"function {self.name!r} is not given in this process",
                f"it is {self.target}, a callable of the program that registered it",
                f"call gauge.function({self.name!r}, ...) before the job starts",
            )
        return found

    def allowed(self) -> Allowed:
        """What the operator allows now; raise unless this function is among it."""
        allowed = in_force_now()[0]
        allowed.check(self.name, self.target)
        return allowed

    def check(self) -> None:
        """Raise unless it is allowed and can be loaded where functions run."""
        allowed = self.allowed()
        try:
            PROCESS.load(self.target, allowed)
        except CallFailed as error:
            raise BindError(
                f"function {self.name!r} cannot be loaded",
                f"{self.target}: {error}",
                "name a function that a listed module defines, where the job runs",
            ) from None

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "name": self.name,
            "target": self.target,
            "returns": self.returns,
            "aggregate": self.aggregate,
        }


def in_force_now() -> tuple[Allowed, Given]:
    """What is allowed and given here; nothing outside of a job."""
    return _IN_FORCE.get((NOTHING, {}))


Functions = dict[str, Function]
