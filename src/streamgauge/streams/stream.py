"""Stream: a source with a schema, an event-time column, keys, an expected gap and a late policy."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import DAY, HOUR, SECOND, Duration, DurationLike, Instant, duration
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
        Values of members that deferred queries may read a tick, for each column, divided over
        fixed pools of cells. None: any number.
    width
        Column that says how wide the bound around the one value column is: the true value of a
        series lies within half of it of the value, until its next row. None: values are exact.
    learned
        The schema was learned from the first file, not declared: whole numbers may widen to float.
    widened
        Columns that were int and have become float.
    idle
        After a silence of this length, by the clock of the job, other streams no longer wait for
        this one: its watermark follows theirs. None: they wait.
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
    width: str | None = None
    learned: bool = field(default=False, compare=False)
    widened: tuple[str, ...] = field(default=(), compare=False)
    idle: Duration | None = None

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
        if self.idle is not None and self.idle <= 0:
            raise BindError(
                f"idle time of stream {self.name!r} must be positive",
                f"got {self.idle} us",
                "write idle='1 minute', or leave it out",
            )
        if self.width is not None or self.source_dict().get("kind") == "edge":
            self._check_bounds()

    def _check_bounds(self) -> None:
        """Raise unless rows can be bounds of one value of each series."""
        if self.width is None:
            raise BindError(
                f"stream {self.name!r} comes from agents but names no width",
                "agents tell bounds: a value and how wide it is",
                "write WIDTH width; in Python width='width'",
            )
        if self.schema.type(self.width) != "float" or self.width in (*self.key, self.time):
            raise BindError(
                f"column {self.width!r} of stream {self.name!r} cannot be the width of bounds",
                f"its type is {self.schema.type(self.width)}",
                "name a float column that is no key",
            )
        floats = self._floats()
        if len(floats) != 1:
            raise BindError(
                f"stream {self.name!r} must have one value for its bounds to be around",
                f"float columns besides {self.width!r}: {', '.join(floats) or 'none'}",
                "declare one float column for the value and one for its width",
            )
        if not self.key:
            raise BindError(
                f"stream {self.name!r} has bounds but no key, so it has no series",
                f"the width is {self.width!r}",
                "declare KEY; in Python key='...'",
            )
        if self.expected_gap is not None:
            raise BindError(
                f"no gap is expected of the bounds of stream {self.name!r}",
                f"expected_gap is {self.expected_gap} us, and a bound holds until the next row",
                "leave it out; a row without a width says that a series is interrupted",
            )
        if self.late.policy == "revise":
            raise BindError(
                f"bounds of stream {self.name!r} cannot be revised",
                f"late rows revise {self.late.reach} us back",
                "leave LATE REVISE out: answers were within their bars when they were given",
            )

    def _floats(self) -> list[str]:
        """Float columns that may hold the value of a bound."""
        taken = (*self.key, self.time, self.width)
        return [n for n, kind in self.schema.columns if kind == "float" and n not in taken]

    @property
    def value(self) -> str | None:
        """Column that bounds are around; None when values are exact."""
        return None if self.width is None else self._floats()[0]

    def computing(self, schema: Schema) -> Stream:
        """The same stream with columns that are computed, which its declaration need not fit."""
        wide = copy(self)
        object.__setattr__(wide, "schema", schema)
        return wide

    @property
    def widenable(self) -> tuple[str, ...]:
        """Columns that become float when a file brings floats: learned, whole, and no names."""
        if not self.learned or self.width is not None:
            return ()
        fixed = (*self.key, self.time, self.changes)
        return tuple(n for n, kind in self.schema.columns if kind == "int" and n not in fixed)

    def wider(self, columns: Collection[str]) -> Stream:
        """The same stream with some whole columns as float."""
        pairs = ((n, "float" if n in columns else kind) for n, kind in self.schema.columns)
        more = tuple(name for name in columns if name not in self.widened)
        return replace(self, schema=Schema(tuple(pairs)), widened=(*self.widened, *more))

    def source_dict(self) -> dict[str, Any]:
        """The source as a mapping."""
        return dict(self.source)

    def kept_from(self, peak: Instant) -> Instant:
        """The event time from which on rows are kept, when `peak` has arrived.

        Two ticks more than is promised: history begins at a whole tick that is closed, and what
        it holds must not depend on which files are put together.
        """
        return peak - self.keep - self.late.allowed - self.late.reach - 2 * self.tick

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
        more = {name: getattr(self, name) for name in ("changes", "capacity", "width", "idle")}
        more |= {"learned": self.learned or None, "widened": list(self.widened) or None}
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
            width=data.get("width"),
            learned=data.get("learned", False),
            widened=tuple(data.get("widened", ())),
            idle=data.get("idle"),
        )
