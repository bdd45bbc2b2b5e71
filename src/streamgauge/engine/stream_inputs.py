"""What a shard knows of a stream: how far it has come, and what its inputs have brought."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamgauge.engine.calendar import Calendar
from streamgauge.engine.distribution import REPLICATED
from streamgauge.engine.naming import Series
from streamgauge.engine.operator import Operator
from streamgauge.engine.rows import Rows, no_rows
from streamgauge.engine.stalled import Stage, Stalled
from streamgauge.engine.unusable import Tally
from streamgauge.kernel.columns import Interner
from streamgauge.kernel.time import Instant

UNSTARTED = -(2**60)


@dataclass(slots=True)
class InputState:
    """What one input of a stream has brought: names, series, rows that wait, and the work.

    `stalled` is work of suspended queries; `lost` says of work whose state cannot be read why not.
    """

    words: dict[str, Interner] = field(default_factory=dict)
    series: Series = field(default_factory=Series)
    waiting: Rows = field(default_factory=lambda: no_rows((), ()))
    pieces: dict[str, Operator] = field(default_factory=dict)
    stalled: dict[str, Stalled] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class StreamState:
    """All that a shard knows of a stream after an epoch.

    `coming` is the calendar of rows beyond the closed tick.
    """

    closed: int = UNSTARTED
    awake_until: int = UNSTARTED
    first: int = UNSTARTED
    births: dict[int, Instant] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    coming: Calendar = field(default_factory=Calendar)
    inputs: dict[str, InputState] = field(default_factory=dict)

    @property
    def pieces(self) -> dict[str, Operator]:
        """The work of all inputs, by the text of its key."""
        return {text: p for held in self.inputs.values() for text, p in held.pieces.items()}

    def stage(self) -> Stage:
        """How far the stream has come."""
        return Stage(self.closed, self.awake_until, self.first, dict(self.births), self.coming)

    @classmethod
    def at(cls, stage: Stage) -> StreamState:
        """A stream that has come so far, without work."""
        births, coming = dict(stage.births), stage.coming
        return cls(stage.closed, stage.awake_until, stage.first, births, coming=coming)

    @property
    def n_series(self) -> int:
        """How many series some work tells apart."""
        return max((len(held.series.names) for held in self.inputs.values()), default=0)

    @property
    def whole(self) -> InputState:
        """The input that brings all rows."""
        return self.inputs.setdefault(REPLICATED, InputState())
