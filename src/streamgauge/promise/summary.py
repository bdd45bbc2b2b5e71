"""Summary: what is kept of a column of a stream so that its promising regions can be told."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import Duration, duration_text

KINDS = ("count_sketch", "count_min", "sample", "histogram", "wavelet")
# Zones that the finest granularity is cut into when the stream never changes its ways.
ZONES = 8
# Buckets, and zones of older granularities times buckets: some hundred megabytes.
MOST_BUCKETS = 4096
MOST_CELLS = 2**16
LONGEST = 2**60


@dataclass(frozen=True, slots=True)
class Summary:
    """A declared summary, as a value.

    Time is cut into granularities. The newest one is `granularity` long, each older one `rate`
    times as long as the one before it, and there are `depth` of them. Each is cut into zones, each
    zone into buckets of values; every cell has a small synopsis of its rows.

    Parameters
    ----------
    name, stream, column
        Its name, and the column it tells values of.
    granularity
        Length of the newest granularity, in microseconds.
    rate, depth
        How much longer each older granularity is, and how many there are.
    kind
        The synopsis of a cell.
    confidence
        A new zone begins when the synopses of the open one are less sure than this.
    longest
        No zone of the newest granularity is longer; 0 is an eighth of it.
    buckets
        Buckets that values are cut into.

    Examples
    --------
    >>> items = Summary("items", "sales", "item", 60_000_000, rate=2, depth=3)
    >>> print(items)
    count_sketch of sales(item), 1 min x 2 x 3, reaches back 7 min
    >>> Summary.from_dict(items.as_dict()) == items
    True
    """

    name: str
    stream: str
    column: str
    granularity: Duration
    rate: int = 2
    depth: int = 1
    kind: str = "count_sketch"
    confidence: float = 0.5
    longest: Duration = 0
    buckets: int = 16

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BindError(
                f"no summary is kept as {self.kind!r}",
                f"known are {', '.join(KINDS)}",
                "write USING count_sketch, or leave USING out",
            )
        counts = (self.granularity, self.rate, self.depth, self.buckets, self.longest)
        sound = all(isinstance(count, int) for count in counts) and min(counts[:-1]) >= 1
        if not sound or not 0.0 <= self.confidence < 1.0 or self.longest < 0:
            raise BindError(
                "a summary needs positive whole numbers and a confidence in [0, 1)",
                f"got granularity={self.granularity}, rate={self.rate}, depth={self.depth}, "
                f"buckets={self.buckets}, confidence={self.confidence}, longest={self.longest}",
                "write WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4)",
            )
        self._check_size()

    def _check_size(self) -> None:
        """Raise when it would take more memory than it saves work, or reach beyond all time."""
        cells = self.rate * self.depth * self.buckets
        if self.buckets > MOST_BUCKETS or cells > MOST_CELLS:
            raise BindError(
                f"summary {self.name!r} would have too many cells",
                f"BUCKETS {self.buckets:,} with COLLAPSE({self.rate}, {self.depth}); at most "
                f"{MOST_BUCKETS:,} buckets, and {MOST_CELLS:,} for rate times depth times buckets",
                "write fewer buckets, a smaller rate or a smaller depth",
            )
        if self.depth > 1 and self.span > LONGEST:
            raise BindError(
                f"summary {self.name!r} would reach back beyond all time",
                f"COLLAPSE({self.rate}, {self.depth}) from {duration_text(self.granularity)} on",
                "write a smaller depth, such as COLLAPSE(2, 4)",
            )

    @property
    def lengths(self) -> tuple[Duration, ...]:
        """Length of each granularity, newest first."""
        return tuple(self.granularity * self.rate**number for number in range(self.depth))

    @property
    def span(self) -> Duration:
        """How far back it reaches."""
        return sum(self.lengths)

    @property
    def zone_length(self) -> Duration:
        """No zone of the newest granularity is longer."""
        return self.longest or max(1, self.granularity // ZONES)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Summary:
        """Read the JSON form."""
        return cls(**data)

    def __str__(self) -> str:
        steps = f"{duration_text(self.granularity)} x {self.rate} x {self.depth}"
        back = f"reaches back {duration_text(self.span)}"
        return f"{self.kind} of {self.stream}({self.column}), {steps}, {back}"
