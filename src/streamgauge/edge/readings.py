"""Where an agent's readings come from, and how a source is named on the command line.

A reading is a key, a value and, when the source tells it, the time on this machine's clock. A key
comes as a text or bytes that a separator cuts into parts, or as a tuple of texts. NaN says that
the value is not known any more: a sensor that reports bad quality, an object that is gone.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias
from urllib.parse import parse_qsl

from streamgauge.edge.link import Credentials
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import Instant

Key: TypeAlias = bytes | str | tuple[str, ...]
Reading: TypeAlias = tuple[Key, float, Instant | None]

# Source names, and the file that knows each.
KINDS = {
    "stdin": "streamgauge.edge.readings_lines",
    "tail": "streamgauge.edge.readings_tail",
    "host": "streamgauge.edge.readings_host",
    "simulate": "streamgauge.edge.readings_simulated",
    "mqtt": "streamgauge.edge.readings_mqtt",
    "mqtts": "streamgauge.edge.readings_mqtt",
}


class Readings(Protocol):
    """A source of readings.

    `period` is the time in seconds between two readings of a source that is polled. The
    coordinator may ask for another one; None for sources that speak when they like. `bad` counts
    what could not be read. A source that `ends` is worth waiting for. While it is `blind`, values
    may change unseen; `outages` counts how often it has been.
    """

    period: float | None
    ends: bool
    blind: bool
    outages: int

    @property
    def bad(self) -> int:
        """How much of what came was no reading."""

    def read(self, wait: float) -> list[Reading] | None:
        """Readings that are there, waiting up to `wait` seconds; None when no more will come."""

    def close(self) -> None:
        """Give up files and connections."""


class Pace:
    """Turns of a source that is polled: when the next one is due, on a clock of its own.

    Examples
    --------
    >>> now = [0.0]
    >>> pace = Pace(lambda: now[0])
    >>> pace.due(10.0)
    True
    >>> pace.due(10.0), pace.left(10.0)
    (False, 10.0)
    >>> now[0] = 35.0
    >>> pace.due(10.0), pace.left(10.0)
    (True, 5.0)
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: float | None = None

    def left(self, period: float) -> float:
        """Seconds until the next turn."""
        return 0.0 if self._last is None else max(0.0, self._last + period - self._clock())

    def due(self, period: float) -> bool:
        """Whether it is time; if so, the turn is taken. Turns that were missed are not made up."""
        now = self._clock()
        if self._last is None:
            self._last = now
            return True
        if now < self._last + period:
            return False
        self._last += period * ((now - self._last) // period)
        return True

    def wait(self, period: float, most: float) -> bool:
        """Wait up to `most` seconds for the next turn, and take it."""
        left = self.left(period)
        if left > 0.0:
            threading.Event().wait(min(left, most))
        return self.due(period)


class Clock(Protocol):
    """Seconds that only grow."""

    def __call__(self) -> float:
        """Now."""


class Iterated:
    """Readings of an iterable of (key, value) or (key, value, time); `most` are taken at once.

    Examples
    --------
    >>> source = Iterated([("a", 1.0), ("b", 2.0, 5_000_000)])
    >>> source.read(0), source.read(0)
    ([('a', 1.0, None), ('b', 2.0, 5000000)], None)
    """

    period: float | None = None
    ends = True
    blind = False
    outages = 0

    def __init__(self, rows: Iterable[tuple[Key, float] | Reading], most: int = 1_000) -> None:
        self._rows: Iterator[tuple[Key, float] | Reading] = iter(rows)
        self._most = most
        self.bad = 0

    def read(self, wait: float) -> list[Reading] | None:
        """The next readings."""
        batch: list[Reading] = []
        for row in self._rows:
            batch.append((row[0], float(row[1]), row[2] if len(row) == 3 else None))
            if len(batch) == self._most:
                break
        return batch or None

    def close(self) -> None:
        """Nothing is held."""


def open_readings(text: str, credentials: Credentials | None = None) -> Readings:
    """The source that a text names: `stdin`, `tail:FILE`, `host`, `simulate:walk?n=10`, ...

    >>> open_readings("simulate:walk?n=3").period
    1.0
    >>> open_readings("carrier-pigeon")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: no readings of kind 'carrier-pigeon'
      detail: known are host, mqtt, mqtts, simulate, stdin, tail
      hint: write for example --read stdin or --read tail:/var/log/rates.txt
    """
    body, _, query = text.partition("?")
    kind, _, rest = body.partition(":")
    if kind not in KINDS:
        raise BindError(
            f"no readings of kind {kind!r}",
            f"known are {', '.join(sorted(KINDS))}",
            "write for example --read stdin or --read tail:/var/log/rates.txt",
        )
    options = dict(parse_qsl(query, keep_blank_values=True))
    module = importlib.import_module(KINDS[kind])
    given = rest if not kind.startswith("mqtt") else body
    opened: Readings = module.opened(given, options, credentials or Credentials())
    if options:
        raise BindError(
            f"an option that {kind} does not have", ", ".join(options), "leave it out, see --help"
        )
    return opened
