"""Every error a user can meet: what is wrong, the numbers, what to do.

One root, one leaf per kind of mistake. Each leaf is also a standard exception, so both idioms work.
"""

from __future__ import annotations

from typing import NamedTuple

from streamgauge.kernel.masking import masked


class Place(NamedTuple):
    r"""Where in a text something is, in characters; line and column count from 1.

    >>> Place.at("SELECT a\nFORM s", 9, 4)
    Place(line=2, column=1, offset=9, length=4)
    """

    line: int
    column: int
    offset: int
    length: int

    @classmethod
    def at(cls, text: str, offset: int, length: int) -> Place:
        """The place of so many characters of a text."""
        start = text.rfind("\n", 0, offset) + 1
        return cls(text.count("\n", 0, offset) + 1, offset - start + 1, offset, length)


class StreamgaugeError(Exception):
    """Root of all errors, in three parts; one about a text may know its place there.

    Parameters
    ----------
    what
        Short, lower case, no full stop.
    detail
        The numbers and names involved.
    hint
        What to do next.

    Examples
    --------
    >>> print(BindError("unknown column 'pric'", "stream 'ticks' has price, ts", "write price"))
    unknown column 'pric'
      detail: stream 'ticks' has price, ts
      hint: write price
    """

    exit_code = 1
    place: Place | None = None

    def __init__(self, what: str, detail: str, hint: str) -> None:
        # An error may quote an address; it goes to logs, pages and files.
        what, detail, hint = masked(what), masked(detail), masked(hint)
        super().__init__(what, detail, hint)
        self.what = what
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\n  detail: {self.detail}\n  hint: {self.hint}"

    def as_dict(self) -> dict[str, str]:
        """Return the one JSON shape of an error."""
        return {
            "code": type(self).__name__,
            "message": self.what,
            "detail": self.detail,
            "hint": self.hint,
        }


class BindError(StreamgaugeError, ValueError):
    """A query or stream names something that does not fit: column, type, name, window."""

    exit_code = 2


class UnsupportedWindow(StreamgaugeError, ValueError):
    """A window that cannot be kept: no time column, negative slide, not a multiple of the tick."""

    exit_code = 2


class ContractUnsatisfiable(StreamgaugeError, ValueError):
    """A contract that nothing here can hold; the hint names the nearest feasible one."""

    exit_code = 3


class QueryNotFound(StreamgaugeError, LookupError):
    """No query, stream or window of that name."""

    exit_code = 4


class SourceFailure(StreamgaugeError, OSError):
    """A source cannot be read at all: no directory, no files, no permission."""

    exit_code = 5


class StateTooOld(StreamgaugeError, ValueError):
    """Stored state of a version this release cannot read, or damaged bytes."""

    exit_code = 6


class MissingRuntime(StreamgaugeError, RuntimeError):
    """Java, PySpark or an optional package is absent or of the wrong version."""

    exit_code = 7


class EngineFailure(StreamgaugeError, RuntimeError):
    """The running job stopped: what it last did, and how to go on."""

    exit_code = 8


class IncompatibleSynopsis(StreamgaugeError, ValueError):
    """Two synopses that cannot be combined, or a question a synopsis cannot answer."""

    exit_code = 9


class ParseError(StreamgaugeError, ValueError):
    """A text that is no statement: where it goes wrong, and what was probably meant."""

    exit_code = 10


class TargetFailure(StreamgaugeError, OSError):
    """A target of a sink does not take answers now: not there, no rights, other columns."""

    exit_code = 11


class Cleared(StreamgaugeError, LookupError):
    """Answers or pages that were cleared away because they were older than the home keeps."""

    exit_code = 12


class MemoryExceeded(StreamgaugeError, MemoryError):
    """State of queries that would take more memory than the job may; `queries` are their names."""

    exit_code = 13
    queries: tuple[str, ...] = ()
