"""What pieces of work hold in memory, claimed for the queries that they work for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from streamgauge.kernel.memory import Claim, claimed, working_for

# Arrays lie in a piece, in what it is made of, and in the parts of that; no deeper.
DEPTH = 3


@dataclass(slots=True)
class PieceMemory:
    """Claims of the pieces of a stream, by the text of their keys.

    Banks of synopses claim for themselves, since they come and go while a piece works; all other
    arrays of a piece are counted after its work.
    """

    claims: dict[str, Claim] = field(default_factory=dict)

    @contextmanager
    def working(
        self, text: str, piece: Any, queries: Callable[[], Sequence[str]]
    ) -> Iterator[None]:
        """Let a piece work; errors about memory name its queries."""
        with working_for(queries):
            yield
            if text not in self.claims:
                self.claims[text] = claimed()
            self.claims[text].ask(piece.held_bytes())


def array_bytes(value: Any, depth: int = DEPTH) -> int:
    """Bytes of the arrays in fields of dataclasses, tuples, lists and tables.

    >>> array_bytes((np.zeros(4), {"a": np.zeros(2)}, "text"))
    48
    """
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if depth == 0:
        return 0
    parts: Sequence[Any] = ()
    if is_dataclass(value):
        parts = [getattr(value, one.name) for one in fields(value)]
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, tuple):
        parts = value
    return sum(array_bytes(part, depth - 1) for part in parts)
