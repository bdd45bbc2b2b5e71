"""The reference against answers worked out by hand, and its independence of pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import correlation, covariance, stdev, variance
from textwrap import dedent
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.answer import Answer, Charge
from streamgauge.kernel.time import SECOND
from streamgauge.operators.aggregate import (
    Aggregate,
    avg,
    corr,
    count,
    covar,
    maximum,
    minimum,
    stddev,
    total,
    var,
)
from streamgauge.operators.predicate import Predicate, col
from streamgauge.plan.query import Query, every, on_change, on_close
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.windows.window import Landmark, Now, Partition, Range, Rows
from tests.kit.strategies import (
    SCHEMA,
    Workload,
    as_arrow,
    resplit,
    row_lists,
    workloads,
)
from tests.oracles.reference import Arrival, Row, evaluate
from tests.oracles.windows import aggregate, passes
from tests.profile import examples

pytestmark = pytest.mark.slow

COLUMNS = Schema.of(s="string", ts="time", x="float", y="float", w="float", g="string")
PLANT = Stream("plant", COLUMNS, "ts", ("s",), ())


def table(text: str, *, unit: int = SECOND) -> tuple[Row, ...]:
    """Rows from a table whose first line names the columns; `-` is null, `at` is in units."""
    header, *lines = (line.split() for line in dedent(text).strip().splitlines())
    rows = []
    for line in lines:
        cells: dict[str, Any] = dict.fromkeys(COLUMNS.names[2:])
        cells |= {name: _cell(name, cell) for name, cell in zip(header, line, strict=True)}
        rows.append(Row(round(float(cells.pop("at")) * unit), {"s": "a", **cells}))
    return tuple(rows)


def _cell(name: str, cell: str) -> Any:
    if cell == "-":
        return None
    return cell if name in ("s", "g", "at") else float(cell)


def shown(answers: Sequence[Answer], *, unit: int = SECOND) -> str:
    """One line per answer: instant, name, group, value, then all that is not as usual."""
    return "\n".join(_line(answer, unit) for answer in answers)


def _line(answer: Answer, unit: int) -> str:
    group = f"[{','.join(str(key) for key in answer.group)}]" if answer.group else ""
    value = "null" if answer.value is None else f"{answer.value:g}"
    exact = answer.value is None or answer.low == answer.high == answer.value
    parts = [
        f"{answer.as_of / unit:g} {answer.query}{group} {value}",
        "" if exact else f"in {answer.low:g}..{answer.high:g}",
        "" if answer.coverage == 1 else f"covers {answer.coverage:g}",
        "" if answer.basis == "exact" else answer.basis,
        f"revision {answer.revision}" if answer.revision else "",
        f"version {answer.version}" if answer.version > 1 else "",
    ]
    return " ".join(part for part in parts if part)


def page(*changes: dict[str, Any], rows: tuple[Row, ...] = ()) -> Arrival:
    return Arrival(changes, {"plant": rows} if rows else {})


def declare(stream: Stream = PLANT) -> dict[str, Any]:
    return {"do": "stream", "stream": stream.as_dict()}


def register(*queries: Query) -> dict[str, Any]:
    return {"do": "register", "queries": [query.as_dict() for query in queries]}


def advance(at: float) -> dict[str, Any]:
    return {"do": "advance", "stream": "plant", "instant": round(at * SECOND)}


def window(name: str, value: Any) -> dict[str, Any]:
    return {"do": "window", "name": name, "window": value.as_dict()}


def ask(select: Aggregate, *, name: str = "q", **rest: Any) -> Query:
    return Query(name, "plant", select, **rest)


def answers_to(
    query: Query, rows: str, *, stream: Stream = PLANT, until: float | None = None
) -> list[Answer]:
    """Answers of one query that stands from the start; `until` advances the stream at the end."""
    pages = [page(declare(stream), register(query), rows=table(rows))]
    return evaluate(pages if until is None else [*pages, page(advance(until))])


def expect(answers: Sequence[Answer], text: str) -> None:
    assert shown(answers) == dedent(text).strip()


PLAIN = """
    at   x
    1    1
    2.5  2
    3    4
    5    8
"""
EMPTYING = "1 q 1 | 2 q null empty | 3 q 6 | 4 q null empty | 5 q 8 | 6 q null empty"
PARTIAL = "1 q 1 covers 0.333333 | 2 q 1 covers 0.666667"


@pytest.mark.parametrize(
    ("value", "cadence", "expected"),
    [
        (Now(), on_close(), EMPTYING),
        (Now(), on_change(), EMPTYING),
        (Range(2, 2), on_close(), "2 q 1 | 4 q 6 | 6 q 8 | 8 q null empty"),
        (Range(2, 2), every(1), "2 q 1 | 3 q 1 | 4 q 6 | 5 q 6 | 6 q 8 | 7 q 8 | 8 q null empty"),
        (Range(2), every(2), "2 q 1 | 4 q 6 | 6 q 8 | 8 q null empty"),
        (
            Range(3),
            on_change(1.5),
            "1 q 1 covers 0.333333 | 3 q 7 | 5 q 14 | 6 q 8 | 8 q null empty",
        ),
        (Landmark(2_500_000), on_close(), "3 q 6 | 5 q 14"),
        (Landmark(0), every(4), "4 q 7 | 8 q 15"),
        (Rows(2), on_close(), "1 q 1 | 3 q 6 | 5 q 12"),
        (Partition("s", 2), on_change(), "1 q 1 | 3 q 6 | 5 q 12"),
    ],
    ids=str,
)
def test_windows_and_cadences(value: Any, cadence: Any, expected: str) -> None:
    query = ask(total("x"), window=value, answer=cadence)
    expect(answers_to(query, PLAIN, until=8.5), expected.replace(" | ", "\n"))


def test_a_new_range_is_filled_from_history() -> None:
    series = tuple(Row(i * SECOND, {"s": "a", "x": float(i)}) for i in range(1, 103))
    old = ask(total("x"), name="old", window=Range(60), answer=every(60))
    new = ask(total("x"), name="new", window=Range(30))
    pages = [
        page(declare(), register(old), rows=series[:100]),
        page(register(new), rows=series[100:]),
    ]
    # 70 + ... + 99 when it is registered; the tick of row 100 closes when row 101 arrives.
    expect(evaluate(pages), "60 old 1830\n99 new 2535\n100 new 2565\n101 new 2595")


def test_a_range_covers_what_is_vouched_for() -> None:
    rows = "at x\n10 1\n11 1\n12 1"
    query = ask(count(), window=Range(4), answer=every(1))
    expect(
        answers_to(query, rows, until=14.5),
        """
        10 q 1 covers 0.25
        11 q 2 covers 0.5
        12 q 3 covers 0.75
        13 q 3
        14 q 2
        """,
    )
    assert [a.contract_met for a in answers_to(query, rows)] == [False, False]


def test_latest_values_on_change() -> None:
    query = ask(total("x"), series=("a", "b"), weights=(1.0, 10.0), answer=on_change(2.0))
    rows = """
        s  at   x
        a  1    1
        a  2    2
        b  2.1  1
        b  4    -
        a  5    4
        a  6    5
    """
    # At 5 the sum has moved by 2, which is not more than 2.
    expect(
        answers_to(query, rows, until=6.5),
        """
        1 q 1 covers 0.5
        3 q 12
        6 q 15
        """,
    )


def test_latest_values_at_a_period() -> None:
    rows = "s at x\na 1 1\nb 3 5\na 4 2"
    expect(answers_to(ask(maximum("x"), answer=every(2)), rows, until=6.5), "2 q 1\n4 q 5\n6 q 5")


def test_no_member_no_answer_and_one_member_no_variance() -> None:
    rows = "s at x\na 1 1\nb 2 -\nb 3 3"
    query = ask(var("x"), series=("b", "c"))
    expect(answers_to(query, rows, until=4), "")
    expect(answers_to(ask(var("x")), rows, until=4), "3 q 2")


def test_pairs_of_latest_values_may_come_from_two_rows() -> None:
    rows = "s at x y\na 1 1 -\na 2 - 2\nb 3 3 6"
    expect(answers_to(ask(covar("x", "y")), rows, until=4), "3 q 4")


def test_count_of_latest_values_counts_members() -> None:
    rows = "s at x\na 1 -\nb 2 1"
    expect(answers_to(ask(count()), rows, until=3), "1 q 1\n2 q 2")
    expect(answers_to(ask(count("x")), rows, until=3), "2 q 1")


def test_a_silent_member_interrupts() -> None:
    rows = "s at x\na 1 1\nb 1 2\na 4 1\na 5 1\nb 6 2"
    stream = replace(PLANT, expected_gap=3 * SECOND)
    answers = answers_to(ask(total("x")), rows, stream=stream, until=7)
    expect(answers, "1 q 3\n5 q 3 in -inf..inf interrupted\n6 q 3")
    assert answers[1].charges == (Charge("interruption", math.inf, math.inf),)
    assert [answer.contract_met for answer in answers] == [True, False, True]


def test_a_dropped_row_widens_latest_values() -> None:
    rows = """
        s  at   x
        a  1    1
        b  5    10
        a  3    4
        a  0.5  9
        a  6    2
    """
    answers = answers_to(ask(total("x")), rows, until=7)
    # The row of 0.5 is older than the value in use, so it could not have been the latest.
    expect(answers, "1 q 1\n5 q 11 in 11..14\n6 q 12")
    assert answers[1].charges == (Charge("late rows", 0.0, 3.0),)
    assert [answer.contract_met for answer in answers] == [True, False, True]


def test_dropped_rows_widen_windows() -> None:
    rows = "at x\n1 1\n4 2\n2 8\n6 0"
    answers = answers_to(ask(total("x"), window=Range(3), answer=every(1)), rows, until=7.5)
    expect(
        answers,
        """
        1 q 1 covers 0.333333
        2 q 1 covers 0.666667
        3 q 1
        4 q 2 in 2..10
        5 q 2
        6 q 2
        7 q 0
        """,
    )
    assert answers[3].charges == (Charge("late rows", 0.0, 8.0),)
    rows_window = ask(total("x"), window=Rows(2), answer=on_close())
    expect(answers_to(rows_window, rows, until=7), "1 q 1\n4 q 3\n6 q 2")


def test_allowed_rows_are_waited_for() -> None:
    stream = replace(PLANT, late=Late.allow(2))
    rows = "at x\n1 1\n4 2\n2 8\n1.5 16\n6 0"
    answers = answers_to(ask(total("x"), window=Now(), answer=on_close()), rows, stream=stream)
    # The row of 1.5 comes when all before 2 is settled; it is dropped, in the tick of 2.
    expect(answers, "1 q 1\n2 q 8 in 8..24\n3 q null empty")


def test_revision_gives_again_what_changed() -> None:
    stream = replace(PLANT, late=Late.revise(3))
    query = ask(total("x"), window=Range(2), answer=every(1))
    rows = """
        at    x
        1     1
        2     2
        5     4
        3     8
        1.5   16
        2.5   32
        5.5   0
        2.75  64
        7     0
    """
    # The row of 1.5 is 3.5 behind: beyond reach. At 4 there was no value until the check at 5.
    expect(
        answers_to(query, rows, stream=stream, until=7.5),
        """
        1 q 1 covers 0.5
        2 q 3
        3 q 2
        4 q null empty
        5 q 4
        3 q 42 revision 2
        6 q 4
        3 q 106 revision 3
        4 q 104 revision 2
        7 q 0
        """,
    )
    on_changes = replace(query, answer=on_change())
    answers = answers_to(on_changes, rows, stream=stream, until=7.5)
    assert all(answer.revision == 0 for answer in answers)


def test_a_folded_row_replaces_a_latest_value_that_is_not_newer() -> None:
    stream = replace(PLANT, late=Late.revise(3))
    rows = "s at x\na 1 1\nb 5 10\na 3 4\na 1 7\nb 1 0"
    expect(answers_to(ask(total("x")), rows, stream=stream, until=6), "1 q 1\n5 q 14")


def test_lateness_does_not_hang_on_pages() -> None:
    rows = table("at x\n1 1\n4 2\n2 8\n4 1\n6 0")
    query = ask(total("x"), window=Now(), answer=on_close())
    whole = evaluate([page(declare(), register(query), rows=rows)])
    single = [page(rows=(row,)) for row in rows]
    parts = evaluate([page(declare(), register(query)), *single])
    assert shown(whole) == shown(parts) == "1 q 1\n2 q null empty\n4 q 3\n5 q null empty"
    assert [answer.epoch for answer in whole] == [1, 1, 1, 1]
    assert [answer.epoch for answer in parts] == [3, 3, 6, 6]


def test_advancing_makes_rows_late() -> None:
    query = ask(total("x"), window=Now(), answer=on_close())
    pages = [
        page(declare(), register(query), advance(10)),
        page(rows=table("at x\n3 1\n11 2")),
        page(advance(12)),
    ]
    # The late row takes effect at 10, where the window of 10 does not hold it.
    expect(evaluate(pages), "11 q 2")


@pytest.mark.parametrize(
    ("period", "gap", "last"), [(1, None, 3600), (3600, None, 7200), (1, 5400, 5400)]
)
def test_a_long_silence_ends_checks_of_short_periods(
    period: int, gap: int | None, last: int
) -> None:
    stream = replace(PLANT, expected_gap=gap and gap * SECOND)
    query = ask(count(), window=Landmark(0), answer=every(period))
    rows = table("at x\n0 1\n7201 1\n7202 1")
    answers = evaluate([page(declare(stream), register(query), rows=rows)])
    found = [answer.as_of // SECOND for answer in answers]
    assert [at for at in found if at <= 7200] == list(range(0, last + 1, period))


GROUPED = """
    at   x    w  g
    1    1    1  u
    1.5  -    1  -
    2    3    2  u
    2    nan  1  v
    2    5    -  v
    4    2    1  -
"""


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (count(), "2 q[u] 2 | 2 q[v] 2 | 2 q[None] 1 | 4 q[u] 2 | 4 q[v] 2 | 4 q[None] 2"),
        (count("x"), "2 q[u] 2 | 2 q[v] 1 | 4 q[u] 2 | 4 q[v] 1 | 4 q[None] 1"),
        (total("x"), "2 q[u] 4 | 2 q[v] 5 | 4 q[u] 4 | 4 q[v] 5 | 4 q[None] 2"),
        (total("x", weight="w"), "2 q[u] 7 | 4 q[u] 7 | 4 q[None] 2"),
        (avg("x", weight="w"), "2 q[u] 2.33333 | 4 q[u] 2.33333 | 4 q[None] 2"),
        (var("x"), "2 q[u] 2 | 2 q[v] null | 4 q[u] 2 | 4 q[v] null | 4 q[None] null"),
        # Mean 7/3, M2 = 16/9 + 2 * 4/9 = 8/3, over 3, times 2.
        (var("x", weight="w"), "2 q[u] 1.77778 | 4 q[u] 1.77778 | 4 q[None] null"),
        (minimum("x"), "2 q[u] 1 | 2 q[v] 5 | 4 q[u] 1 | 4 q[v] 5 | 4 q[None] 2"),
    ],
    ids=str,
)
def test_groups_nulls_and_weights(select: Aggregate, expected: str) -> None:
    query = ask(select, window=Landmark(0), group_by=("g",), answer=every(2))
    expect(answers_to(query, GROUPED, until=5), expected.replace(" | ", "\n"))


def test_a_group_that_empties_says_so_once() -> None:
    rows = "at x g\n1 1 u\n2 1 v\n3 1 v"
    query = ask(count(), window=Range(1), group_by=("g",))
    expect(answers_to(query, rows, until=6), "1 q[u] 1\n2 q[u] 0 empty\n2 q[v] 1\n4 q[v] 0 empty")
    query = ask(avg("x"), window=Range(1), group_by=("g",))
    expect(
        answers_to(query, rows, until=6), "1 q[u] 1\n2 q[u] null empty\n2 q[v] 1\n4 q[v] null empty"
    )


def test_a_filter_applies_inside_the_window() -> None:
    rows = "at x g\n1 1 u\n2 2 v\n3 4 u\n4 8 -"
    query = ask(total("x"), window=Rows(2), where=col("g") == "u", answer=on_close())
    expect(answers_to(query, rows, until=5), "1 q 1\n2 q 1\n3 q 4\n4 q 4")


def test_from_now_begins_at_the_closed_tick() -> None:
    latest = ask(total("x"), name="latest", history=False)
    ranged = ask(total("x"), name="ranged", window=Range(4), answer=every(1), history=False)
    pages = [
        page(declare(), rows=table("s at x\na 1 1\nb 2 2\na 3 4\nb 3.5 8")),
        page(register(latest, ranged), rows=table("s at x\nb 5 16\nb 8.5 0")),
    ]
    # Ticks up to 3 are closed at registration, so the row of 3.5 counts and that of 3 does not.
    expect(
        evaluate(pages),
        """
        4 latest 8
        4 ranged 8 covers 0.25
        5 latest 16
        5 ranged 24 covers 0.5
        6 ranged 24 covers 0.75
        7 ranged 24
        8 ranged 16
        """,
    )


def test_control_takes_effect_between_pages() -> None:
    query = ask(total("x"), window="shared", answer=every(1))
    pages = [
        page(declare(), window("shared", Range(2)), register(query), rows=table("at x\n1 1\n2 2")),
        page({"do": "pause", "names": ["q"]}, rows=table("at x\n3 4")),
        page({"do": "resume", "names": ["q", "nobody"]}, rows=table("at x\n4 8")),
        page(window("shared", Range(1)), rows=table("at x\n5 16")),
        page({"do": "alter", "queries": [replace(query, select=count()).as_dict()]}, advance(6)),
        page({"do": "drop", "names": ["q"]}, rows=table("at x\n9 1")),
    ]
    expect(
        evaluate(pages),
        """
        1 q 1 covers 0.5
        3 q 6
        3 q 4 version 2
        4 q 8 version 2
        4 q 1 version 3
        5 q 1 version 3
        """,
    )


def test_a_resumed_query_keeps_its_memory_and_an_altered_one_does_not() -> None:
    pages = [
        page(declare(), register(ask(maximum("x"))), rows=table("at x\n1 5\n2 5")),
        page({"do": "pause", "names": ["q"]}, rows=table("at x\n3 5")),
        page({"do": "resume", "names": ["q"]}, rows=table("at x\n4 5")),
        page({"do": "alter", "queries": [ask(maximum("x")).as_dict()]}, rows=table("at x\n5 5")),
        page(rows=table("at x\n6 5")),
    ]
    expect(evaluate(pages), "1 q 5\n3 q 5 version 2")


def test_a_dropped_stream_is_forgotten() -> None:
    query = ask(count(), window=Landmark(0), answer=on_close())
    pages = [
        page(declare(), rows=table("at x\n1 1\n2 2")),
        page({"do": "drop stream", "name": "plant"}),
        page(declare(), register(query), rows=table("at x\n1 1\n2 2")),
    ]
    expect(evaluate(pages), "1 q 1")


VALUES = st.lists(st.tuples(st.integers(-64, 64), st.integers(-64, 64)), min_size=2, max_size=12)


@given(VALUES)
def test_spreads_agree_with_the_standard_library(pairs: list[tuple[int, int]]) -> None:
    samples = [(x / 8, y / 8, 1.0) for x, y in pairs]
    xs, ys = [x for x, _, _ in samples], [y for _, y, _ in samples]
    assert aggregate(var("x"), samples) == pytest.approx(variance(xs))
    assert aggregate(stddev("x"), samples) == pytest.approx(stdev(xs))
    assert aggregate(covar("x", "y"), samples) == pytest.approx(covariance(xs, ys))
    if len(set(xs)) > 1 and len(set(ys)) > 1:
        assert aggregate(corr("x", "y"), samples) == pytest.approx(correlation(xs, ys))
    else:
        assert aggregate(corr("x", "y"), samples) is None


TRUTHS = [
    (col("x") > 0, True, None),
    (~(col("x") > 0), False, None),
    (col("x") != 1, False, None),
    (col("x").is_null(), False, True),
    (col("x").isin(1, 2), True, None),
    (~col("x").isin(2, 3), True, None),
    (col("x").between(0, 1), True, None),
    ((col("x") > 0) & (col("g") == "u"), True, None),
    ((col("x") > 0) & (col("g") == "v"), False, False),
    ((col("x") > 0) | (col("g") == "u"), True, True),
    ((col("x") > 3) | (col("g") == "v"), False, None),
    (col("ts") >= "1970-01-01T00:00:02Z", True, True),
]


@pytest.mark.parametrize(("where", "known", "unknown"), TRUTHS, ids=lambda value: str(value))
def test_a_condition_has_three_values(
    where: Predicate, known: bool | None, unknown: bool | None
) -> None:
    assert passes(where, {"x": 1.0, "g": "u", "ts": 2 * SECOND}) is known
    assert passes(where, {"x": None, "g": "u", "ts": 2 * SECOND}) is unknown


@given(row_lists())
@settings(max_examples=20)
def test_rows_become_a_table_of_the_declared_columns(rows: tuple[Row, ...]) -> None:
    found = as_arrow(rows, SCHEMA)
    assert found.schema.equals(SCHEMA.to_arrow())
    assert found.column("ts").cast(pa.int64()).to_pylist() == [row.ts for row in rows]
    assert found.column("g").to_pylist() == [row.values["g"] for row in rows]


def comparable(workload: Workload) -> list[str]:
    """Answers as text, without the page they were made in; text makes NaN equal to itself."""
    return [repr(replace(answer, epoch=0)) for answer in evaluate(workload.pages)]


@given(workloads(changing=False), st.data())
@settings(max_examples=examples(20))
def test_answers_do_not_hang_on_pages(workload: Workload, data: st.DataObject) -> None:
    assert comparable(resplit(data.draw, workload)) == comparable(workload)


@given(workloads(lulls=False), st.data())
@settings(max_examples=examples(20))
def test_changes_hang_on_their_place_among_the_rows(
    workload: Workload, data: st.DataObject
) -> None:
    other = resplit(data.draw, workload)
    assert other.rows == workload.rows
    assert comparable(other) == comparable(workload)
