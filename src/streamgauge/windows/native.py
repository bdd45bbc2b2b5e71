"""NativeWindow: a synopsis that expires rows by itself, fed in order of time.

Rows wait until a window closes; then they are sorted by time, folded, and the synopsis's own clock
is moved to the end of the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from streamgauge.kernel.errors import BindError, UnsupportedWindow
from streamgauge.kernel.keys import Items, numbers
from streamgauge.synopses.synopsis import Floats, Ints, Synopsis
from streamgauge.windows.pane_queue import Slides

S = TypeVar("S", bound=Synopsis)


class NativeWindow(Generic[S]):
    """The window of a synopsis that expires by itself.

    Parameters
    ----------
    slides
        The windows.
    model
        A synopsis built for windows of this length.
    """

    strategy = "native"

    def __init__(self, slides: Slides, model: S) -> None:
        expiring: Any = model
        ends = np.array([-slides.length, 1 - slides.length, 0], np.int64)
        if expiring.weights_at(ends, 0).tolist() != [0.0, 1.0, 1.0]:
            raise UnsupportedWindow(
                f"{model.name} does not expire at the end of this window",
                f"{model!r} over windows of {slides.length}",
                "build it with window equal to the length; what fades has no window",
            )
        self.slides = slides
        self.held: Any = model.empty()
        self.newest: int | None = None
        self.waiting: list[tuple[Ints, pa.Array, Floats]] = []

    def hold(self, times: Ints, values: pa.Array, weights: Floats | None) -> None:
        """Keep rows until their window closes; rows the synopsis refuses are refused here."""
        if self.held.takes == "numbers":
            values = pa.array(numbers(Items(values, None, 0)))
        if self.waiting and values.type != self.waiting[-1][1].type:
            raise BindError(
                "the column has changed its type",
                f"{self.waiting[-1][1].type} before, {values.type} now",
                "give one type per column",
            )
        order = np.argsort(times, kind="stable")
        probe: Any = self.held.empty()
        ordered = None if weights is None else weights[order]
        probe.update(values.take(pa.array(order)), ordered, times[order])
        self.waiting.append((times, values, np.ones(len(times)) if weights is None else weights))

    def close(self, last: int) -> Iterator[tuple[int, S]]:
        """End and synopsis of each window up to `last` that holds rows; it is not a copy."""
        times, values, weights = self._sorted()
        done = 0
        while True:
            end = self._next_end(int(times[done]) if done < len(times) else None)
            if end is None or end > last:
                break
            stop = int(np.searchsorted(times, end, side="right"))
            self._fold(self.held, times[done:stop], values.slice(done, stop - done), weights, done)
            if stop > done:
                self.newest = int(times[stop - 1])
            done = stop
            self.held.advance(end)
            self.slides.closed = end
            if self.newest is not None and self.newest > end - self.slides.length:
                yield end, self.held
        self.slides.closed = last if self.slides.closed is None else max(last, self.slides.closed)
        rest = (times[done:], values.slice(done), weights[done:])
        self.waiting = [rest] if len(rest[0]) else []

    def current(self) -> S:
        """The synopsis of the next window to close, of the rows seen so far."""
        times, values, weights = self._sorted()
        now: S = self.held.copy()
        end = self._next_end(int(times[0]) if len(times) else None)
        if end is not None:
            stop = int(np.searchsorted(times, end, side="right"))
            self._fold(now, times[:stop], values.slice(0, stop), weights, 0)
            clock: Any = now
            clock.advance(end)
        return now

    def _next_end(self, following: int | None) -> int | None:
        closed, slides = self.slides.closed, self.slides
        if closed is not None and self.newest is not None:
            end = closed + slides.slide
            if self.newest > end - slides.length:
                return end
        return None if following is None else slides.end_for(following)

    def _fold(
        self, synopsis: Any, times: Ints, values: pa.Array, weights: Floats, start: int
    ) -> None:
        if len(times):
            part = weights[start : start + len(times)]
            synopsis.update(values, None if (part == 1.0).all() else part, times)

    def _sorted(self) -> tuple[Ints, pa.Array, Floats]:
        if not self.waiting:
            return np.empty(0, np.int64), pa.array([], pa.int64()), np.empty(0)
        times = np.concatenate([part[0] for part in self.waiting])
        values = pa.concat_arrays([part[1] for part in self.waiting])
        weights = np.concatenate([part[2] for part in self.waiting])
        order = np.argsort(times, kind="stable")
        return times[order], values.take(pa.array(order)), weights[order]

    def saved(self) -> tuple[dict[str, Any], list[bytes]]:
        """The synopsis, and the rows that wait."""
        times, values, weights = self._sorted()
        sink = pa.BufferOutputStream()
        table = pa.table({"time": times, "item": values, "weight": weights})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        plain = {
            "newest": self.newest,
            "watermark": self.slides.watermark,
            "closed": self.slides.closed,
        }
        return plain, [self.held.to_bytes(), sink.getvalue().to_pybytes()]

    def load(self, values: dict[str, Any], data: list[bytes]) -> None:
        """Take state as saved."""
        self.held = type(self.held).from_bytes(data[0])
        table = pa.ipc.open_stream(data[1]).read_all().combine_chunks()
        rows = (
            table["time"].to_numpy(),
            pa.concat_arrays(table["item"].chunks) if len(table) else pa.array([], pa.int64()),
            table["weight"].to_numpy(),
        )
        self.waiting = [rows] if len(table) else []
        self.newest = values["newest"]
        self.slides.watermark, self.slides.closed = values["watermark"], values["closed"]
