"""What a home holds now, read without disturbing the job that runs it."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

import pyarrow.compute as pc

from streamgauge.contracts.answer import Answer
from streamgauge.contracts.schema import ANSWERS
from streamgauge.engine.catalog import expected_registry as expected_registry
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import QueryNotFound
from streamgauge.log.home import Home
from streamgauge.plan.registry import Listed, Registry, Standing
from streamgauge.results.change_log import as_answers, epoch_answers, epochs_after

TRIES = 5


def listed(gauge: Gauge) -> dict[str, Listed]:
    """All queries by name."""
    held = gauge.registry().queries
    return {
        name: Listed(standing, _same(held.get(name), standing))
        for name, standing in expected_registry(gauge.home).queries.items()
    }


def _same(held: Standing | None, expected: Standing) -> bool:
    if held is None:
        return False
    return (held.version, held.status) == (expected.version, expected.status)


def latest(gauge: Gauge, name: str | None = None) -> dict[str, list[Answer]]:
    """Newest answers by query."""
    found: dict[str, list[Answer]] = {}
    for answer in _latest(gauge, name):
        found.setdefault(answer.query, []).append(answer)
    return found


def _latest(gauge: Gauge, name: str | None) -> list[Answer]:
    for _ in range(TRIES):
        try:
            return gauge.latest(name)
        except FileNotFoundError:
            # The job went two epochs on while the state was being read; its files are gone.
            continue
    return gauge.latest(name)


def last_answers(home: Home, name: str | None, n: int, *, since: int, upto: int) -> list[Answer]:
    """The last `n` answers given after an epoch, oldest first; reads no more epochs than needed."""
    found: list[Answer] = []
    for epoch in reversed(epochs_after(home, since)):
        if len(found) >= n:
            break
        table = epoch_answers(home, epoch) if epoch <= upto else ANSWERS.empty_table()
        if name is not None:
            table = table.filter(pc.equal(table["query"], name))
        missing = n - len(found)
        found = [*as_answers(table.slice(max(table.num_rows - missing, 0))), *found]
    return found


def matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """Names that fit a pattern with *, ? or [...]; a pattern without them fits anywhere."""
    if pattern is None:
        return sorted(names)
    wild = pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"
    return sorted(fnmatch.filter(names, wild))


def chosen(registry: Registry, patterns: Iterable[str]) -> list[str]:
    """Names of registered queries: as given, or all that fit a pattern."""
    names: list[str] = []
    for pattern in patterns:
        if pattern in registry.queries or not any(sign in pattern for sign in "*?["):
            names.append(registry.query(pattern).name)
            continue
        found = fnmatch.filter(registry.queries, pattern)
        if not found:
            raise QueryNotFound(
                f"no query fits {pattern!r}",
                f"there are {len(registry.queries):,} queries",
                "see what there is with: streamgauge ls",
            )
        names += found
    return list(dict.fromkeys(names))
