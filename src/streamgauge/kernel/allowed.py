"""Allowed: which Python functions the operator lets queries call, and what each call may use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from streamgauge.kernel.errors import BindError

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_NAME = re.compile(r"[^\W\d_]\w*")


@dataclass(frozen=True, slots=True)
class Allowed:
    """Modules and functions that the operator listed, and the limits of the process they run in.

    Parameters
    ----------
    entries
        `module` allows the public functions that this module defines, `module:function` one
        function. A submodule needs an entry of its own.
    cpu_seconds, batch_seconds
        Most CPU time and most wall-clock time of one batch.
    memory
        Bytes that functions may allocate beyond what their modules need.

    Examples
    --------
    >>> Allowed.of(["numpy:hypot"]).check("f", "numpy:hypot")
    >>> Allowed.of(["numpy"]).check("f", "numpy.linalg:norm")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: function 'f' is not allowed
      detail: got 'numpy.linalg:norm', expected one of numpy
      hint: ask the operator to start the job with --allow-functions numpy.linalg:norm
    """

    entries: tuple[str, ...] = ()
    cpu_seconds: float = 30.0
    batch_seconds: float = 60.0
    memory: int = 1 << 30

    @classmethod
    def of(cls, entries: Iterable[str] | Allowed) -> Allowed:
        """Read a list of entries; each is checked."""
        if isinstance(entries, Allowed):
            return entries
        if isinstance(entries, str):
            entries = (entries,)
        found = tuple(dict.fromkeys(entries))
        for entry in found:
            module, colon, name = entry.partition(":")
            if not _MODULE.fullmatch(module) or (colon and not _NAME.fullmatch(name)):
                raise BindError(
                    f"cannot allow functions of {entry!r}",
                    f"got {entry!r}, expected a module or module:function",
                    "write --allow-functions my_functions, or my_functions:score",
                )
        return cls(found)

    @classmethod
    def from_text(cls, text: str) -> Allowed:
        """Read the JSON form."""
        data = json.loads(text)
        return cls(**{**data, "entries": tuple(data["entries"])})

    def as_text(self) -> str:
        """JSON form, which is handed to Spark's executors."""
        return json.dumps(asdict(self))

    def check(self, name: str, target: str) -> None:
        """Raise unless a function at a place `module:function` is listed; nothing is imported."""
        module, _, attribute = target.partition(":")
        if not _MODULE.fullmatch(module) or not _NAME.fullmatch(attribute):
            raise BindError(
                f"function {name!r} has no valid place",
                f"got {target!r}, expected 'module:function' with one public name after the colon",
                "write AS 'my_functions:score', for example",
            )
        if module not in self.entries and target not in self.entries:
            listed = f"one of {', '.join(self.entries)}" if self.entries else "no function at all"
            raise BindError(
                f"function {name!r} is not allowed",
                f"got {target!r}, expected {listed}",
                f"ask the operator to start the job with --allow-functions {target}",
            )

    def named(self, target: str) -> bool:
        """Whether the operator listed this very function, not only its module."""
        return target in self.entries


NOTHING = Allowed()
