"""Queries over bounds in the language, with answers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.contracts.answer import Answer, Charge
from streamgauge.streams.schema import Schema
from tests.engine.stage import Stage, at, rows_of

pytestmark = pytest.mark.slow

SCHEMA = Schema.of(host="string", kind="string", ts="time", value="float", width="float")
COLUMNS = "host kind value width"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    found = Stage(tmp_path)
    found.stream("hosts", SCHEMA, key=("host", "kind"), width="width")
    return found


def page(stage: Stage, *cells: tuple[object, ...]) -> None:
    stage.page(hosts=rows_of(COLUMNS, *cells))


def ends(answers: list[Answer]) -> list[tuple[float | None, float, float]]:
    return [(answer.value, answer.low, answer.high) for answer in answers]


def test_an_average_adds_up_the_widths_of_its_members(stage: Stage) -> None:
    stage.gauge.sql(
        "CREATE QUERY mean AS SELECT AVG(value) FROM hosts WHERE kind = 'cpu' GUARANTEED WITHIN 2.5"
    )
    page(stage, (1, "a", "cpu", 10.0, 4.0), (1, "b", "cpu", 20.0, 6.0), (1, "a", "net", 9.0, 1.0))
    page(stage, (2, "a", "cpu", 12.0, 8.0), (3, "a", "net", 1.0, 1.0))
    stage.advance(4.5)
    first, second = stage.numbers("mean")
    assert ends([first, second]) == [(15.0, 12.5, 17.5), (16.0, 12.5, 19.5)]
    assert (first.basis, first.charges, first.contract_met) == (
        "filter",
        (Charge("filter", 2.5, 2.5),),
        True,
    )
    assert not second.contract_met
    assert second.as_of == at(2)
    stage.check("mean")


def test_weights_count_by_their_size(stage: Stage) -> None:
    stage.gauge.register(
        sg.Query(
            "gap", "hosts", sg.total("value"), series=("a|cpu", "b|cpu"), weights=(2.0, -1.0),
            contract=sg.Contract.absolute(5.0),
        )
    )  # fmt: skip
    page(stage, (1, "a", "cpu", 10.0, 4.0))
    page(stage, (2, "b", "cpu", 5.0, 2.0), (3, "b", "cpu", 5.0, 2.0))
    one, both = stage.numbers("gap")
    assert ends([one, both]) == [(20.0, 16.0, 24.0), (15.0, 10.0, 20.0)]
    assert (one.coverage, both.coverage) == (0.5, 1.0)
    assert (one.contract_met, both.contract_met) == (False, True)


def test_the_least_is_between_the_least_ends(stage: Stage) -> None:
    stage.gauge.sql("CREATE QUERY least AS SELECT MIN(value) FROM hosts GUARANTEED WITHIN 5")
    page(stage, (1, "a", "x", 0.0, 10.0), (1, "b", "x", 1.0, 2.0), (2, "a", "x", 0.0, 10.0))
    (answer,) = stage.numbers("least")
    assert ends([answer]) == [(0.0, -5.0, 2.0)]
    assert answer.contract_met


def test_an_interrupted_member_leaves_no_bar(stage: Stage) -> None:
    stage.gauge.sql("CREATE QUERY sum AS SELECT host, SUM(value) FROM hosts GROUP BY host")
    page(stage, (1, "a", "x", 1.0, 0.0), (1, "b", "x", 2.0, 0.0))
    page(stage, (2, "a", "x", 1.0, None), (3, "a", "x", 3.0, 0.5), (4, "b", "x", 2.0, 0.0))
    told = [(a.group, a.as_of - at(0), a.basis, a.contract_met) for a in stage.numbers("sum")]
    assert told == [
        (("a",), 1_000_000, "exact", True),
        (("b",), 1_000_000, "exact", True),
        (("a",), 2_000_000, "interrupted", False),
        (("a",), 3_000_000, "filter", False),
    ]
    cut = stage.numbers("sum")[2]
    assert (cut.value, cut.low, cut.high) == (1.0, float("-inf"), float("inf"))
    assert [charge.by for charge in cut.charges] == ["interruption"]


def test_who_is_gone_counts_no_more(stage: Stage) -> None:
    stage.gauge.sql("CREATE QUERY n AS SELECT COUNT(*) FROM hosts")
    stage.gauge.register(
        sg.Query("top", "hosts", sg.maximum("value"), series=("a|x", "b|x"), answer=sg.every("1 s"))
    )
    page(stage, (1, "a", "x", 1.0, 0.0), (1, "b", "x", 2.0, 0.0), (2, "b", "x", None, 0.0))
    page(stage, (3, "a", "x", None, None), (4, "c", "x", 2.0, 0.0), (5, "c", "x", 2.0, 0.0))
    assert [a.value for a in stage.numbers("n")] == [2.0, 1.0, 0.0, 1.0]
    top = stage.numbers("top")
    assert [(a.value, a.coverage) for a in top] == [
        (2.0, 1.0),
        (1.0, 1.0),
        (None, 1.0),
        (None, 1.0),
    ]
    stage.check("n", "top")


def test_a_silent_series_outlives_the_kept_history(tmp_path: Path) -> None:
    """A value that stays in its bound is told once, however long ago that was."""
    stage = Stage(tmp_path)
    stage.stream("hosts", SCHEMA, key=("host", "kind"), width="width", keep="10 s")
    page(stage, (1, "a", "x", 7.0, 2.0), (2, "b", "x", 1.0, 2.0))
    for second in range(3, 1000, 100):
        page(stage, (second, "b", "x", float(second), 2.0))
    stage.gauge.sql("CREATE QUERY sum AS SELECT SUM(value) FROM hosts GUARANTEED WITHIN 3")
    stage.gauge.sql("CREATE QUERY seen AS SELECT value FROM sum")
    page(stage, (1100, "b", "x", 1.0, 2.0), (1101, "b", "x", 1.0, 2.0))
    # The first one when it is registered, from bounds that are older than what is kept.
    assert ends(stage.numbers("sum")) == [
        (810.0, 808.0, 812.0),
        (910.0, 908.0, 912.0),
        (8.0, 6.0, 10.0),
    ]
    held = stage.gauge.rows("seen").to_pylist()
    assert [(row["value"], row["value.low"], row["value.high"]) for row in held] == [
        (8.0, 6.0, 10.0)
    ]


def test_a_view_of_answers_carries_their_bars(stage: Stage) -> None:
    stage.gauge.sql("CREATE QUERY tops AS SELECT host, MAX(value) FROM hosts GROUP BY host")
    stage.gauge.sql("CREATE QUERY whole AS SELECT SUM(value) AS total FROM tops")
    page(stage, (1, "a", "x", 1.0, 0.5), (1, "b", "x", 2.0, 0.25), (2, "a", "x", 1.0, 0.5))
    page(stage, (3, "a", "x", 4.0, 0.5), (4, "a", "x", 4.0, 0.5))
    (row,) = stage.gauge.rows("whole").to_pylist()
    assert (row["total"], row["total.low"], row["total.high"]) == (6.0, 5.625, 6.375)


def test_a_view_follows_bars_that_come_and_go_within_a_page(stage: Stage) -> None:
    stage.gauge.sql("CREATE QUERY tops AS SELECT host, MAX(value) FROM hosts GROUP BY host")
    stage.gauge.sql("CREATE QUERY seen AS SELECT host, value FROM tops")
    widths = (0.5, 0.0, 0.25, None, 0.0, 1.0)
    page(stage, *((k, "a", "x", float(k), width) for k, width in enumerate(widths, 1)))
    page(stage, (7, "a", "x", 7.0, 0.0))
    given = stage.changes("seen")
    came = [(when - at(0), row[1]) for (when, row), count in sorted(given.items()) if count > 0]
    assert came == [(k * 1_000_000, float(k)) for k in range(1, 7)]
    went = [(when - at(0), row[1]) for (when, row), count in sorted(given.items()) if count < 0]
    assert went == [((k + 1) * 1_000_000, float(k)) for k in range(1, 6)]
