"""Readings as lines of text: `key value [time]`, JSON objects, or CSV with a head.

A time is ISO 8601 or seconds since 1970. Lines that cannot be read are counted and left out.
"""

from __future__ import annotations

import csv
import json
import math
import os
import select
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from streamgauge.edge.link import Credentials
from streamgauge.edge.readings import Key, Reading
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND, Instant, instant

# Bytes fetched at once. Larger pieces are not faster, and reports wait while one is worked on.
PIECE = 1 << 16
# A line longer than this is no reading.
LONGEST = 1 << 16
STDIN = 0

Parse: TypeAlias = Callable[[list[bytes], list[Reading]], int]


class Lines:
    r"""Pieces of bytes in, readings out; a line may be cut anywhere.

    Parameters
    ----------
    form
        `text`, `json` or `csv`.

    Examples
    --------
    >>> lines = Lines("text")
    >>> lines.take(b"pump/flow 20.5\npump/te")
    [(b'pump/flow', 20.5, None)]
    >>> lines.take(b"mp 71 1970-01-01T00:00:02Z\nnonsense\n"), lines.bad
    ([(b'pump/temp', 71.0, 2000000)], 1)
    >>> Lines("json").take(b'{"key": ["pump", "flow"], "value": 20.5, "time": 2}\n')
    [(('pump', 'flow'), 20.5, 2000000)]
    >>> Lines("csv").take(b"host,kind,value\na,in,7\n")
    [(('a', 'in'), 7.0, None)]
    """

    def __init__(self, form: str = "text") -> None:
        parsers: dict[str, Parse] = {
            "text": text_lines,
            "json": json_lines,
            "csv": CsvLines(),
        }
        if form not in parsers:
            raise BindError(
                f"no lines of format {form!r}",
                f"known are {', '.join(parsers)}",
                "write for example stdin?format=json",
            )
        self.bad = 0
        self._parse = parsers[form]
        self._rest = b""

    def take(self, piece: bytes) -> list[Reading]:
        """Readings of the lines that a piece completes."""
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST:
            self.bad += 1
            self._rest = b""
        found: list[Reading] = []
        if lines:
            self.bad += self._parse(lines, found)
        return found

    def end(self) -> list[Reading]:
        """The last line, which nothing ended."""
        return self.take(b"\n") if self._rest else []


def text_lines(lines: list[bytes], found: list[Reading]) -> int:
    """Read `key value [time]`; give the number of lines that were no readings."""
    bad = 0
    take = found.append
    for line in lines:
        parts = line.split()
        try:
            if len(parts) == 2:
                take((parts[0], float(parts[1]), None))
            elif len(parts) == 3:
                take((parts[0], float(parts[1]), time_of(parts[2].decode())))
            elif parts:
                bad += 1
        except ValueError:
            bad += 1
    return bad


def json_lines(lines: list[bytes], found: list[Reading]) -> int:
    """Read one object a line: `key` (text or list of texts), `value`, perhaps `time`."""
    bad = 0
    for line in lines:
        if not line or line.isspace():
            continue
        try:
            body = json.loads(line)
            key = body["key"]
            named: Key = key if isinstance(key, str) else tuple(map(str, key))
            told = body.get("time")
            found.append(
                (named, value_of(body.get("value")), None if told is None else time_of(told))
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            bad += 1
    return bad


class CsvLines:
    """Rows of CSV after a head; `value` and `time` are named, the other columns are the key."""

    def __init__(self) -> None:
        self._head: list[str] | None = None
        self._value = -1
        self._time: int | None = None

    def __call__(self, lines: list[bytes], found: list[Reading]) -> int:
        """Read rows; give the number of lines that were no readings."""
        texts = [line.decode("utf-8", "replace") for line in lines]
        bad = 0
        for row in self._rows(texts):
            try:
                bad += self._row(row, found)
            except BindError:
                raise
            except (ValueError, IndexError):
                bad += 1
        return bad

    def _rows(self, texts: Iterable[str]) -> Iterable[list[str]]:
        for text in texts:
            if text.strip():
                yield next(csv.reader([text]))

    def _row(self, row: list[str], found: list[Reading]) -> int:
        if self._head is None:
            if "value" not in row:
                raise BindError(
                    "a head without a value",
                    f"columns {', '.join(row)}",
                    "name the columns in the first line: key columns, value, perhaps time",
                )
            self._head, self._value = row, row.index("value")
            self._time = row.index("time") if "time" in row else None
            return 0
        if len(row) != len(self._head):
            return 1
        told = None if self._time is None or not row[self._time] else time_of(row[self._time])
        key = tuple(t for i, t in enumerate(row) if i not in (self._value, self._time))
        found.append((key, value_of(row[self._value] or None), told))
        return 0


def value_of(said: Any) -> float:
    """A value, or NaN for one that is not known.

    >>> value_of("2.5"), value_of(True), value_of(None)
    (2.5, 1.0, nan)
    """
    return math.nan if said is None else float(said)


def time_of(said: str | float) -> Instant:
    """An instant, from ISO 8601 or seconds since 1970.

    >>> time_of("1.5"), time_of(2), time_of("1970-01-01T00:00:03")
    (1500000, 2000000, 3000000)
    """
    try:
        seconds = float(said)
    except ValueError:
        return _iso(str(said))
    if not math.isfinite(seconds):
        raise ValueError("no time")
    return round(seconds * SECOND)


def _iso(text: str) -> Instant:
    try:
        return instant(text)
    except BindError as error:
        # A line that cannot be read is counted; it does not end the agent.
        raise ValueError(error.what) from None


class Piped:
    """Lines that come through a pipe, such as standard input.

    Parameters
    ----------
    handle
        What to read from; it is not closed.
    form
        Format of the lines.
    """

    period: float | None = None
    ends = True
    blind = False
    outages = 0

    def __init__(self, handle: int, form: str = "text") -> None:
        self._handle = handle
        self._lines = Lines(form)
        self._ended = False

    @property
    def bad(self) -> int:
        """Lines that were no readings."""
        return self._lines.bad

    def read(self, wait: float) -> list[Reading] | None:
        """Readings of the next piece."""
        if self._ended:
            return None
        if not select.select([self._handle], [], [], wait)[0]:
            return []
        piece = os.read(self._handle, PIECE)
        if piece:
            return self._lines.take(piece)
        self._ended = True
        return self._lines.end()

    def close(self) -> None:
        """The pipe belongs to whoever opened it."""


def opened(rest: str, options: dict[str, str], credentials: Credentials) -> Piped:
    """Standard input: `stdin`, `stdin?format=json`."""
    return Piped(STDIN, options.pop("format", "text"))
