"""What metrics are read from: a home as its newest commit and its newest answers have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import SECOND, Instant
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.shadows import is_shadow
from streamgauge.reading import Reader

T = TypeVar("T")


class Standings(NamedTuple):
    """Newest answers, with checks and evaluations of deferred queries, as of an epoch."""

    epoch: int
    answers: dict[str, list[Answer]]
    deferred: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class HomeReading:
    """A home at one moment.

    Parameters
    ----------
    reader
        The home itself, for what is told nowhere else.
    now
        The time, for ages.
    most
        Queries that have series of their own, the oldest first; and agents, by name.
    epoch, registry, peaks, landed_at
        The newest commit and what its page says.
    waiting
        Epochs that are written down and not committed yet.
    recent
        Records of the newest commits, the newest last.
    behind
        How far a row of the newest commit lay behind a row before it, by stream.
    dead_letters
        Their number, by stream.
    given
        Answers given since the server started, by query and version.
    standings
        Newest answers; of many queries those of an earlier epoch.
    """

    reader: Reader
    now: Instant
    most: int
    epoch: int
    registry: Registry
    peaks: Mapping[str, Instant]
    landed_at: Instant
    waiting: int
    recent: Sequence[Mapping[str, Any]]
    behind: Mapping[str, int]
    dead_letters: Callable[[str], int]
    given: Mapping[tuple[str, int], int]
    standings: Standings
    _known: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False)

    def once(self, read: Callable[[HomeReading], T]) -> T:
        """What a function reads of this home, read for the first who asks."""
        if read not in self._known:
            self._known[read] = read(self)
        return cast("T", self._known[read])

    @property
    def last(self) -> Mapping[str, Any]:
        """Record of the newest commit; empty before the first."""
        return self.recent[-1] if self.recent else {}

    @cached_property
    def listed(self) -> list[Standing]:
        """Queries that have series of their own."""
        queries = self.registry.queries.values()
        asked = (standing for standing in queries if not is_shadow(standing.name))
        return sorted(asked, key=lambda standing: standing.id)[: self.most]

    def lag(self, standing: Standing, answers: Sequence[Answer]) -> float | None:
        """Seconds that the oldest answer of a query is behind the newest row of its streams."""
        peaks = [self.peaks[s] for s in standing.asked.streams if s in self.peaks]
        if not peaks:
            return None
        return max(0.0, seconds(max(peaks) - min(answer.as_of for answer in answers)))


def seconds(microseconds: int) -> float:
    """Seconds of whole microseconds."""
    return microseconds / SECOND


def query_labels(name: str, version: int) -> tuple[str, str]:
    """Values of the labels `query` and `version`."""
    # A name may hold half of a surrogate pair, which no encoding carries.
    return name.encode("utf-8", "replace").decode(), str(version)
