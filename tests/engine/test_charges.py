"""Causes of error compose: their sides are the interval, their chances the chance to fail."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from streamgauge.contracts.answer import EMPTY, Answer, Charge
from streamgauge.contracts.bars import Sides, compose
from streamgauge.contracts.causes import CAUSES, INTERRUPTION, LATE_ROWS
from streamgauge.drift.answer import charge_cell
from streamgauge.operators import emission
from streamgauge.plan.planned_charges import planned
from streamgauge.streams.schema import Schema
from streamgauge.synopses import registry
from tests.engine.stage import Stage, at, rows_of
from tests.oracles.reference import Row

WEB = Schema.of(host="string", ts="time", user="string", latency="float")
HOSTS = Schema.of(host="string", kind="string", ts="time", value="float", width="float")
NAMES = "host user latency"
COLUMNS = "host kind value width"
QUERIES = """
CREATE QUERY latest AS SELECT SUM(latency) FROM web [PARTITION BY host ROWS 1];
CREATE QUERY ever AS SELECT SUM(latency) FROM web;
CREATE QUERY total AS SELECT host, SUM(latency) FROM web [RANGE 10 SECONDS] GROUP BY host
  EVERY 2 SECONDS;
CREATE QUERY spread AS SELECT STDDEV(latency) FROM web [RANGE 10 SECONDS] EVERY 2 SECONDS;
CREATE QUERY rows AS SELECT AVG(latency) FROM web [ROWS 5] EVERY 2 SECONDS;
CREATE QUERY high AS SELECT QUANTILE(latency, 0.9) FROM web [RANGE 10 SECONDS] EVERY 2 SECONDS
  WITHIN 2 PERCENT;
CREATE QUERY users AS SELECT host, APPROX_COUNT_DISTINCT(user) FROM web [RANGE 10 SECONDS]
  GROUP BY host EVERY 2 SECONDS WITHIN 10 PERCENT CONFIDENCE 95%;
CREATE QUERY one AS SELECT FREQUENCY(user, 'u1') FROM web [RANGE 10 SECONDS] EVERY 2 SECONDS
  WITHIN 5 PERCENT RANK CONFIDENCE 95%;
CREATE QUERY best AS SELECT TOP_K(user, 3) FROM web [RANGE 10 SECONDS] EVERY 4 SECONDS
  WITHIN 5 PERCENT RANK;
CREATE QUERY watched AS SELECT AVG(latency) FROM web [PARTITION BY host ROWS 1]
  WITHIN 2 CONFIDENCE 90% BY WATCH;
CREATE QUERY timed AS SELECT AVG(latency) FROM web [PARTITION BY host ROWS 1]
  WITHIN 2 CONFIDENCE 90% BY TIMER;
CREATE QUERY bounded AS SELECT AVG(value) FROM hosts GUARANTEED WITHIN 5;
CREATE QUERY members AS SELECT COUNT(*) FROM hosts
"""


def web_rows(*, late: bool) -> list[Row]:
    """Thirty seconds of two hosts, of which one falls silent; with `late` some rows come late."""
    rng = np.random.default_rng(5)
    cells = []
    for eighth in range(8, 248):
        second, part = divmod(eighth, 8)
        for host in ("a", "b"):
            if part > 3 or (host == "b" and 12 < second < 24):
                continue
            back = 6 if late and second % 5 == 0 and part == 3 else 0
            user = f"u{rng.integers(0, 40)}"
            latency = float(np.round(rng.lognormal(3.0, 1.0), 3))
            cells.append((eighth / 8 - back, host, user, latency))
    return rows_of(NAMES, *cells)


def host_rows(*, late: bool) -> list[Row]:
    cells: list[tuple[float | str | None, ...]] = [
        (s, h, "cpu", s / 3, None if (h, s) == ("b", 15) else 1.0 + s / 7)
        for s in range(1, 31)
        for h in ("a", "b")
    ]
    if late:
        cells.insert(20, (4.5, "a", "cpu", 900.0, 2.0))
        cells.insert(41, (20.5, "a", "cpu", 900.0, 2.0))
    return rows_of(COLUMNS, *cells)


def life(root: Path, *, late: bool) -> Stage:
    stage = Stage(root)
    stage.stream("web", WEB, key="host", expected_gap="4 s")
    stage.stream("hosts", HOSTS, key=("host", "kind"), width="width")
    stage.gauge.sql(QUERIES)
    web, hosts = web_rows(late=late), host_rows(late=late)
    for k in range(3):
        part = slice(k * len(web) // 3, (k + 1) * len(web) // 3)
        other = slice(k * len(hosts) // 3, (k + 1) * len(hosts) // 3)
        stage.page(web=web[part], hosts=hosts[other])
    stage.advance(32.0)
    return stage


def given_by(stage: Stage) -> list[Answer]:
    names = stage.gauge.registry().queries
    return [answer for name in names for answer in stage.numbers(name)]


def near(one: float, other: float, *terms: float) -> bool:
    """Equal to within 4 units in the last place of the largest term of the sum."""
    if one == other:
        return True
    return abs(one - other) <= 4.0 * np.spacing(max(map(abs, (one, other, *terms))))


def assert_composed(answer: Answer) -> None:
    if answer.basis == EMPTY or answer.value is None:
        assert all(charge.by == INTERRUPTION for charge in answer.charges), answer
        return
    below, above = ([getattr(c, side) for c in answer.charges] for side in ("below", "above"))
    assert all(side >= 0.0 for side in (*below, *above)), answer
    assert all(c.width > 0.0 or c.delta > 0.0 for c in answer.charges), answer
    value = answer.value
    assert near(answer.low, value - sum(below), value, *below), answer
    assert near(answer.high, value + sum(above), value, *above), answer
    assert near(answer.confidence, 1.0 - sum(c.delta for c in answer.charges), 1.0), answer


def causes(answers: Iterable[Answer]) -> set[str]:
    return {charge.by for answer in answers for charge in answer.charges}


@pytest.fixture(scope="module", params=[False, True], ids=["on time", "late"])
def lived(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Stage, bool]:
    return life(tmp_path_factory.mktemp("life"), late=request.param), request.param


@pytest.mark.slow
@pytest.mark.budget(60, "two lives of thirteen queries of all kinds")
def test_the_sides_of_all_causes_are_the_interval(lived: tuple[Stage, bool]) -> None:
    stage, late = lived
    found, newest = given_by(stage), stage.gauge.latest()
    for answer in (*found, *newest):
        assert_composed(answer)
    assert (LATE_ROWS in causes(found)) == late
    known = {*CAUSES, *(kind.name for kind in registry().values())}
    assert causes(found) <= known
    assert {"filter", INTERRUPTION, "deferral by watch", "deferral by timer"} <= causes(found)


@pytest.mark.slow
def test_the_latest_answers_have_the_charges_that_were_given(lived: tuple[Stage, bool]) -> None:
    stage, _ = lived
    given = {(a.query, a.group): a for a in given_by(stage) if a.revision == 0}
    newest = [a for a in stage.gauge.latest() if a.query != "best"]
    assert newest
    for answer in newest:
        assert answer.charges == given[answer.query, answer.group].charges


@pytest.mark.slow
def test_every_cause_of_an_answer_was_planned(lived: tuple[Stage, bool]) -> None:
    stage, _ = lived
    home = stage.gauge.registry()
    for standing in home.queries.values():
        charges = planned(home, standing)
        allowed = {charge.by: charge.delta for charge in charges}
        for answer in stage.numbers(standing.name):
            for charge in answer.charges:
                assert charge.by in allowed, (standing.name, charge)
                assert charge.delta == pytest.approx(allowed[charge.by])


# Two causes at once.


def test_late_rows_and_an_interruption_are_told_apart(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.stream("web", WEB, key="host", expected_gap="3 s")
    stage.gauge.sql("CREATE QUERY q AS SELECT SUM(latency) FROM web [PARTITION BY host ROWS 1]")
    stage.page(web=rows_of(NAMES, (1, "b", "u", 2.0), (2, "a", "u", 1.0)))
    stage.page(web=rows_of(NAMES, (8, "c", "u", 5.0), (4, "a", "u", 7.0), (9, "c", "u", 5.0)))
    stage.advance(9.5)
    found = stage.numbers("q")
    stage.check("q")
    assert any(
        a.charges == (Charge(LATE_ROWS, 0.0, 6.0), Charge(INTERRUPTION, math.inf, math.inf))
        for a in found
    ), [a.charges for a in found]


def test_a_bound_late_rows_and_an_interruption_are_told_apart(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.stream("hosts", HOSTS, key=("host", "kind"), width="width")
    stage.gauge.sql("CREATE QUERY q AS SELECT SUM(value) FROM hosts GUARANTEED WITHIN 5")
    stage.page(hosts=rows_of(COLUMNS, (1, "a", "x", 10.0, 4.0), (1, "b", "x", 20.0, 6.0)))
    rows = (4, "b", "x", 20.0, 6.0), (3, "a", "x", 17.0, 4.0), (5, "b", "x", 20.0, 6.0)
    stage.page(hosts=rows_of(COLUMNS, *rows))
    stage.page(hosts=rows_of(COLUMNS, (6, "b", "x", 20.0, None), (7, "b", "x", 20.0, None)))
    stage.advance(7.5)
    stage.check("q")
    found = [a.charges for a in stage.numbers("q")]
    own, late = Charge("filter", 5.0, 5.0), Charge(LATE_ROWS, 0.0, 7.0)
    assert (own,) in found
    assert (own, late) in found
    # The member that is unsure has no bound of its own.
    quiet = Charge(INTERRUPTION, math.inf, math.inf)
    assert (Charge("filter", 2.0, 2.0), late, quiet) in found


@pytest.mark.slow
def test_a_sketch_and_late_rows_are_told_apart(tmp_path: Path) -> None:
    """What the sketch adds is what it adds without the late rows, the rest is up to them."""
    text = (
        "CREATE QUERY q AS SELECT QUANTILE(latency, 0.5) FROM web [RANGE 1 MINUTE] "
        "EVERY 30 SECONDS WITHIN 5 PERCENT"
    )
    on_time = [(s, "a", "u", 10.0 + s) for s in range(1, 30)]
    last = [(30.5, "a", "u", 30.0)]
    late = [(s, "a", "u", 80.0 + s) for s in range(1, 29)]
    found = {}
    for name, rows in {
        "without": (*on_time, *last), "late": (*on_time, *last, *late),
        "with": (*sorted((*on_time, *late)), *last),
    }.items():  # fmt: skip
        (tmp_path / name).mkdir()
        stage = Stage(tmp_path / name)
        stage.stream("web", WEB, key="host")
        stage.gauge.sql(text)
        stage.page(web=rows_of(NAMES, *rows))
        stage.advance(61.0)
        found[name] = next(a for a in stage.numbers("q") if a.as_of == at(60))
    without, answer, both = found["without"], found["late"], found["with"]
    assert without.charges == answer.charges[:1]
    (own, charge) = answer.charges
    assert charge.by == LATE_ROWS
    assert charge.below == max(0.0, without.low - both.low)
    assert charge.above == max(0.0, both.high - without.high) > 0.0
    assert own.by == answer.basis


@pytest.mark.parametrize("silent", [0.0, 0.75, math.inf])
@pytest.mark.parametrize("late", [-2.5, 0.0, 1.25])
def test_a_deferral_a_silence_and_late_rows_are_told_apart(silent: float, late: float) -> None:
    row = np.zeros(emission.WIDTH)
    below, above = silent + max(0.0, -late), silent + max(0.0, late)
    mine = SimpleNamespace(below=below, above=above, silent=int(silent > 0.0))
    getattr(charge_cell, "py_func", charge_cell)(row, 10.0, 0.5, mine)
    told = row[emission.OWN_BELOW :].tolist()
    bounded = 0.0 if math.isinf(silent) else 1.0
    lates = [bounded * max(0.0, -late), bounded * max(0.0, late)]
    assert told == [0.5, 0.5, *lates, silent, silent]
    low, high, _ = compose(10.0, [Sides("", *told[k : k + 2]) for k in (0, 2, 4)])
    assert row[[emission.LOW, emission.HIGH]].tolist() == [low, high]


@pytest.mark.slow
def test_rounding_is_not_charged_to_late_rows(tmp_path: Path) -> None:
    """A narrow contract around a large value: the ends are rounded, and no row was late."""
    stage = Stage(tmp_path)
    stage.stream("web", WEB, key="host")
    narrow = "[PARTITION BY host ROWS 1] WITHIN 0.001 CONFIDENCE 90% BY WATCH"
    stage.gauge.sql(f"CREATE QUERY q AS SELECT AVG(latency) FROM web {narrow}")
    rows = [(s, "a", "u", 1e12 + s) for s in range(1, 20)]
    stage.page(web=rows_of(NAMES, *rows))
    stage.advance(21.0)
    answers = [*stage.numbers("q"), *stage.gauge.latest()]
    assert answers
    assert causes(answers) == {"deferral by watch"}


def test_composing_causes() -> None:
    none: list[Sides] = []
    assert [float(x) for x in compose(3.0, none)] == [3.0, 3.0, 1.0]
    many = [Sides(str(n), 1.0, 0.5 * n, 0.25) for n in range(6)]
    assert [float(x) for x in compose(3.0, many)] == [-3.0, 10.5, 0.0]
    unbounded = compose(np.array([3.0, np.nan]), [Sides("x", math.inf, math.inf)])
    np.testing.assert_array_equal(unbounded.low, [-math.inf, math.nan])
    np.testing.assert_array_equal(unbounded.high, [math.inf, math.nan])
