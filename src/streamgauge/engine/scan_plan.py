"""Scan plan: which columns of which streams are read once and sent to the shards that need them.

The lander writes it into the page, so that a task that scans reads the page and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from streamgauge.engine.distribution import REPLICATED, SINGLE, SUBSCRIBED, inputs_of
from streamgauge.engine.page_operators import taken_in_part
from streamgauge.engine.reading import Wanted
from streamgauge.engine.subscriptions import Subscriptions, subscriptions_of
from streamgauge.log.journal import Segment
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from streamgauge.plan.assignment import Assignment
from streamgauge.plan.registry import Registry
from streamgauge.plan.sharing import StreamPlan
from streamgauge.plan.standing import Standing
from streamgauge.streams.stream import Stream

# From here on reading a page once and sending its rows is cheaper than reading it on each shard.
LEAST_SHARDS = 8
LEAST_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class StreamScan:
    """How a stream is scanned: its derived columns, and the columns that each input takes.

    `tables` has the inputs whose rows are added up before they are sent, with their tables.
    `subscriptions` says which shards need which series, `logged` what is taken of rows as they
    stand in the log, by how they are split.
    """

    stream: Stream
    derived: dict[str, Expr]
    inputs: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    subscriptions: Subscriptions | None = None
    logged: dict[str, Wanted] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)

    @classmethod
    def of(cls, plan: StreamPlan, shards: int, logged: dict[str, Wanted]) -> StreamScan | None:
        """The scan of a stream; None where no rows of it are sent to anybody.

        Functions of users are called where the work is, never by a scan.
        """
        parts = inputs_of(plan)
        del parts[REPLICATED]
        if SINGLE in parts and not _adds(parts[SINGLE]):
            # The shards that have such tables read all rows at less cost than these take to send.
            del parts[SINGLE]
        asked = subscriptions_of(parts[SUBSCRIBED], shards) if SUBSCRIBED in parts else None
        if asked is None:
            parts.pop(SUBSCRIBED, None)
        if not (parts or logged) or _calls(plan):
            return None
        inputs = {name: (part.numbers(), part.words()) for name, part in parts.items()}
        tables = {name: tuple(key.text() for key in part.operators) for name, part in parts.items()}
        added = {name: texts for name, texts in tables.items() if _adds(parts[name])}
        return cls(plan.stream, plan.derived, inputs, added, asked, logged)

    @property
    def wanted(self) -> Wanted:
        """What is read of the stream."""
        return reduce(Wanted.joined, self.logged.values(), Wanted(self.numbers, self.words))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that some input takes as numbers."""
        return tuple(dict.fromkeys(c for numbers, _ in self.inputs.values() for c in numbers))

    @property
    def words(self) -> tuple[str, ...]:
        """Columns that some input takes as names."""
        return tuple(dict.fromkeys(c for _, words in self.inputs.values() for c in words))

    def deriving(self, column: str) -> Sequence[Standing]:
        """None: a page does not say whose a column is."""
        return ()

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        asked = self.subscriptions
        return {
            "stream": self.stream.as_dict(),
            "derived": {name: expr.as_json() for name, expr in self.derived.items()},
            "inputs": {name: [list(n), list(w)] for name, (n, w) in self.inputs.items()},
            "tables": {name: list(texts) for name, texts in self.tables.items()},
            "subscriptions": None if asked is None else asked.as_dict(),
            "logged": {name: wanted.as_dict() for name, wanted in self.logged.items()},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StreamScan:
        """Read the JSON form."""
        asked, logged = data.get("subscriptions"), data.get("logged", {})
        return cls(
            Stream.from_dict(data["stream"]),
            {name: Expr.from_json(expr) for name, expr in data["derived"].items()},
            {name: (tuple(n), tuple(w)) for name, (n, w) in data["inputs"].items()},
            {name: tuple(texts) for name, texts in data["tables"].items()},
            None if asked is None else Subscriptions.from_dict(asked),
            {name: Wanted.from_dict(wanted) for name, wanted in logged.items()},
        )


def _adds(plan: StreamPlan) -> bool:
    """Whether all work of an input can be given sums instead of rows.

    A revision compares what was there before a late row with what is there after it, and a query
    FROM NOW passes over rows that are older than it is: both need the rows.
    """
    return plan.stream.late.policy != "revise" and all(key.merges for key in plan.operators)


def _calls(plan: StreamPlan) -> bool:
    return any(part.op == "call" for expr in plan.derived.values() for part in expr.walk())


@dataclass(slots=True)
class Scans:
    """The scans of the pages of a lander, planned again after a registration or a rescale.

    `exchange` says whether rows are sent; by the size of a page and the number of shards when None.
    """

    shards: int
    exchange: bool | None = None
    planned: tuple[int, int] = (-1, 0)
    known: dict[str, StreamScan] = field(default_factory=dict)

    def of(self, registry: Registry, segments: Sequence[Segment]) -> dict[str, Any]:
        """The scans of the streams that bring rows, in JSON form; none where they do not pay."""
        self.shards = registry.shards or self.shards
        rows: dict[str, int] = {}
        for segment in segments:
            rows[segment.stream] = rows.get(segment.stream, 0) + segment.rows
        worth = {name for name, n in rows.items() if self._pays(n)}
        if not worth:
            return {}
        if (registry.changed, self.shards) != self.planned:
            assigned = Assignment.of(registry)
            logged = taken_in_part(registry, assigned.paged)
            scans = {
                name: StreamScan.of(plan, self.shards, logged.get(name, {}))
                for name, plan in assigned.plans.items()
            }
            self.known = {name: scan for name, scan in scans.items() if scan is not None}
            self.planned = registry.changed, self.shards
        return {n: scan.as_dict() for n, scan in self.known.items() if n in worth}

    def _pays(self, rows: int) -> bool:
        if self.exchange is not None:
            return self.exchange
        return self.shards >= LEAST_SHARDS and rows >= LEAST_ROWS
