"""Promises of statements against the truth: bars of texts run by a gauge, from file to answer.

One home, one run. Each minute of event time holds a fresh draw of a named stream of `checks`, cut
at random into four groups, its items under fresh random labels for each group; windows are of one
minute, so no two answers share a row or an item. The engine's synopses have fixed seeds: what is
drawn anew is what they meet. The truth is the same text owed EXACT, or counted here by hand.

There are about 45 promises. Each alarms on a correct gauge with chance 1e-6 at most
(`checks.trials.ALPHA`): 45 false alarms in a million nights of fresh seeds. Promises that cannot
fail have a cut-off of 0. Never change a seed or a tolerance to make a test pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.checks.streams import STREAMS
from streamgauge.checks.trials import cutoff
from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import MINUTE, instant
from streamgauge.plan.query import Query
from streamgauge.results.change_log import as_answers

FIRST_SEED = int(os.environ.get("STREAMGAUGE_SEED", "1000"))
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
START = instant("2026-01-01")
GROUPS = ("a", "b", "c", "d")
ITEM = 7
KINDS = tuple(name for name in STREAMS if name not in ("one_row", "empty"))
ROUNDS = 200 if NIGHTLY else 24
TEXTS = 40 if NIGHTLY else 14
EVERY = "FROM s [RANGE 1 MINUTE] EVERY 1 MINUTE"

Array = npt.NDArray[Any]
Place = tuple[int, tuple[Any, ...]]
Given = Mapping[Place, Answer]


@dataclass(frozen=True, slots=True)
class Minute:
    """The rows of one minute: item, value and group of stream s, item of stream r."""

    item: Array
    value: Array
    group: Array
    other: Array


def a_minute(kind: str, rng: np.random.Generator) -> Minute:
    """A draw of a named stream, thinned, in random groups, with labels that nobody else has."""
    value = STREAMS[kind](rng)
    value = value[rng.random(len(value)) < 0.9]
    group = rng.integers(0, len(GROUPS), len(value))
    _, code = np.unique(np.stack((value, group)), axis=1, return_inverse=True)
    labels = rng.integers(10, 2**53, int(code.max(initial=-1)) + 1)
    if len(value):
        labels[code.ravel()[rng.integers(0, len(value))]] = ITEM
    item = labels[code.ravel()] if len(value) else value
    shared = item[rng.random(len(item)) < 0.4]
    fresh = rng.integers(10, 2**53, len(item) // 8)
    return Minute(item, value.astype(float), group, np.concatenate((shared, fresh)))


def times(count: int, minute: int) -> Array:
    """Times inside a minute, the last at its end."""
    return START + minute * MINUTE + np.linspace(1, MINUTE, count).astype(np.int64)


def write(directory: Any, minutes: list[Minute]) -> None:
    """Both streams as files."""
    stamp = pa.timestamp("us", tz="UTC")
    names = np.array(GROUPS)
    for name, columns in (("s", ("item", "value", "group")), ("r", ("other",))):
        (directory / name).mkdir()
        counts = [len(getattr(m, columns[0])) for m in minutes]
        ts = np.concatenate([times(n, k) for k, n in enumerate(counts)])
        rows = {c: np.concatenate([getattr(m, c) for m in minutes]) for c in columns}
        if name == "s":
            rows["group"] = names[rows["group"]]
        rows = {{"group": "g", "other": "item"}.get(c, c): column for c, column in rows.items()}
        table = pa.table({"ts": pa.array(ts, stamp), **rows})
        pq.write_table(table, directory / name / "rows.parquet")


@dataclass(frozen=True, slots=True)
class Text:
    """A random statement: what it asks, of which rows, and what it is owed."""

    name: str
    select: str
    where: str
    grouped: bool
    owed: str

    def sql(self, *, exact: bool = False) -> str:
        """The statement, or its twin that is owed the truth."""
        keys = "g, " if self.grouped else ""
        by = "GROUP BY g" if self.grouped else ""
        where = f"WHERE {self.where}" if self.where else ""
        owed = "EXACT" if exact else self.owed
        return (
            f"CREATE QUERY {self.name}{'_exact' if exact else ''} AS SELECT {keys}{self.select} "
            f"FROM s [RANGE 1 MINUTE] {where} {by} EVERY 1 MINUTE {owed}"
        )


def a_text(serial: int, rng: np.random.Generator) -> Text:
    """A statement drawn at random; its aggregate goes round."""
    percent, rank = "PERCENT", "PERCENT RANK"
    phi = round(float(rng.uniform(0.05, 0.95)), 2)
    cut = round(float(rng.uniform(0.6, 2.0)), 2)
    select, unit, widths = (
        ("APPROX_COUNT_DISTINCT(item)", percent, (3, 6, 12)),
        ("COUNT(DISTINCT item)", percent, (3, 6, 12)),
        ("F2(item)", percent, (8, 12, 20)),
        ("MEDIAN(value)", rank, (2, 4, 8)),
        (f"QUANTILE(value, {phi})", rank, (2, 4, 8)),
        (f"QUANTILE(value, {phi})", percent, (2, 5)),
        (f"FREQUENCY(item, {ITEM})", rank, (1, 2, 5)),
        (f"COUNT(*) WHEN value > {cut} * AVG(value)", rank, (2, 4, 8)),
    )[serial % 8]
    confidence = rng.choice((80, 90, 95))
    grouped = serial % 3 != 2
    where = str(rng.choice(("", "value > 3", "value % 2 = 0", "g != 'b'")))
    owed = f"WITHIN {rng.choice(widths)} {unit} CONFIDENCE {confidence}%"
    return Text(f"t{serial}", select, where, grouped, owed)


RANDOM = [a_text(serial, np.random.default_rng([FIRST_SEED, serial])) for serial in range(TEXTS)]

NAMED = {
    "per": f"SELECT g, APPROX_COUNT_DISTINCT(item) {EVERY.replace('EVERY', 'GROUP BY g EVERY')}",
    "n": f"SELECT APPROX_COUNT_DISTINCT(item) {EVERY}",
    "f": f"SELECT F2(item) {EVERY}",
    "three": f"SELECT COUNT(DISTINCT item) AS n, F2(item) AS f, SUM(value) AS s {EVERY}",
}
OWED = {
    "per": "WITHIN 6 PERCENT CONFIDENCE 90%",
    "n": "WITHIN 6 PERCENT CONFIDENCE 90%",
    "f": "WITHIN 12 PERCENT CONFIDENCE 90%",
    "three": "WITHIN 12 PERCENT CONFIDENCE 75%",
}
TOP = f"SELECT TOP_K(item, 5) {EVERY} WITHIN 2 PERCENT RANK CONFIDENCE 90%"
SPARED = "SELECT AVG(value) FROM s [RANGE 1 MINUTE] WITHIN 20"
JOINED = (
    "SELECT JOIN_SIZE(s.item, r.item) FROM s [RANGE 1 MINUTE], r [RANGE 1 MINUTE] "
    "EVERY 1 MINUTE WITHIN 10 PERCENT CONFIDENCE 80%"
)
SET = (
    "SELECT COUNT(*) FROM (SELECT item FROM s [RANGE 1 MINUTE] {} SELECT item FROM r "
    "[RANGE 1 MINUTE]) EVERY 1 MINUTE WITHIN 5 PERCENT CONFIDENCE 80%"
)
SETS: dict[str, Callable[[Array, Array], Array]] = {
    "UNION": np.union1d,
    "INTERSECT": np.intersect1d,
    "EXCEPT": np.setdiff1d,
}


@dataclass(frozen=True, slots=True)
class Composed:
    """A question about answers: its text, and its truth from the exact ones of the same minute."""

    text: str
    truth: Callable[[Mapping[str, Any]], float]
    failing: float
    grouped: bool = False


COMPOSED = {
    "mean": Composed("SELECT AVG(value) AS x FROM per", lambda t: _mean(t["per"].values()), 0.4),
    "total": Composed("SELECT SUM(value) AS x FROM per", lambda t: sum(t["per"].values()), 0.4),
    "three_of": Composed(
        "SELECT SUM(value) AS x FROM per WHERE g != 'd'",
        lambda t: sum(value for key, value in t["per"].items() if key != "d"),
        0.3,
    ),
    "shifted": Composed("SELECT value * 2 - 1 AS x FROM f", lambda t: 2 * t["f"] - 1, 0.1),
    "large": Composed(
        "SELECT 1 - 3 * value AS x FROM n WHERE value > 900", lambda t: 1 - 3 * t["n"], 0.1
    ),
    "ratio": Composed(
        "SELECT a.value / b.value AS x FROM f a, n b", lambda t: t["f"] / t["n"], 0.2
    ),
    "each": Composed(
        "SELECT g, 10 - value AS x FROM per", lambda t: 10 - t["per"][t["g"]], 0.1, grouped=True
    ),
}


def _mean(values: Any) -> float:
    found = list(values)
    return sum(found) / len(found)


@dataclass(frozen=True, slots=True)
class Run:
    """A gauge that has answered all texts, and the rows it was given."""

    gauge: sg.Gauge
    minutes: list[Minute]

    def given(self, name: str) -> dict[Place, Answer]:
        """Answers of a query by minute and group."""
        table = self.gauge.answers(name)
        found = {(a.as_of, a.group): a for a in as_answers(table)}
        assert len(found) == table.num_rows, "each minute is answered once"
        return found

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Rows that came to a view, each with its instant."""
        table = self.gauge.row_changes(name)
        instants = table["as_of"].cast(pa.int64()).to_pylist()
        lines = table.to_pylist()
        return [{**r, "at": at} for r, at in zip(lines, instants, strict=True) if r["count"] > 0]

    def contract(self, name: str) -> sg.Contract:
        """What a query is owed."""
        asked = self.gauge.registry().query(name).asked
        assert isinstance(asked, Query)
        return asked.contract


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All texts, answered over all minutes."""
    root = tmp_path_factory.mktemp("language")
    rng = np.random.default_rng([FIRST_SEED, 0])
    minutes = [a_minute(kind, rng) for _ in range(ROUNDS) for kind in KINDS]
    minutes += [a_minute(kind, rng) for kind in ("one_row", "empty")]
    write(root, minutes)
    gauge = sg.connect(root / "home", engine="local")
    for name in ("s", "r"):
        gauge.sql(
            f"CREATE STREAM {name} FROM FILES '{root / name}' TIME ts TICK 1 MINUTE FUTURE ANY"
        )
    both = [text.sql(exact=exact) for text in RANDOM for exact in (False, True)]
    gauge.sql(";".join(both))
    for name, text in NAMED.items():
        gauge.sql(f"CREATE QUERY {name} AS {text} {OWED[name]}")
        gauge.sql(f"CREATE QUERY {name}_exact AS {text} EXACT")
    for name, composed in COMPOSED.items():
        gauge.sql(f"CREATE QUERY {name} AS {composed.text}")
    gauge.sql(f"CREATE QUERY top AS {TOP}; CREATE QUERY joined AS {JOINED}")
    gauge.sql(f"CREATE QUERY spared AS {SPARED}; CREATE QUERY whole AS {SPARED.split('WITHIN')[0]}")
    for kind in SETS:
        gauge.sql(f"CREATE QUERY size_{kind} AS {SET.format(kind)}")
    for name in ("s", "r"):
        gauge.advance(name, START + len(minutes) * MINUTE + 1)
    while gauge.step():
        pass
    return Run(gauge, minutes)
