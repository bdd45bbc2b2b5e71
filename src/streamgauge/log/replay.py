"""Replay: a recording played again, in the order of its event times, at a chosen speed.

Event time is cut into slices of one width, counted from the first row. A slice that has rows
becomes one file, named by the number of the slice; what is in it depends on the recording alone.
So after a crash the same number gives the same file, and what has landed once is not taken again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.kernel.columns import as_instants
from streamgauge.kernel.errors import BindError, EngineFailure
from streamgauge.kernel.files import read_json, reading, write_json
from streamgauge.kernel.time import SECOND, Duration, Instant
from streamgauge.log.dead_letters import bury
from streamgauge.log.home import Home
from streamgauge.log.recording import Piece, pieces_of, rows_of
from streamgauge.log.segments import write_parquet
from streamgauge.streams.schema import TYPES
from streamgauge.streams.stream import Stream

LOG = logging.getLogger(__name__)

FILE_SECONDS = 0.5
ROWS_MAX = 250_000
RETRY_SECONDS = 1.0

_CARD, _PLACE = "_replay.json", "_next.json"


@dataclass(frozen=True, slots=True)
class Score:
    """How a recording is played; written down before its first file, and never changed.

    Parameters
    ----------
    source
        What was asked.
    begin, width, slices
        Where the first slice begins, how wide a slice is, and how many there are.
    shift
        What is added to event times.
    pieces
        The recording.
    """

    source: dict[str, Any]
    begin: Instant
    width: Duration
    slices: int
    shift: Duration
    pieces: tuple[Piece, ...]

    @classmethod
    def written(cls, stream: Stream, now: Instant) -> Score:
        """Compose the score of a stream's recording."""
        source, tick = stream.source_dict(), stream.tick
        pieces = tuple(pieces_of(stream))
        kept = [piece for piece in pieces if piece.rows]
        low = max(min((p.low for p in kept), default=0), source.get("since", -(2**62)))
        high = min(max((p.high for p in kept), default=-1), source.get("until", 2**62) - 1)
        if high < low:
            raise BindError(
                f"there is nothing to replay for stream {stream.name!r}",
                f"{source['of']} has {sum(p.rows for p in kept)} rows, none in the time asked for",
                "check SINCE and UNTIL, and that the directory holds files of rows",
            )
        begin = low // tick * tick
        span, rows = high + 1 - begin, sum(piece.rows for piece in kept)
        widest = -(-span // max(1, -(-rows // ROWS_MAX)))
        speed = source["speed"]
        width = min(widest, round(speed * FILE_SECONDS * SECOND)) if speed else widest
        width = -(-max(width, 1) // tick) * tick
        shift = (now - low) // tick * tick if source.get("shift") == "now" else 0
        return cls(source, begin, width, -(-span // width), shift, pieces)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "source": self.source,
            "begin": self.begin,
            "width": self.width,
            "slices": self.slices,
            "shift": self.shift,
            "pieces": [piece.as_list() for piece in self.pieces],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Score:
        """Read the JSON form."""
        pieces = tuple(Piece.from_list(piece) for piece in data["pieces"])
        return cls(**{**data, "pieces": pieces})


class _Tape:
    """Rows of pieces by time; a piece is held in memory while slices still need it."""

    def __init__(self, home: Home, stream: Stream, pieces: tuple[Piece, ...]) -> None:
        self._home, self._stream, self._pieces = home, stream, pieces
        self._lows = np.array([piece.low for piece in pieces], dtype=np.int64)
        self._highs = np.array([piece.high for piece in pieces], dtype=np.int64)
        self._held: dict[int, tuple[pa.Table, NDArray[np.int64]]] = {}

    def cut(self, low: Instant, high: Instant) -> pa.Table:
        """Rows from one instant to before another, by time and then as they once arrived."""
        taken = [self._stream.schema.to_arrow().empty_table()]
        for number in np.flatnonzero((self._lows < high) & (self._highs >= low)).tolist():
            table, times = self._piece(number)
            first, stop = np.searchsorted(times, (low, high))
            taken.append(table.slice(first, stop - first))
        for number in [n for n in self._held if self._highs[n] < high]:
            del self._held[number]
        return _ordered(pa.concat_tables(taken), self._stream.time)[0]

    def bury_empty(self) -> None:
        """Tell what is wrong with files that have no row at all, once."""
        for number, piece in enumerate(self._pieces):
            if not piece.rows:
                self._piece(number)
                del self._held[number]

    def _piece(self, number: int) -> tuple[pa.Table, NDArray[np.int64]]:
        if number not in self._held:
            table, rejects = rows_of(self._pieces[number], self._stream)
            if rejects.num_rows:
                bury(self._home, self._stream.name, f"replay-{number:06d}", rejects)
            self._held[number] = _ordered(table, self._stream.time)
        return self._held[number]


def _ordered(table: pa.Table, time: str) -> tuple[pa.Table, NDArray[np.int64]]:
    times = as_instants(table[time])
    if (np.diff(times) < 0).any():
        order = np.argsort(times, kind="stable")
        table, times = table.take(order), times[order]
    return table, times


class ReplayWriter:
    """Plays a recording to a stream's directory, and goes on where it ended.

    Parameters
    ----------
    stream
        The stream, of a source made with `sg.replay`.
    home
        Home of the gauge that takes the rows.
    now
        Where `shift="now"` puts the first row.
    """

    def __init__(self, stream: Stream, home: Home, now: Instant) -> None:
        self._stream = stream
        self._directory = home.incoming(stream.name)
        self._directory.mkdir(parents=True, exist_ok=True)
        self.score = self._score(now)
        self.number = self._place()
        self._tape = _Tape(home, stream, self.score.pieces)
        if self.number == 0:
            self._tape.bury_empty()

    @property
    def finished(self) -> bool:
        """Whether everything was played; a loop never ends."""
        return self.number >= self.score.slices and not self.score.source.get("loop")

    def write(self) -> str | None:
        """Play the next slice; gives the path of its file, None for one without rows."""
        score = self.score
        turn, place = divmod(self.number, score.slices)
        low = score.begin + place * score.width
        since, until = score.source.get("since"), score.source.get("until")
        first = low if since is None else max(low, since)
        stop = low + score.width if until is None else min(low + score.width, until)
        rows = self._tape.cut(first, stop)
        path = None
        if rows.num_rows:
            path = self._directory / f"replay-{self.number:012d}.parquet"
            write_parquet(path, self._moved(rows, score.shift + turn * score.slices * score.width))
            write_json(self._directory / _PLACE, self.number + 1)
        self.number += 1
        return None if path is None else str(path)

    def run(self, stop: threading.Event, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Play until told to stop, a file about every half second; one that is behind hurries."""
        speed = self.score.source["speed"]
        slices_a_second = speed * SECOND / self.score.width
        begin, first = clock(), self.number
        while not stop.is_set() and not self.finished:
            due = first + (clock() - begin) * slices_a_second
            if speed and self.number + 1 > due:
                stop.wait(min(FILE_SECONDS, (self.number + 1 - due) / slices_a_second))
                continue
            try:
                self.write()
            except (OSError, EngineFailure) as error:
                # Nothing is skipped: the same slice is tried again when the disk is back.
                LOG.warning("replay of %s waits: %s", self._stream.name, error)
                stop.wait(RETRY_SECONDS)

    def _moved(self, rows: pa.Table, by: Duration) -> pa.Table:
        if not by:
            return rows
        name = self._stream.time
        kind = TYPES[self._stream.schema.type(name)]
        times = pa.array(as_instants(rows[name]) + by).cast(kind)
        return rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), times)

    def _score(self, now: Instant) -> Score:
        card, asked = self._directory / _CARD, self._stream.source_dict()
        if not card.exists():
            score = Score.written(self._stream, now)
            write_json(card, score.as_dict())
            return score
        with reading(card, f"the replay of stream {self._stream.name!r}"):
            score = Score.from_dict(read_json(card))
        # How fast it goes on may change; what is played may not.
        differing = [
            name
            for name in ("of", "stream", "since", "until", "shift", "loop")
            if score.source.get(name) != asked.get(name)
        ]
        if differing:
            raise BindError(
                f"stream {self._stream.name!r} already replays something else",
                f"{', '.join(differing)} differ from {card}",
                "declare a stream of another name for another replay",
            )
        return Score.from_dict({**score.as_dict(), "source": asked})

    def _place(self) -> int:
        place = self._directory / _PLACE
        with reading(place, f"the place in the replay of stream {self._stream.name!r}"):
            told = int(read_json(place)) if place.exists() else 0
        written = (_number(path) for path in self._directory.glob("replay-*.parquet"))
        return max(told, *(number + 1 for number in written), 0)


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("replay-"))
