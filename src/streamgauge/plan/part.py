"""Part: one stream of a question that spans several streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.operators.expression import Expr
from streamgauge.windows.window import Window


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a stream that take part, and what is compared of them.

    Parameters
    ----------
    stream, window
        The stream and its window of time.
    by
        What rows are told apart by: one expression, or several that are taken together.
    where
        Which rows of the window take part.

    Examples
    --------
    >>> from streamgauge.operators.expression import column
    >>> from streamgauge.windows.window import Range
    >>> part = Part("r1", Range("1 minute"), (column("source"), column("target")))
    >>> print(part)
    r1 [range 1 min] by source, target
    >>> Part.from_dict(part.as_dict()) == part
    True
    """

    stream: str
    window: Window
    by: tuple[Expr, ...]
    where: Expr | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        exprs = self.by if self.where is None else (*self.by, self.where)
        return tuple(dict.fromkeys(name for expr in exprs for name in expr.columns()))

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        plain: dict[str, Any] = {
            "stream": self.stream,
            "window": self.window.as_dict(),
            "by": [expr.as_json() for expr in self.by],
        }
        return plain if self.where is None else {**plain, "where": self.where.as_json()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Part:
        """Read the JSON form."""
        return cls(
            data["stream"],
            Window.from_dict(data["window"]),
            tuple(Expr.from_json(expr) for expr in data["by"]),
            Expr.from_json(data["where"]) if "where" in data else None,
        )

    def __str__(self) -> str:
        where = "" if self.where is None else f" where {self.where}"
        return f"{self.stream} [{self.window}] by {', '.join(map(str, self.by))}{where}"
