"""Promising queries beside the ordinary ones they are to be like, through real log and shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis.strategies import SearchStrategy

from streamgauge.contracts.answer import Answer
from streamgauge.engine import shard
from streamgauge.kernel.time import SECOND
from streamgauge.language.parse import parse
from streamgauge.log.home import Home
from streamgauge.plan.lower import planned
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.view import View
from streamgauge.promise.summary import Summary
from streamgauge.results.change_log import answers, as_answers
from streamgauge.results.row_blocks import row_changes
from streamgauge.streams.stream import Late
from tests.kit.feeds import Feed, Split, feeds
from tests.kit.replay import run_pages, write_pages
from tests.oracles.reference import Arrival

SUMMARIES = tuple(
    Summary(f"{stream}_{column}", stream, column, 4 * SECOND, rate=2, depth=3)
    for stream, columns in {"meters": "knx", "doors": "kny"}.items()
    for column in columns
)
Asked = Query | View
Change = tuple[Any, ...]
# Instant, missing, contract_met, share and unseen of a change come before its row.
HEAD = 5


def growing() -> SearchStrategy[Feed]:
    """Feeds of streams that only grow: no row is taken back, and late ones revise nothing."""

    def grows(feed: Feed) -> Feed:
        streams = [stream for stream in feed.streams if stream.changes is None]
        late = {"revise": Late.allow(2)}
        kept = [replace(s, late=late.get(s.late.policy, s.late)) for s in streams]
        rows = {stream.name: feed.rows[stream.name] for stream in streams}
        return replace(feed, streams=tuple(kept), rows=rows)

    return feeds().map(grows)


def declared(feed: Feed) -> list[dict[str, Any]]:
    """Control records that declare the streams of a feed and a summary of each of their columns."""
    found: list[dict[str, Any]] = [{"do": "stream", "stream": s.as_dict()} for s in feed.streams]
    return found + [{"do": "summary", "summary": s.as_dict()} for s in SUMMARIES]


def asked(feed: Feed, **texts: str) -> list[Asked]:
    """Queries by their names, planned over a feed."""
    registry = Registry()
    assert registry.apply(declared(feed), epoch=1) == []
    found: list[Asked] = []
    for name, text in texts.items():
        plan = planned(name, parse(text), registry, text)  # type: ignore[arg-type]
        found += [plan] if isinstance(plan, View) else plan
    return found


def pages_of(feed: Feed, split: Split, queries: Sequence[Asked], born: int = 0) -> list[Arrival]:
    """Pages: declarations, queries with page `born`, rows, and at the end an advance."""
    pages = []
    for number, rows in enumerate(split):
        changes = declared(feed) if number == 0 else []
        if number == born:
            changes.append({"do": "register", "queries": [query.as_dict() for query in queries]})
        pages.append(Arrival(tuple(changes), dict(rows)))
    advance = [
        {"do": "advance", "stream": stream.name, "instant": feed.end} for stream in feed.streams
    ]
    return [*pages, Arrival(tuple(advance))]


def ran(
    path: Path, feed: Feed, pages: Sequence[Arrival], *, shards: int = 1, forget: bool = False
) -> Home:
    """A home after all pages; with `forget` every page begins from what is on the disk."""
    home = Home.open(path, shards=shards)
    write_pages(home, feed.streams, pages)
    run_pages(home, forget=forget)
    shard.forget(home)
    return home


def changes(home: Home, name: str) -> Counter[Change]:
    """Copies that came and went, by everything that is said of them but the page."""
    found: Counter[Change] = Counter()
    for row in row_changes(home, name).to_pylist():
        said = {key: row[key] for key in row if key not in ("query", "epoch", "version", "count")}
        found[tuple(said.values())] += row["count"]
    return Counter({change: count for change, count in found.items() if count})


def given(home: Home, name: str) -> list[Answer]:
    """Answers of a query of numbers, without their pages and under no name."""
    found = [replace(a, epoch=0, query="") for a in as_answers(answers(home)) if a.query == name]
    return sorted(found, key=lambda answer: answer.as_of)


def held(found: Counter[Change], at: int) -> Counter[Change]:
    """The rows that were there at an instant, from their changes."""
    total: Counter[Change] = Counter()
    for change, count in found.items():
        if change[0] <= at:
            total[change[HEAD:]] += count
    return Counter({row: count for row, count in total.items() if count})
