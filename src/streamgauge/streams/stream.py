"""Stream: a source with a schema, an event-time column, keys, an expected gap and a late policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import DAY, HOUR, SECOND, Duration, DurationLike, duration
from streamgauge.streams.schema import Schema


@dataclass(frozen=True, slots=True)
class Late:
    """What becomes of a row that arrives behind the watermark. Build it with one of three names.

    A row is late when its time is below the largest time seen before it, less `allowed`. This
    depends on the order of arrival only, never on how rows fall into batches.

    Examples
    --------
    >>> Late.drop(), Late.allow("5 s").allowed, Late.revise("1 min").reach
    (Late(policy='drop', allowed=0, reach=0), 5000000, 60000000)
    """

    policy: str
    allowed: Duration = 0
    reach: Duration = 0

    @classmethod
    def drop(cls) -> Late:
        """Leave late rows out; count them and charge them to the answers they would have moved."""
        return cls("drop")

    @classmethod
    def allow(cls, wait: DurationLike) -> Late:
        """Hold the watermark back by `wait`; rows later than that are dropped as above."""
        return cls("allow", allowed=duration(wait))

    @classmethod
    def revise(cls, reach: DurationLike) -> Late:
        """Answer at once, fold late rows up to `reach` back, give revised answers."""
        return cls("revise", reach=duration(reach))


@dataclass(frozen=True, slots=True)
class Stream:
    """Declaration of one stream.

    Parameters
    ----------
    name
        Name used in queries.
    schema
        Typed columns.
    time
        Event-time column.
    key
        Columns that name a series; one series is one sensor, one symbol.
    tick
        Width of the check grid. Answers exist at whole ticks of event time.
    expected_gap
        A series silent for longer is interrupted and its answers say so. None: never.
    late
        Policy for late rows.
    keep
        How far back history is kept for new queries.
    future
        Rows this far ahead of their arrival are dead letters. None: any time is taken.
    source
        How rows arrive, as plain data: {"kind": "files", "path": ..., "format": ...}.
    changes
        Text column that says what a row does: + adds it, - takes an equal one away. None: every
        row adds itself.
    capacity
        Values of members that deferred queries may read a tick, in the whole home. None: any.
    """

    name: str
    schema: Schema
    time: str
    key: tuple[str, ...]
    source: tuple[tuple[str, Any], ...]
    tick: Duration = SECOND
    expected_gap: Duration | None = None
    late: Late = Late("drop")
    keep: Duration = HOUR
    future: Duration | None = DAY
    changes: str | None = None
    capacity: int | None = None

    def __post_init__(self) -> None:
        if self.schema.type(self.time) not in ("time", "int"):
            raise BindError(
                f"column {self.time!r} of stream {self.name!r} cannot be event time",
                f"its type is {self.schema.type(self.time)}",
                "name a time column, or an int column of microseconds since 1970",
            )
        for name in self.key:
            self.schema.type(name)
        if self.changes is not None and self.schema.type(self.changes) != "string":
            raise BindError(
                f"column {self.changes!r} of stream {self.name!r} cannot say what a row does",
                f"its type is {self.schema.type(self.changes)}",
                "name a text column that holds + and -",
            )
        if self.capacity is not None and self.capacity < 1:
            raise BindError(
                f"capacity of stream {self.name!r} must be positive",
                f"got {self.capacity} reads a tick",
                "write capacity=100_000, or leave it out",
            )
        if self.tick <= 0:
            raise BindError(
                f"tick of stream {self.name!r} must be positive",
                f"got {self.tick} us",
                "write tick='1 s'",
            )

    def source_dict(self) -> dict[str, Any]:
        """The source as a mapping."""
        return dict(self.source)

    def as_dict(self) -> dict[str, Any]:
        """JSON form, inverse of `from_dict`."""
        plain = {
            "name": self.name,
            "schema": self.schema.as_dict(),
            "time": self.time,
            "key": list(self.key),
            "source": dict(self.source),
            "tick": self.tick,
            "expected_gap": self.expected_gap,
            "late": {
                "policy": self.late.policy,
                "allowed": self.late.allowed,
                "reach": self.late.reach,
            },
            "keep": self.keep,
            "future": self.future,
        }
        more = {"changes": self.changes, "capacity": self.capacity}
        return {**plain, **{name: given for name, given in more.items() if given is not None}}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Stream:
        """Read the JSON form."""
        return cls(
            name=data["name"],
            schema=Schema(tuple(data["schema"].items())),
            time=data["time"],
            key=tuple(data["key"]),
            source=tuple(data["source"].items()),
            tick=data["tick"],
            expected_gap=data["expected_gap"],
            late=Late(**data["late"]),
            keep=data["keep"],
            future=data["future"],
            changes=data.get("changes"),
            capacity=data.get("capacity"),
        )
