"""Random small feeds for hypothesis: streams, their rows in pages, a stored table.

Values are multiples of 1/8, so sums and products of a few are exact in any order. Everything is
read off one string of bytes, since drawing each cell by itself takes longer than the work under
test. A byte of 0 takes the first choice, so examples still become smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from streamgauge.kernel.time import DAY, SECOND, Instant
from streamgauge.operators.functions import EMBEDDED, Function, Functions, Given
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.windows.window import BEGINNING
from tests.oracles.reference import Row
from tests.oracles.rows import Version, World
from tests.oracles.rows_aggregates import Cells

Split: TypeAlias = tuple[dict[str, tuple[Row, ...]], ...]

START: Instant = 100 * SECOND
METERS = Schema.of(k="string", ts="time", x="float", n="int")
DOORS = Schema.of(ts="time", k="string", n="int", y="float", up="bool")
STOCK = Schema.of(op="string", k="string", n="int", ts="time")
ROOMS = Schema.of(k="string", label="string", n="int")

_KEYS = ("a", "b", "a", "b", "a", "c", None)
_EIGHTHS = (1.0, 0.0, -1.0, 0.125, 2.5, -0.375, 4.0, None)
_WHOLE = (1, 0, 2, 1, 2, -1, None)
_STEPS = (SECOND, 0, SECOND // 4, SECOND, 2 * SECOND, 3 * SECOND, 5 * SECOND)
_BACK = (0, 0, 0, 0, 0, 1, SECOND, 7 * SECOND // 2)


def spread(values: Sequence[float]) -> float:
    """Largest less smallest value of a group whose values are in order; an aggregate of one's own.

    >>> spread([1.0, 2.0, 4.5])
    3.5
    """
    return float(values[-1]) - float(values[0])


FUNCTIONS: Functions = {"spread": Function("spread", f"{EMBEDDED}:spread", aggregate=True)}
GIVEN: Given = {"spread": spread}


@dataclass
class Tape:
    """Choices read off a string of bytes, one byte each; behind its end the first is taken.

    Examples
    --------
    >>> tape = Tape(bytes([1, 5]))
    >>> [tape.one("a", "b", "c") for _ in range(3)]
    ['b', 'c', 'a']
    """

    data: bytes
    place: int = field(default=0)

    def one(self, *choices: Any) -> Any:
        """One of some choices."""
        byte = self.data[self.place] if self.place < len(self.data) else 0
        self.place += 1
        return choices[byte % len(choices)]


@dataclass(frozen=True)
class Feed:
    """Streams, all their rows in order of arrival, and stored tables with their versions.

    Examples
    --------
    >>> doors = Stream("doors", DOORS, "ts", ("k",), ())
    >>> feed = Feed((doors,), {"doors": (Row(START, {"k": "a"}),)}, {}, START + 5 * SECOND)
    >>> feed.world().closed() // SECOND
    104
    """

    streams: tuple[Stream, ...]
    rows: dict[str, tuple[Row, ...]]
    tables: dict[str, tuple[Version, ...]]
    end: Instant

    def stream(self, name: str) -> Stream:
        """A stream by name."""
        (found,) = (stream for stream in self.streams if stream.name == name)
        return found

    def world(self) -> World:
        """All of it, landed, with every stream advanced to the end."""
        world = World.of(*self.streams)
        world.functions = FUNCTIONS
        for name, rows in self.rows.items():
            world.land(name, rows)
            world.advance(name, self.end)
        world.tables = {name: list(versions) for name, versions in self.tables.items()}
        return world


@st.composite
def feeds(draw: DrawFn, *, max_rows: int = 8, late: bool = True) -> Feed:
    """Two plain streams, one of changes and a stored table that may be read a second time."""
    return _feed(draw(tapes(400)), max_rows, late)


def tapes(size: int) -> SearchStrategy[Tape]:
    """A tape of a number of bytes."""
    return st.binary(min_size=size, max_size=size).map(Tape)


def _feed(tape: Tape, max_rows: int, late: bool) -> Feed:
    policies = (Late.drop(), Late.allow(2), Late.revise(20)) if late else (Late.drop(),)
    streams = (
        _stream("meters", METERS, SECOND, tape.one(*policies)),
        _stream("doors", DOORS, tape.one(SECOND, SECOND, 2 * SECOND), tape.one(*policies)),
        _stream("stock", STOCK, SECOND, Late.drop(), changes="op"),
    )
    rows = {stream.name: _rows(tape, stream, max_rows) for stream in streams}
    versions = [Version(BEGINNING, _rooms(tape))]
    if tape.one(False, True):
        versions.append(Version(START + tape.one(2, 7) * SECOND, _rooms(tape)))
    end = max((row.ts for found in rows.values() for row in found), default=START) + 12 * SECOND
    return Feed(streams, rows, {"rooms": tuple(versions)}, end)


def _stream(name: str, schema: Schema, tick: int, late: Late, changes: str | None = None) -> Stream:
    return Stream(
        name,
        schema,
        "ts",
        ("k",),
        (),
        tick=tick,
        late=late,
        keep=365 * DAY,
        future=None,
        changes=changes,
    )


def _rows(tape: Tape, stream: Stream, max_rows: int) -> tuple[Row, ...]:
    """Rows mostly forward in time, in bursts and with gaps, some late."""
    names = [name for name in stream.schema.names if name != stream.time]
    clock, rows = START + tape.one(0, 1, SECOND // 2), []
    for _ in range(min(max_rows, tape.one(2, 8, 7, 6, 8, 5, 3, 0))):
        clock += tape.one(*_STEPS)
        back = tape.one(*_BACK)
        rows.append(Row(clock - back, {name: _cell(tape, stream, name) for name in names}))
    return tuple(rows)


def _cell(tape: Tape, stream: Stream, name: str) -> Any:
    if name == stream.changes:
        return tape.one("+", "+", "-")
    if name == "k":
        return tape.one(*_KEYS)
    kind = stream.schema.type(name)
    return tape.one(*{"float": _EIGHTHS, "int": _WHOLE, "bool": (True, False, None)}[kind])


def _rooms(tape: Tape) -> tuple[Cells, ...]:
    return tuple(
        {"k": tape.one(*_KEYS), "label": tape.one("x", "y", None), "n": tape.one(*_WHOLE)}
        for _ in range(tape.one(2, 4, 3, 1, 0))
    )


@st.composite
def splits(draw: DrawFn, feed: Feed, *, max_pages: int = 4) -> Split:
    """The rows of all streams cut into pages; each stream keeps its order of arrival."""
    return _split(draw(tapes(16)), feed, max_pages)


def _split(tape: Tape, feed: Feed, max_pages: int) -> Split:
    n_pages = tape.one(*range(1, max_pages + 1))
    pages: list[dict[str, tuple[Row, ...]]] = [{} for _ in range(n_pages)]
    for name, rows in feed.rows.items():
        cuts = sorted(tape.one(*range(len(rows) + 1)) for _ in range(n_pages - 1))
        for page, begin, end in zip(pages, (0, *cuts), (*cuts, len(rows)), strict=True):
            page[name] = rows[begin:end]
    return tuple(pages)
