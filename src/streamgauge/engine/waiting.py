"""Why a query has no answer yet, or an incomplete one, and until when: in one wording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamgauge.contracts.answer import Answer
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.clocks import closed_by
from streamgauge.kernel.errors import Cleared
from streamgauge.kernel.time import Instant, duration_text, instant_text
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page
from streamgauge.log.lock import held
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing, streams_of
from streamgauge.plan.technique import technique_of
from streamgauge.streams.stream import Stream


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a query has no answer; `until` is the event time of the check that may give one.

    A query of several groups may have answered before: groups leave when their windows empty.

    Examples
    --------
    >>> print(Waiting("stream 'plant' has sent no rows"))
    no answer yet: stream 'plant' has sent no rows
    >>> print(Waiting("the next check is at 2026-01-01T00:01:00Z", of_groups=True))
    no group has an answer now: the next check is at 2026-01-01T00:01:00Z
    """

    why: str
    until: Instant | None = None
    of_groups: bool = False

    def __str__(self) -> str:
        lead = "no group has an answer now" if self.of_groups else "no answer yet"
        return f"{lead}: {self.why}"

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        until = None if self.until is None else instant_text(self.until)
        return {"why": self.why, "until": until, "text": str(self)}


class Reasons:
    """Says why queries of a home have no answer yet, as of its newest epoch."""

    def __init__(self, home: Home, registry: Registry | None = None) -> None:
        self.home = home
        self.epoch = home.committed()
        self.running = held(home.root)
        self.registry = registry or registry_at(home, self.epoch)
        self.page: Page | None = Journal(home).page(self.epoch) if self.epoch else None

    def of(self, standing: Standing) -> Waiting:
        """Why a query of which no answer stands has none."""
        found = self.hindrance(standing) or self._due(standing)
        return replace(found, of_groups=_of_groups(standing))

    def hindrance(self, standing: Standing) -> Waiting | None:
        """What keeps a query from answering whatever it asks; None: nothing does."""
        known = self.registry.queries.get(standing.name)
        if known is None or known.version != standing.version:
            return self._with_job("the query takes effect with the next epoch")
        if known.suspended is not None:
            return Waiting(f"{known.suspended}; {resume_words(known)}")
        if known.status != "running":
            return Waiting(f"the query is paused; write RESUME QUERY {standing.name}")
        closed = self._closed(known)
        silent = [name for name, reached in closed.items() if reached is None]
        if silent:
            return self._with_job(f"stream {silent[0]!r} has sent no rows")
        found = {name: reached for name, reached in closed.items() if reached is not None}
        slow = min(found, key=lambda name: found[name])
        ahead = max(found.values())
        if found[slow] < ahead - self._stream(slow).tick:
            reached = instant_text(found[slow])
            advice = f"declare IDLE, or write ADVANCE STREAM {slow} TO '{instant_text(ahead)}'"
            return self._with_job(
                f"it waits for stream {slow!r}, complete up to {reached}; {advice}"
            )
        return None

    def _due(self, standing: Standing) -> Waiting:
        asked = standing.asked
        found = {n: at for n, at in self._closed(standing).items() if at is not None}
        name = min(found, key=lambda name: found[name])
        closed = found[name]
        complete = f"stream {name!r} is complete up to {instant_text(closed)}"
        born = self._born(standing, name)
        if not asked.history and born is not None and closed <= born:
            return self._with_job(
                f"it was registered FROM NOW and counts rows after {instant_text(born)}; {complete}"
            )
        if awaited := technique_of(standing).awaits(standing):
            return self._with_job(f"{awaited}; {complete}")
        if asked.answer.kind == "every":
            until = (closed // asked.answer.period + 1) * asked.answer.period
            return self._with_job(f"the next check is at {instant_text(until)}; {complete}", until)
        return self._with_job(f"no row that it asks for is in its window; {complete}")

    def _with_job(self, why: str, until: Instant | None = None) -> Waiting:
        if self.running:
            return Waiting(why, until)
        start = f"start it with: streamgauge run --home {self.home.path}"
        return Waiting(f"{why}; the job is not running, {start}", until)

    def _stream(self, name: str) -> Stream:
        return self.registry.stream(name)

    def _closed(self, standing: Standing) -> dict[str, Instant | None]:
        """The event time up to which each stream of a query is complete; None without rows."""
        return {name: self._closed_at(self.page, name) for name in streams_of(standing.asked)}

    def _closed_at(self, page: Page | None, name: str) -> Instant | None:
        if page is None or name not in page.peaks:
            return None
        stream = self._stream(name)
        return closed_by(page, stream) * stream.tick

    def _born(self, standing: Standing, name: str) -> Instant | None:
        """Where a stream was complete when a query began."""
        if standing.born <= 1:
            return None
        try:
            return self._closed_at(Journal(self.home).page(standing.born - 1), name)
        except Cleared:
            return None


def _of_groups(standing: Standing) -> bool:
    """Whether the answers of a query leave one by one, so that none may stand any more."""
    asked = standing.asked
    return isinstance(asked, Query) and bool(asked.group_by or asked.select.name == "top_k")


def incomplete(registry: Registry, standing: Standing, answers: Sequence[Answer]) -> str:
    """What an answer that covers less than its window misses, and until when; empty: nothing.

    Of a query that is suspended, why.
    """
    if standing.suspended is not None:
        return f"{standing.suspended}; {resume_words(standing)}"
    short = [answer for answer in answers if answer.coverage < 1.0]
    if not short or not isinstance(standing.asked, Query) or standing.asked.parts:
        return ""
    window = registry.window_of(standing.asked)
    if window is None:
        return ""
    least = min(short, key=lambda answer: answer.coverage)
    until = None
    if window.kind == "range":
        until = least.as_of + round((1.0 - least.coverage) * window.length)
    return covers(registry, (standing.asked.stream,), least.coverage, until)


def resume_words(standing: Standing) -> str:
    """What to do about a query that is suspended."""
    return f"write RESUME QUERY {standing.name} when the cause is removed, or ALTER or DROP it"


def covers(
    registry: Registry, streams: Sequence[str], coverage: float, until: Instant | None
) -> str:
    """The one sentence about windows that reach back further than what is kept."""
    kept = ", ".join(f"{n} KEEP {duration_text(registry.stream(n).keep)}" for n in streams)
    whole = "" if until is None else f"; complete at {instant_text(until)}"
    return f"covers {100 * coverage:.3g}%: it asks for rows older than those kept ({kept}){whole}"
