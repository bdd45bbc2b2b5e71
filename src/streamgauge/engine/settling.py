"""Settling: an epoch runs until no operator fails in it; the queries that make one fail sit out.

Every attempt runs all shards with the same suspensions, and what is committed is of one attempt, so
a query that fails on one shard has no answer of any shard. Where many queries share an operator,
further attempts find the few that it cannot work for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from streamgauge.engine.shard import Receipt
from streamgauge.kernel.errors import EngineFailure
from streamgauge.log.attempts import found_failures, note_failures
from streamgauge.log.home import Home

# After so many queries of one operator that fail each by itself, the others are not tried.
MOST_CULPRITS = 3
# Each attempt at these would take as long as the first.
INDIVISIBLE = ("TimeoutError", "ProcessDied")

Record = dict[str, Any]
Who = tuple[int, int]
Attempt = Callable[[], Sequence[Receipt]]


@dataclass(frozen=True, slots=True)
class Failed:
    """An operator that failed on some shards, and its queries that are suspended for it."""

    operator: str
    queries: tuple[Who, ...]
    why: Record

    def record(self) -> Record:
        """As the commit and the journal say it."""
        queries = [list(one) for one in self.queries]
        return {
            "do": "suspend",
            "queries": queries,
            "operator": self.operator,
            "sharing": len(queries),
            **self.why,
        }


def settled(home: Home, stop: int, attempt: Attempt) -> list[Receipt]:
    """The receipts of the attempt at an epoch in which no operator fails."""
    known = found_failures(home, stop)
    trials = Trials(home, stop, attempt, known)
    if found_failures(home, stop, trial=True) != known:
        # A process died while it tried to find out who fails.
        note_failures(home, stop, known)
    failed = trials.all_failed()
    if not any(_divisible(one) for one in failed):
        if failed:
            note_failures(home, stop, [*known, *(one.record() for one in failed)])
        return trials.receipts
    found: list[Failed] = []
    for place, one in enumerate(failed):
        others = [*found, *failed[place + 1 :]]
        found.append(trials.narrowed(one, others) if _divisible(one) else one)
    note_failures(home, stop, [*known, *(one.record() for one in found)])
    if again := trials.run([*known, *(one.record() for one in found)], []):
        raise _restless(stop, again)
    return trials.receipts


@dataclass(slots=True)
class Trials:
    """Attempts at one epoch that leave queries out; `receipts` are those of the last."""

    home: Home
    stop: int
    attempt: Attempt
    known: Sequence[Record]
    receipts: list[Receipt] = field(default_factory=list)

    def run(self, found: Sequence[Record], trial: Sequence[Record]) -> list[Failed]:
        """Run the epoch without the queries of some records; who fails."""
        if found or trial:
            note_failures(self.home, self.stop, found, trial)
        self.receipts = sorted(self.attempt(), key=lambda receipt: receipt.shard)
        return _failed(failure for receipt in self.receipts for failure in receipt.failed)

    def all_failed(self) -> list[Failed]:
        """Every operator that fails, found by leaving those out that have failed."""
        failed: list[Failed] = []
        while True:
            fresh = self.run(self.known, [one.record() for one in failed])
            if not fresh:
                return failed
            done = {who for one in failed for who in one.queries}
            more = [replace(f, queries=tuple(q for q in f.queries if q not in done)) for f in fresh]
            if not any(one.queries for one in more):
                raise _restless(self.stop, fresh)
            failed += [one for one in more if one.queries]

    def narrowed(self, failed: Failed, others: Sequence[Failed]) -> Failed:
        """The queries without which an operator works; all of them where these are many.

        Queries that were there earlier are tried first, so that one that came to them is found.
        """
        left = list(failed.queries)
        culprits: list[Who] = []
        for _ in range(MOST_CULPRITS):
            works, fails = 0, len(left)
            while fails - works > 1:
                middle = (works + fails) // 2
                out = replace(failed, queries=(*culprits, *left[middle:]))
                if self.run(self.known, [one.record() for one in (*others, out)]):
                    fails = middle
                else:
                    works = middle
            culprits.append(left.pop(fails - 1))
            out = replace(failed, queries=tuple(culprits))
            if not left or not self.run(self.known, [one.record() for one in (*others, out)]):
                return out
        return failed


def _divisible(failed: Failed) -> bool:
    return len(failed.queries) > 1 and failed.why["code"] not in INDIVISIBLE


def _failed(failures: Iterable[Record]) -> list[Failed]:
    """One for each operator that failed somewhere, with what the first shard says of it."""
    found: dict[str, Failed] = {}
    for failure in failures:
        why = {name: failure[name] for name in ("since", "code", "why")}
        known = found.setdefault(failure["operator"], Failed(failure["operator"], (), why))
        queries = {*known.queries, *(tuple(one) for one in failure["queries"])}
        found[known.operator] = replace(known, queries=tuple(sorted(queries)))
    return [found[name] for name in sorted(found)]


def _restless(stop: int, failed: Sequence[Failed]) -> EngineFailure:
    return EngineFailure(
        f"epoch {stop} failed without the queries that failed in it",
        str(failed[0].why["why"]),
        "report this with the log of the job",
    )
