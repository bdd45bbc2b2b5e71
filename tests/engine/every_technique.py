"""A home in which each technique answers queries, and operators that fail for some of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numba import njit

import streamgauge as sg
from streamgauge.engine import turns
from streamgauge.engine.operator import Operator, PageOperator
from streamgauge.kernel.errors import MemoryExceeded
from streamgauge.kernel.time import SECOND, instant
from streamgauge.plan.technique import load, techniques

START = instant("2026-01-01T00:00:00Z")
ROWS_A_TURN = 120
STREAMS = """
CREATE STREAM web (ts TIME, item INT, price FLOAT) FROM FILES '{place}/web' TIME ts KEY item
  KEEP 1 DAY FUTURE ANY;
CREATE STREAM shop (ts TIME, item INT, price FLOAT) FROM FILES '{place}/shop' TIME ts KEY item
  KEEP 1 DAY FUTURE ANY;
CREATE STREAM plant (ts TIME, item INT, price FLOAT, width FLOAT) FROM FILES '{place}/plant'
  TIME ts KEY item WIDTH width KEEP 1 DAY FUTURE ANY;
CREATE SUMMARY web_items ON web(item) WITH GRANULARITY 3 SECONDS AND COLLAPSE(2, 2);
CREATE SUMMARY shop_items ON shop(item) WITH GRANULARITY 3 SECONDS AND COLLAPSE(2, 2);
"""
# What is asked of each technique; `{n}` tells two queries apart.
ASKED = {
    "latest values": "SELECT SUM(price) FROM web [PARTITION BY item ROWS 1]",
    "deferral": (
        "SELECT AVG(price) FROM web [PARTITION BY item ROWS 1] WITHIN {n} CONFIDENCE 90% BY WATCH"
    ),
    "source bounds": "SELECT AVG(price) FROM plant GUARANTEED WITHIN {n}",
    "windows of time": (
        "SELECT item, SUM(price) FROM web [RANGE 10 SECONDS] GROUP BY item EVERY {n} SECONDS"
    ),
    "sketches over windows": (
        "SELECT item, APPROX_COUNT_DISTINCT(price) FROM web [RANGE 10 SECONDS] GROUP BY item "
        "EVERY {n} SECONDS WITHIN 10 PERCENT CONFIDENCE 95%"
    ),
    "windows of rows": "SELECT AVG(price) FROM web [ROWS 5] EVERY {n} SECONDS",
    "decaying windows": "SELECT AVG(price) FROM web [DECAY 10 SECONDS] EVERY {n} SECONDS",
    "sketches across streams": (
        "SELECT COUNT(*) FROM web [RANGE 10 SECONDS] a JOIN shop [RANGE 10 SECONDS] b "
        "ON a.item = b.item EVERY {n} SECONDS WITHIN 20 PERCENT RANK CONFIDENCE 95%"
    ),
    "aggregates under a work budget": (
        "SELECT AVG(price) FROM web [RANGE 4 SECONDS] WHERE item < 6 EVERY {n} SECONDS "
        "WITH PREFERENCE WEIGHTED COUNT(item) BUDGET PROBES 6"
    ),
    "selections": "SELECT item, price FROM web WHERE price > 3{n}",
    "partitioned relations": (
        "SELECT a.item, a.price AS one, b.price AS two FROM web [RANGE 4 SECONDS] a, "
        "shop [RANGE 4 SECONDS] b WHERE a.item = b.item AND a.price > 3{n}"
    ),
    "joins under a work budget": (
        "SELECT a.item, a.price AS one, b.price AS two FROM web [RANGE {n} SECONDS] a, "
        "shop [RANGE {n} SECONDS] b WHERE a.item = b.item "
        "WITH PREFERENCE WEIGHTED COUNT(a.item), COUNT(b.item) BUDGET PROBES 15"
    ),
    "selections under a work budget": (
        "SELECT * FROM web [RANGE 5 SECONDS] WHERE item > {n} "
        "WITH PREFERENCE ASC COUNT(item) BUDGET PROBES 1"
    ),
    "relations": (
        "SELECT a.item, b.price FROM web [RANGE 1 SECOND] a, shop [RANGE 1 SECOND] b "
        "WHERE a.price > b.price + 3{n}"
    ),
}


def declared(
    gauge: sg.Gauge, place: Path, only: str | None = None, bad: Sequence[str] = ("bad",)
) -> None:
    """Declare the streams, and for each technique a query that may fail and one that does not.

    Names of those that may fail begin with one of `bad` in turn.
    """
    for name in ("web", "shop", "plant"):
        (place / name).mkdir(parents=True, exist_ok=True)
    gauge.sql(STREAMS.replace("{place}", str(place)))
    for number, (technique, text) in enumerate(ASKED.items()):
        if only in (None, technique):
            gauge.sql(text.replace("{n}", "2"), name=f"good_{number}")
            gauge.sql(text.replace("{n}", "4"), name=f"{bad[number % len(bad)]}_{number}")


def names_of(gauge: sg.Gauge) -> set[str]:
    """Names of all queries."""
    return set(gauge.trial().registry.queries)


def brought(place: Path, turn: int) -> None:
    """Write the rows of a turn, six seconds of each stream."""
    at = np.arange(ROWS_A_TURN * turn, ROWS_A_TURN * (turn + 1))
    ts = pa.array(START + at * SECOND // 20 + 1000, pa.timestamp("us", "UTC"))
    for step, name in ((3, "web"), (5, "shop"), (7, "plant")):
        columns = {"ts": ts, "item": step * at % 13 % 11, "price": at * at % 37 / 1.0}
        if name == "plant":
            columns["width"] = np.full(len(at), 0.5)
        pq.write_table(pa.table(columns), place / name / f"{turn:03d}.parquet")


def told(gauge: sg.Gauge, prefix: str) -> list[str]:
    """All that queries have answered, in a canonical order, without epochs."""
    numbers = [
        {k: v for k, v in row.items() if k != "epoch"}
        for row in gauge.answers().to_pylist()
        if row["query"].startswith(prefix)
    ]
    found = [repr(sorted(row.items())) for row in numbers]
    for name, standing in gauge.registry().queries.items():
        if name.startswith(prefix) and "plan" in standing.asked.as_dict():
            rows = gauge.row_changes(name).to_pylist()
            found += [
                repr([name, *((k, v) for k, v in row.items() if k != "epoch")]) for row in rows
            ]
    return sorted(found)


def fails() -> None:
    """Data that nobody thought of."""
    raise ZeroDivisionError("division by zero")


def exits() -> None:
    """Code of somebody who thought it was a program."""
    raise SystemExit(3)


def exhausts() -> None:
    """An allocation that is refused."""
    raise MemoryError


def exceeds() -> None:
    """A claim that is refused."""
    raise MemoryExceeded("query 'bad' needs more memory than it may have", "all of it", "widen")


def recurses() -> None:
    """A tree that is too deep."""
    recurses()


def loops() -> None:
    """An endless loop."""
    while True:
        pass


@njit
def _spin(counts):  # type: ignore[no-untyped-def]
    while counts[0] == 0:
        counts[1] += 1


def spins() -> None:
    """An endless loop of a kernel, which lets no other code of the process run."""
    _spin(np.zeros(2, np.int64))


def dies() -> None:
    """The end of the process, as the system ends one that takes too much memory."""
    os._exit(9)


# What a query's operator does in one of its methods, by the names of both.
Poison = Callable[[str, str], Callable[[], None] | None]
HOW: dict[str, Callable[[], None]] = {
    call.__name__: call for call in (fails, exits, exhausts, exceeds, recurses, loops, spins, dies)
}


def as_named(name: str, method: str) -> Callable[[], None] | None:
    """What a query does whose name says so: poisoned_fails_3."""
    first, _, kind = name.rpartition("_")[0].partition("_")
    return HOW[kind] if first == "poisoned" and method == "advance" else None


def poison(how: Poison, put: Callable[[type, str, object], None] = setattr) -> None:
    """Let operators fail while they work for some queries; `how` says for which, and how."""
    for technique in techniques():
        folder = technique.operators.rpartition(".")[0]
        found = [value for value in vars(load(technique.operators)).values() if _works(value)]
        for operator in (value for value in found if value.__module__.startswith(folder)):
            for method in ("seat", "advance", "compile"):
                if hasattr(operator, method):
                    put(operator, method, _failing(getattr(operator, method), method, how))


def _works(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Operator | PageOperator)


def _failing(real: Callable[..., Any], method: str, how: Poison) -> Callable[..., Any]:
    def work(*args: Any, **options: Any) -> Any:
        at_work = turns.at_work()
        for standing in at_work.queries() if at_work is not None else ():
            act = how(standing.name, method)
            if act is not None:
                act()
        return real(*args, **options)

    return work
