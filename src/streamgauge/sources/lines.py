"""Lines: where each line of a text file lies, without a Python object per line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from streamgauge.sources.salvage import salvage

NOT_TEXT = "the line is not UTF-8 text"

_MARK = b"\xef\xbb\xbf"
_NEWLINE = 10


@dataclass(frozen=True)
class Lines:
    r"""The lines of a file that are not empty.

    Parameters
    ----------
    data
        The bytes, lines ended by a line feed.
    starts, stops
        Where each line begins and ends in `data`.
    numbers
        Line numbers in the file, from 1.

    Examples
    --------
    >>> lines = Lines.of(b"a,b\r\n\r\nc,d")
    >>> len(lines), lines.numbers.tolist(), lines.text(1)
    (2, [1, 3], 'c,d')
    """

    data: bytes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, data: bytes) -> Lines:
        """Find the lines; a mark of UTF-8 at the front is dropped, all line ends are accepted."""
        data = data.removeprefix(_MARK)
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return cls._split(data)

    @classmethod
    def _split(cls, data: bytes) -> Lines:
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
        starts = np.concatenate([[0], ends + 1]).astype(np.int64)
        stops = np.concatenate([ends, [len(data)]]).astype(np.int64)
        filled = np.flatnonzero(stops > starts)
        return cls(data, starts[filled], stops[filled], filled + 1)

    def __len__(self) -> int:
        return len(self.starts)

    def block(self, first: int, stop: int) -> memoryview:
        """Bytes from line `first` to before line `stop`, without a copy."""
        return memoryview(self.data)[self.starts[first] : self.stops[stop - 1]]

    def size(self, first: int, stop: int) -> int:
        """Length of a block."""
        return int(self.stops[stop - 1] - self.starts[first])

    def text(self, line: int) -> str:
        """One line, bytes that are not UTF-8 replaced."""
        return bytes(self.block(line, line + 1)).decode("utf-8", "replace")

    def texts(self, first: int, stop: int) -> list[str]:
        """Lines first..stop, which have to be UTF-8."""
        return [line for line in str(self.block(first, stop), "utf-8").split("\n") if line]

    def leading(self) -> NDArray[np.uint8]:
        """First byte of each line."""
        return np.frombuffer(self.data, np.uint8)[self.starts]

    def undecodable(self) -> list[int]:
        """Lines that are not UTF-8."""

        def attempt(first: int, stop: int) -> bool | None:
            try:
                str(self.block(first, stop), "utf-8")
            except UnicodeDecodeError:
                return None
            return True

        lost: list[int] = salvage(len(self), attempt).lost.tolist()
        return lost

    def after(self, count: int) -> Lines:
        """Leave out the first lines."""
        return replace(
            self,
            starts=self.starts[count:],
            stops=self.stops[count:],
            numbers=self.numbers[count:],
        )

    def entries(self, lines: list[int], reason: str) -> list[tuple[int, str, str]]:
        """Dead letters (number, reason, text) of some lines that share a reason."""
        return [(int(self.numbers[line]), reason, self.text(line)) for line in lines]

    def without(self, lines: list[int]) -> Lines:
        """Leave out some lines, so that no block holds their bytes."""
        if not lines:
            return self
        gaps = pairwise([-1, *lines, len(self)])
        pieces = [self.block(left + 1, right) for left, right in gaps if right > left + 1]
        numbers = np.delete(self.numbers, lines)
        return replace(Lines._split(b"\n".join(pieces)), numbers=numbers)
