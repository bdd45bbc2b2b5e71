"""A gauge on the local engine beside what its answers mean: files in pages, restarts, reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg
from streamgauge.contracts.answer import Answer
from streamgauge.engine.lanes import NO_PEAK
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log.journal import Journal, Page
from streamgauge.log.segments import write_parquet
from streamgauge.plan.view import View
from streamgauge.results.change_log import as_answers
from streamgauge.results.row_blocks import HEAD
from streamgauge.streams.schema import Schema
from streamgauge.windows.window import BEGINNING
from tests.kit.replay import same_answer, sort_key
from tests.kit.rows import Bag, alike, table_of, tuples_of
from tests.kit.strategies import as_arrow
from tests.oracles.reference import Arrival, Row, evaluate
from tests.oracles.rows import Version, World, answers, columns_of, relation

START = instant("2026-01-01T00:00:00Z")
_HEAD = len(HEAD.names)


def at(seconds: float) -> int:
    """An instant of the tests."""
    return START + round(seconds * SECOND)


def rows_of(names: str, *cells: tuple[Any, ...]) -> list[Row]:
    """Rows from tuples that begin with their second."""
    columns = names.split()
    return [Row(at(s), dict(zip(columns, rest, strict=True))) for s, *rest in cells]


@dataclass
class Stage:
    """A home that is fed page by page, every second page by a gauge that was started anew."""

    root: Path
    shards: int = 1
    gauge: sg.Gauge = field(init=False)
    pages: int = 0

    def __post_init__(self) -> None:
        self.gauge = sg.connect(self.root / "home", engine="local", shards=self.shards)

    def stream(self, name: str, schema: Schema, **more: Any) -> None:
        """Declare a stream of files with the time `ts`."""
        more.setdefault("keep", "365 days")
        folder = self.root / name
        folder.mkdir()
        self.gauge.stream(
            name, sg.files(folder), time="ts", schema=schema, future=None, **more
        )  # fmt: skip

    def table(self, name: str, schema: Schema, rows: Sequence[dict[str, Any]]) -> None:
        """Store a table, or another version of it."""
        path = self.root / f"{name}.parquet"
        pq.write_table(table_of(rows, schema), path)
        if name in self.gauge.trial().registry.tables:
            self.gauge.sql(f"REFRESH TABLE {name}")
        else:
            self.gauge.create_table(name, path)

    def page(self, **rows: Sequence[Row] | pa.Table) -> None:
        """Land one page of rows, or of columns; every second one after a restart."""
        self.pages += 1
        streams = self.gauge.trial().registry.streams
        for name, found in rows.items():
            table = found
            if not isinstance(table, pa.Table):
                table = as_arrow(found, streams[name].schema, time=streams[name].time)
            write_parquet(self.root / name / f"{self.pages:04d}.parquet", table)
        self.run()
        if self.pages % 2:
            self.restart()

    def pages_of(self, n_pages: int, **rows: Sequence[Row]) -> None:
        """Land the rows of some streams, cut by their times, in pages."""
        times = [row.ts for found in rows.values() for row in found]
        low, high = min(times), max(times) + 1
        cuts = [low + (high - low) * k // n_pages for k in range(n_pages + 1)]
        for k in range(n_pages):
            begin, end = cuts[k], cuts[k + 1]
            self.page(**{n: [r for r in f if begin <= r.ts < end] for n, f in rows.items()})

    def advance(self, seconds: float) -> None:
        """Say that nothing earlier comes in any stream."""
        for name in self.gauge.trial().registry.streams:
            self.gauge.advance(name, at(seconds))
        self.run()

    def run(self) -> None:
        """Do all that is there."""
        while self.gauge.step():
            pass
        assert self.gauge.refusals() == []

    def restart(self) -> None:
        """Go on with a gauge that knows nothing but the home."""
        self.gauge.stop()
        self.gauge = sg.connect(self.root / "home", engine="local")

    # What was given

    def changes(self, name: str) -> Counter[tuple[int, tuple[Any, ...]]]:
        """Copies by instant and row that a view has given."""
        table = self.gauge.row_changes(name)
        cells = tuples_of(table.select(table.column_names[_HEAD:]))
        times = table["as_of"].cast(pa.int64()).to_pylist()
        found: Counter[tuple[int, tuple[Any, ...]]] = Counter()
        for when, row, count in zip(times, cells, table["count"].to_pylist(), strict=True):
            found[when, row] += count
        return Counter({key: count for key, count in found.items() if count})

    def held(self, name: str) -> Bag:
        """The rows that a view holds now."""
        return Counter(tuples_of(self.gauge.rows(name)))

    def numbers(self, name: str) -> list[Answer]:
        """The answers of a query of numbers, or of all that are named `name.…`."""
        found = as_answers(self.gauge.answers())
        return [a for a in found if a.query == name or a.query.startswith(f"{name}.")]

    # What should have been given

    def history(self) -> list[Arrival]:
        """The pages of the journal, with their rows."""
        journal, streams = Journal(self.gauge.home), self.gauge.registry().streams
        found = []
        for number in range(1, journal.last() + 1):
            page = journal.page(number)
            rows: dict[str, tuple[Row, ...]] = {}
            for segment in page.segments:
                table = pq.ParquetFile(segment.path).read_row_groups(range(*segment.groups))
                time = streams[segment.stream].time
                names = [name for name in table.column_names if name != time]
                times = table[time].cast(pa.int64()).to_pylist()
                cells = tuples_of(table.select(names))
                rows[segment.stream] = rows.get(segment.stream, ()) + tuple(
                    Row(ts, dict(zip(names, row, strict=True)))
                    for ts, row in zip(times, cells, strict=True)
                )
            found.append(Arrival((*page.changes, *_advances(page)), rows))
        return found

    def world(self, view: View) -> World:
        """All that the streams and tables of a view ever held."""
        registry = self.gauge.registry()
        streams = {name: registry.stream(name) for name in view.streams}
        world = World.of(*streams.values())
        world.functions = registry.functions
        for page in self.history():
            reached = world.closed()
            for record in page.changes:
                if record["do"] == "table" and record["table"]["name"] in view.tables:
                    since = BEGINNING if reached is None else reached + world.step
                    rows = pq.read_table(record["table"]["path"]).to_pylist()
                    world.tables.setdefault(record["table"]["name"], []).append(
                        Version(since, tuple(rows))
                    )
                if record["do"] == "advance" and record["stream"] in streams:
                    world.advance(record["stream"], record["instant"])
            for name in streams:
                world.land(name, page.rows.get(name, ()))
        return world

    def check(self, *names: str) -> None:
        """Compare all that some queries gave with the reference; registered before any row."""
        for name in names:
            standing = self.gauge.registry().queries.get(name)
            if standing is not None and isinstance(standing.asked, View):
                self._check_rows(standing.asked)
            else:
                self._check_numbers(name)

    def _check_rows(self, view: View) -> None:
        world = self.world(view)
        closed = world.closed()
        assert closed is not None
        expected: Counter[tuple[int, tuple[Any, ...]]] = Counter()
        for when, row, count in answers(view, world, self._instants(view, world, closed), None):
            expected[when, row] += count
        assert expected, f"{view.name} gives nothing"
        given = self.changes(view.name)
        assert _stamped(given) == _stamped(expected), view.name
        if not view.stream_kind and view.answer.kind != "every":
            assert alike(self.held(view.name)) == alike(relation(view.plan, world, closed))
        columns = tuple(self.gauge.row_changes(view.name).column_names[_HEAD:])
        assert columns == columns_of(view.plan, world)

    def _instants(self, view: View, world: World, closed: int) -> list[int]:
        every = list(world.instants(closed))
        if view.stream_kind != "rstream" or view.answer.kind == "every":
            return every
        with_rows = {
            row.tick * history.stream.tick
            for history in world.histories.values()
            for row in history.rows
        }
        return [when for when in every if when in with_rows]

    def _check_numbers(self, name: str) -> None:
        given = sorted(self.numbers(name), key=sort_key)
        pages = [Arrival(tuple(_numbers_only(page.changes)), page.rows) for page in self.history()]
        expected = [a for a in evaluate(pages) if a.query in {answer.query for answer in given}]
        assert given, f"{name} gives nothing"
        assert len(given) == len(expected), name
        for one, other in zip(given, sorted(expected, key=sort_key), strict=True):
            assert same_answer(one, other), (one, other)


def _stamped(changes: Counter[tuple[int, tuple[Any, ...]]]) -> Bag:
    return alike({(when, *row): count for (when, row), count in changes.items()})


def _advances(page: Page) -> list[dict[str, Any]]:
    """What a page did to clocks before its rows, as records."""
    before = dict(page.peaks)
    before.update({segment.stream: segment.peak for segment in reversed(page.segments)})
    return [
        {"do": "advance", "stream": name, "instant": peak}
        for name, peak in before.items()
        if peak > NO_PEAK
    ]


def _numbers_only(changes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Control records as the reference of numbers takes them."""
    found = []
    for record in changes:
        if record["do"] == "register":
            offers = record.get("taken", [None] * len(record["queries"]))
            pairs = zip(record["queries"], offers, strict=True)
            kept = [(query, offer) for query, offer in pairs if "plan" not in query]
            told = {"taken": [offer for _, offer in kept]} if "taken" in record else {}
            found.append({**record, "queries": [query for query, _ in kept], **told})
        elif record["do"] in ("stream", "advance", "window", "function"):
            found.append(record)
    return found
