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
from dataclasses import dataclass, field
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
from tests.profile import NIGHTLY

pytestmark = pytest.mark.slow

FIRST_SEED = int(os.environ.get("STREAMGAUGE_SEED", "1000"))
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
        # Several pages, so that state is stored and taken up again in between.
        pq.write_table(table, directory / name / "rows.parquet", row_group_size=20_000)


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
        ("APPROX_COUNT_DISTINCT(item)", percent, (6, 12)),
        ("COUNT(DISTINCT item)", percent, (6, 12)),
        ("F2(item)", percent, (8, 12, 20)),
        ("MEDIAN(value)", rank, (2, 4, 8)),
        (f"QUANTILE(value, {phi})", rank, (2, 4, 8)),
        (f"QUANTILE(value, {phi})", percent, (2, 5)),
        (f"FREQUENCY(item, {ITEM})", rank, (1, 2, 5)),
        (f"COUNT(*) WHEN value > {cut} * AVG(value)", rank, (2, 4, 8)),
    )[serial % 8]
    confidence = rng.choice((80, 90))
    grouped = serial % 3 != 2
    where = str(rng.choice(("", "value > 3", "value % 2 = 0", "g != 'b'")))
    owed = f"WITHIN {rng.choice(widths)} {unit} CONFIDENCE {confidence}%"
    return Text(f"t{serial}", select, where, grouped, owed)


RANDOM = [a_text(serial, np.random.default_rng([FIRST_SEED, serial])) for serial in range(TEXTS)]
RANKED = [t for t in RANDOM if "RANK" in t.owed and t.select.startswith(("MEDIAN", "QUANTILE"))]

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
    "three": "WITHIN 12 PERCENT CONFIDENCE 80%",
}
TOP = f"SELECT TOP_K(item, 5) {EVERY} WITHIN 2 PERCENT RANK CONFIDENCE 90%"
SPARED = "SELECT AVG(value) FROM s [RANGE 1 MINUTE] WITHIN 20"
JOINED = (
    "SELECT JOIN_SIZE(s.item, r.item) FROM s [RANGE 1 MINUTE], r [RANGE 1 MINUTE] "
    "EVERY 1 MINUTE WITHIN 10% RANK CONFIDENCE 80%"
)
SET = (
    "SELECT COUNT(*) FROM (SELECT item FROM s [RANGE 1 MINUTE] {} SELECT item FROM r "
    "[RANGE 1 MINUTE]) EVERY 1 MINUTE WITHIN 5% RANK CONFIDENCE 80%"
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
    _given: dict[str, Given] = field(default_factory=dict)

    def given(self, name: str) -> Given:
        """Answers of a query by minute and group; read once, as most tests look at most queries."""
        if name not in self._given:
            table = self.gauge.answers(name)
            found = {(a.as_of, a.group): a for a in as_answers(table)}
            assert len(found) == table.num_rows, "each minute is answered once"
            self._given[name] = found
        return self._given[name]

    def valued(self, name: str) -> dict[Place, Answer]:
        """Answers of a query but those that say that a window has emptied."""
        return {place: a for place, a in self.given(name).items() if a.basis != "empty"}

    def minute(self, at: int) -> Minute:
        """The rows of the window that ends at an instant."""
        return self.minutes[(at - START) // MINUTE - 1]

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
    gauge = sg.connect(root / "home", engine="local", max_rows=40_000)
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


def held(answer: Answer, truth: float | None) -> bool:
    """Whether the truth lies in the bar, up to the rounding of its ends."""
    assert truth is not None, "where there is an answer there is a truth"
    room = 1e-9 * max(1.0, abs(truth))
    return answer.low - room <= truth <= answer.high + room


def reach(answer: Answer) -> float:
    """How far the further end of the bar is from the value."""
    assert answer.value is not None
    return max(answer.high - answer.value, answer.value - answer.low)


def judge(name: str, broken: int, trials: int, delta: float) -> None:
    """Alarm when a promise is refuted."""
    limit = cutoff(trials, delta)
    said = f"{name}: broken {broken} of {trials} (cut-off {limit}), seed {FIRST_SEED}"
    assert broken <= limit, said


@pytest.mark.parametrize("text", RANDOM, ids=lambda text: text.name)
def test_bars_of_random_texts_hold(run: Run, text: Text) -> None:
    given, exact = run.valued(text.name), run.valued(f"{text.name}_exact")
    assert set(given) == set(exact)
    assert len(given) > 0.9 * ROUNDS * len(KINDS)
    contract = run.contract(text.name)
    assert all(answer.confidence >= contract.confidence for answer in given.values())
    assert {answer.basis for answer in exact.values()} == {"exact"}
    broken = sum(not held(answer, exact[place].value) for place, answer in given.items())
    delta = 1.0 - min(answer.confidence for answer in given.values())
    judge(text.sql(), broken, len(given), delta)


@pytest.mark.parametrize("exact", ["", "_exact"])
@pytest.mark.parametrize("text", RANDOM, ids=lambda text: text.name)
def test_windows_that_have_emptied_say_so_once(run: Run, text: Text, exact: str) -> None:
    """At the first check without rows, and only there; a count of all rows is 0 at each check."""
    given = run.given(f"{text.name}{exact}")
    nothing = None if text.select.startswith(("MEDIAN", "QUANTILE")) else 0.0
    counted = nothing is not None and not text.grouped
    last = START + len(run.minutes) * MINUTE
    for (at, group), answer in given.items():
        before, after = given.get((at - MINUTE, group)), given.get((at + MINUTE, group))
        if len(_values(run.minute(at), text, group)):
            assert answer.basis != "empty"
            assert after is not None or at == last
            continue
        assert answer.value == nothing
        assert answer.low == answer.high or nothing is None
        assert answer.contract_met
        if not counted:
            assert answer.basis == "empty"
            assert before is not None
            assert before.basis != "empty"


@pytest.mark.parametrize("name", [text.name for text in RANDOM] + ["per", "joined", "size_EXCEPT"])
def test_a_contract_is_met_exactly_when_the_bar_fits(run: Run, name: str) -> None:
    contract = run.contract(name)
    for answer in run.valued(name).values():
        assert answer.value is not None
        owed = contract.within * (abs(answer.value) if contract.tolerance == "relative" else 1.0)
        fits = contract.tolerance == "rank" or reach(answer) <= owed * (1 + 1e-9)
        assert answer.contract_met == fits, str(answer)
        width = sum(charge.width for charge in answer.charges)
        assert width == pytest.approx(answer.high - answer.low, rel=1e-9, abs=1e-9)
        assert {charge.by for charge in answer.charges} <= {answer.basis}
        spent = sum(charge.delta for charge in answer.charges)
        assert spent == pytest.approx(1.0 - answer.confidence)


def test_a_width_that_is_owed_is_mostly_given(run: Run) -> None:
    """A synopsis is sized for its contract: bars that do not fit are exceptions."""
    for text in RANDOM:
        met = [answer.contract_met for answer in run.valued(text.name).values()]
        assert sum(met) >= 0.95 * len(met), text.sql()


@pytest.mark.parametrize("text", RANKED, ids=lambda text: text.name)
def test_values_keep_their_rank(run: Run, text: Text) -> None:
    """What is owed in rank is owed of the value, not only of its bar."""
    phi = 0.5 if "MEDIAN" in text.select else float(text.select.split(",")[1].strip(" )"))
    contract, given, broken = run.contract(text.name), run.valued(text.name), 0
    for (at, group), answer in given.items():
        values = np.sort(_values(run.minute(at), text, group))
        low = np.searchsorted(values, answer.value, side="left") + 1
        high = np.searchsorted(values, answer.value, side="right")
        rank, room = max(1, int(np.ceil(phi * len(values)))), contract.within * len(values)
        broken += not (low - room <= rank <= high + room)
    judge(text.sql(), broken, len(given), 1.0 - contract.confidence)


def _values(minute: Minute, text: Text, group: tuple[Any, ...]) -> Array:
    """Values that a text asks about in a minute, of one group where it has groups."""
    value, named = minute.value, np.array(GROUPS)[minute.group]
    which = {
        "": np.ones(len(value), bool),
        "value > 3": value > 3,
        "value % 2 = 0": value % 2 == 0,
        "g != 'b'": named != "b",
    }[text.where]
    return value[which & (named == group[0])] if group else value[which]


def test_aggregates_of_one_statement_hold_together(run: Run) -> None:
    """The chance to fail is shared: of 20% each of two summaries has 10%, a sum takes none."""
    parts = {part: run.given(f"three.{part}") for part in ("n", "f", "s")}
    truth = {part: run.given(f"three_exact.{part}") for part in parts}
    places = set(parts["n"])
    void = {place for place in places if not len(run.minute(place[0]).item)}
    # A sum of no rows is said once; a count of none at each minute.
    again = {(at, group) for at, group in void if (at - MINUTE, group) in void}
    for part in parts:
        said = places - again if part == "s" else places
        assert set(parts[part]) == set(truth[part]) == said
    assert {answer.confidence for answer in parts["s"].values()} == {1.0}
    for part in ("n", "f"):
        assert run.contract(f"three.{part}").confidence == pytest.approx(0.9)
    emptied = {place for place in places - again if parts["s"][place].basis == "empty"}
    assert emptied == void - again
    for place in emptied:
        for given in (parts, truth):
            assert [given[part][place].value for part in parts] == [0.0, 0.0, None]
    places -= void
    for place in places:
        failing = sum(1.0 - given[place].confidence for given in parts.values())
        assert failing <= 0.2 + 1e-9
    broken = sum(
        not all(held(parts[part][place], truth[part][place].value) for part in parts)
        for place in places
    )
    judge("three", broken, len(places), 0.2)


@pytest.mark.parametrize("name", COMPOSED)
def test_bars_computed_from_bars_hold(run: Run, name: str) -> None:
    """At the rate that the rows say.

    What a condition leaves out counts as held: conditions look at values, so the rate is that of
    all rows there could have been.
    """
    composed = COMPOSED[name]
    rows = run.rows(name)
    last = START + ROUNDS * len(KINDS) * MINUTE
    rows = [row for row in rows if row["at"] <= last]
    exact = {kind: run.given(f"{kind}_exact") for kind in ("per", "n", "f")}
    broken = 0
    for row in rows:
        truths: dict[str, Any] = {
            "per": {g: exact["per"][row["at"], (g,)].value for g in GROUPS},
            "n": exact["n"][row["at"], ()].value,
            "f": exact["f"][row["at"], ()].value,
            "g": row.get("g"),
        }
        truth = composed.truth(truths)
        room = 1e-9 * max(1.0, abs(truth))
        broken += not (row["x.low"] - room <= truth <= row["x.high"] + room)
        assert row["x.low"] <= row["x"] <= row["x.high"]
        assert row["confidence"] == pytest.approx(1.0 - composed.failing)
    trials = ROUNDS * len(KINDS) * (len(GROUPS) if composed.grouped else 1)
    assert len(rows) > (0.4 if "WHERE value" in composed.text else 0.99) * trials
    judge(composed.text, broken, trials, composed.failing)


def test_pairs_of_streams(run: Run) -> None:
    broken, given = 0, run.given("joined")
    for (at, _), answer in given.items():
        minute = run.minute(at)
        labels, left = np.unique(minute.item, return_counts=True)
        others, right = np.unique(minute.other, return_counts=True)
        _, here, there = np.intersect1d(labels, others, return_indices=True)
        broken += not held(answer, float((left[here] * right[there]).sum()))
        assert reach(answer) <= 0.1 * len(minute.item) * len(minute.other) + 1e-9
    judge(JOINED, broken, len(given), 0.2)


@pytest.mark.parametrize("kind", SETS)
def test_sizes_of_sets(run: Run, kind: str) -> None:
    broken, given = 0, run.given(f"size_{kind}")
    for (at, _), answer in given.items():
        minute = run.minute(at)
        broken += not held(answer, float(len(SETS[kind](minute.item, minute.other))))
        assert reach(answer) <= 0.05 * (len(minute.item) + len(minute.other)) + 1e-9
    judge(SET.format(kind), broken, len(given), 0.2)


def test_heaviest_items(run: Run) -> None:
    """Each count lies in its bar, and what is not listed is no heavier than the list's top end."""
    lists: dict[int, list[Answer]] = {}
    before: set[object] = set()
    for (at, _), answer in run.given("top").items():
        lists.setdefault(at, []).append(answer)
    for at, given in sorted(lists.items()):
        answers = [answer for answer in given if answer.basis != "empty"]
        left = {answer.group[-1] for answer in given if answer.basis == "empty"}
        now = {answer.group[-1] for answer in answers}
        # Items that drop out of the list say so.
        assert left == before - now
        before = now
        minute = run.minute(at)
        labels, counts = np.unique(minute.item, return_counts=True)
        truth = dict(zip(labels.tolist(), counts.tolist(), strict=True))
        assert bool(answers) == bool(truth)
        if not answers:
            continue
        # Of items that all weigh the same a summary may name fewer than it was asked for.
        assert len(answers) <= min(5, len(truth))
        listed = {answer.group[-1]: answer for answer in answers}
        assert all(held(answer, truth.get(item, 0)) for item, answer in listed.items())
        rest = max((n for item, n in truth.items() if item not in listed), default=0)
        assert rest <= max(answer.high for answer in answers)
        assert all(answer.high - answer.low <= 0.02 * len(minute.item) for answer in answers)


def test_answers_that_are_spared_are_near(run: Run) -> None:
    """Between two answers the value has not moved by more than was owed."""
    spared, whole = run.given("spared"), run.given("whole")
    assert len(spared) < len(whole)
    newest: float | None = None
    for at in sorted(place[0] for place in whole):
        if (at, ()) in spared:
            newest = spared[at, ()].value
        truth = whole[at, ()].value
        assert (newest is None) == (truth is None)
        assert newest is None or truth is None or abs(newest - truth) <= 20.0


def test_bars_that_are_too_narrow_are_noticed(run: Run) -> None:
    """The harness itself: bars of half the width alarm."""
    given, exact = run.given("per"), run.given("per_exact")
    broken = 0
    for place, answer in given.items():
        truth, value = exact[place].value, answer.value
        assert truth is not None
        assert value is not None
        low, high = (value + answer.low) / 2, (value + answer.high) / 2
        broken += not low <= truth <= high
    assert broken > cutoff(len(given), 0.1)


def test_late_rows_are_charged_by_name(tmp_path: Any) -> None:
    """Two widened the bar, and each is named with its share; the rank is then not kept."""
    rng = np.random.default_rng([FIRST_SEED, 1])
    n = 4_000
    order = np.concatenate((times(n, 0), times(50, 3), times(600, 0), times(1, 5)))
    item = rng.integers(10, 2**53, len(order))
    rows = {"ts": pa.array(order, pa.timestamp("us", tz="UTC")), "item": item}
    rows["value"] = np.concatenate((np.arange(n), np.zeros(50), np.arange(600) + n, [0.0]))
    (tmp_path / "s").mkdir()
    pq.write_table(pa.table(rows), tmp_path / "s" / "rows.parquet")
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.sql(f"CREATE STREAM s FROM FILES '{tmp_path / 's'}' TIME ts FUTURE ANY")
    since = "FROM s [SINCE '2026-01-01'] EVERY 1 MINUTE"
    gauge.sql(f"CREATE QUERY n AS SELECT COUNT(DISTINCT item) {since} WITHIN 12% CONFIDENCE 80%")
    gauge.sql(f"CREATE QUERY m AS SELECT MEDIAN(value) {since} WITHIN 4% RANK CONFIDENCE 80%")
    gauge.sql(f"CREATE QUERY q AS SELECT MEDIAN(value) {since} WITHIN 5% CONFIDENCE 80%")
    while gauge.step():
        pass
    newest = {answer.query: answer for answer in gauge.latest()}
    for answer in newest.values():
        assert [charge.by for charge in answer.charges] == [answer.basis, "late rows"]
        assert sum(c.width for c in answer.charges) == pytest.approx(answer.high - answer.low)
        assert not answer.contract_met
    bar = newest["q"]
    assert bar.confidence == 1.0
    assert bar.low <= np.quantile(rows["value"][: n + 650], 0.5, method="inverted_cdf") <= bar.high
