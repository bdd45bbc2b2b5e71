"""Judging by columns against the rule said plainly, answer by answer."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.alerts.judge import Panel, Turn, turns
from streamgauge.contracts.schema import ANSWERS
from streamgauge.plan.alert import Alert, Target

pytestmark = pytest.mark.slow

HERE = (Target("mail", "/out", "ops@example.org"),)
LEVELS = ("certainly above", "possibly above", "certainly below", "possibly below")


def answer(query: str, low: float, high: float, **more: Any) -> dict[str, Any]:
    missing = math.isnan(low)
    middle = next((end for end in (low, high) if math.isfinite(end)), 0.0)
    plain = {
        "query": query, "version": 1, "group": "", "value": None if missing else middle,
        "low": None if missing else low, "high": None if missing else high, "confidence": 1.0,
        "as_of": 0, "epoch": 1, "revision": 0, "coverage": 1.0, "basis": "exact", "charges": [],
        "contract_met": True, "slope": 0.0, "share": 1.0,
    }  # fmt: skip
    return {**plain, **more}


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), ANSWERS)


def alert(when: str, level: float | None = None, clear: float | None = None, **more: Any) -> Alert:
    given = {"name": "a", "query": "q", "targets": HERE, **more}
    return Alert(when=when, level=level, clear=clear, **given)


def states(one: Alert, *bars: tuple[float, float]) -> str:
    """+ where the alert is raised by a bar, - where it is cleared, . where nothing turns."""
    told = ["."] * len(bars)
    rows = [answer("q", *bar) for bar in bars]
    for turn in turns(Panel([one]), table(*rows), {})[1]:
        told[turn.row] = "+" if turn.raised else "-"
    return "".join(told)


def test_certainly_needs_the_whole_bar_and_possibly_a_part_of_it() -> None:
    bars = [(90, 95), (95, 105), (101, 110), (96, 99), (90, 100)]
    assert states(alert("certainly above", 100), *bars) == "..+-."
    assert states(alert("possibly above", 100), *bars) == ".+.-."
    assert states(alert("certainly below", 100), *bars) == "+.-+."
    assert states(alert("possibly below", 100), *bars) == "+.-+."


def test_between_level_and_clear_it_stays_as_it_is() -> None:
    bars = [(101, 102), (96, 99), (101, 103), (94, 96), (90, 95), (96, 99)]
    assert states(alert("certainly above", 100, 95), *bars) == "+...-."
    down = [(-2, -1), (1, 3), (3, 9), (5, 5)]
    assert states(alert("certainly below", 0, 5), *down) == "+..-"


def test_an_end_without_bound_is_possible_and_never_certain() -> None:
    inf = math.inf
    assert states(alert("certainly above", 1e9), (0, inf), (-inf, inf)) == ".."
    assert states(alert("possibly above", 1e9), (0, inf), (0, 1)) == "+-"
    assert states(alert("possibly below", -1e9), (-inf, 0)) == "+"


def test_an_answer_of_nothing_changes_nothing() -> None:
    nothing = (math.nan, math.nan)
    assert states(alert("certainly above", 0), nothing, (1, 2), nothing, (-1, 0)) == ".+.-"


def test_contracts_and_interruptions() -> None:
    rows = [
        answer("q", 1, 2),
        answer("q", 1, 2, contract_met=False, basis="interrupted"),
        answer("q", 1, 2, contract_met=False),
        answer("q", 1, 2),
    ]
    panel = Panel([alert("contract broken", name="c"), alert("interrupted", name="i")])
    assert turns(panel, table(*rows), {})[1] == [
        Turn("c", "", 1, raised=True),
        Turn("i", "", 1, raised=True),
        Turn("i", "", 2, raised=False),
        Turn("c", "", 3, raised=False),
    ]


def test_each_group_is_raised_for_itself_and_one_can_be_meant() -> None:
    rows = [answer("q", v, v, group=g) for v, g in [(9, '["a"]'), (1, '["b"]'), (9, '["b"]')]]
    panel = Panel(
        [alert("certainly above", 5), alert("certainly above", 5, name="b", group=("b",))]
    )
    assert turns(panel, table(*rows), {"a": ['["a"]']})[1] == [
        Turn("a", '["b"]', 2, raised=True),
        Turn("b", '["b"]', 2, raised=True),
    ]


def plainly(alerts: list[Alert], rows: list[dict[str, Any]], raised: set[tuple[str, str]]) -> Any:
    """The rule of docs/reference/semantics.md, one answer after another."""
    held, told = set(raised), []
    for number, row in enumerate(rows):
        for one in alerts:
            if one.query != row["query"] or row["value"] is None:
                continue
            low, high, level, end = row["low"], row["high"], one.level, one.end
            assert level is not None
            up = {
                "certainly above": low > level, "possibly above": high > level,
                "certainly below": high < level, "possibly below": low < level,
            }[one.when]  # fmt: skip
            down = high <= end if one.above else low >= end
            key = (one.name, row["group"])
            if (up and key not in held) or (down and key in held):
                told.append((one.name, row["group"], number, up))
                (held.add if up else held.discard)(key)
    return told


ends = st.sampled_from([-math.inf, -3.0, -1.0, 0.0, 1.0, 2.0, 3.0, math.inf])
answers = st.builds(
    lambda query, group, pair, there: answer(
        query, *(sorted(pair) if there else (math.nan, math.nan)), group=group
    ),
    st.sampled_from(["q", "r", "s"]),
    st.sampled_from(['["a"]', '["b"]']),
    st.tuples(ends, ends),
    st.integers(0, 9).map(bool),
)
conditions = st.tuples(
    st.sampled_from(["q", "r"]), st.sampled_from(LEVELS), st.sampled_from([-1.0, 0.0, 1.5]),
    st.sampled_from([0.0, 1.0, 2.0]),
)  # fmt: skip


@given(st.lists(answers, max_size=30), st.lists(conditions, max_size=5), st.booleans())
def test_columns_say_what_the_plain_rule_says(
    rows: list[dict[str, Any]], asked: list[tuple[str, str, float, float]], held: bool
) -> None:
    alerts = [
        alert(when, level, level - back if when.endswith("above") else level + back,
              name=f"{n}", query=query)
        for n, (query, when, level, back) in enumerate(asked)
    ]  # fmt: skip
    raised = {(one.name, '["a"]') for one in alerts} if held else set()
    panel = Panel(alerts)
    told = turns(panel, table(*rows), {name: [group] for name, group in raised})
    # Rows are counted among those that have alerts.
    ours = [n for n, row in enumerate(rows) if row["query"] in {one.query for one in alerts}]
    found = [(t.alert, t.group, ours[t.row], t.raised) for t in told[1]]
    assert sorted(found) == sorted(plainly(alerts, rows, raised))


@pytest.mark.parametrize("cut", [0, 3, 7])
def test_it_is_the_same_however_answers_fall_into_epochs(cut: int) -> None:
    values = [1, 6, 4, 7, 2, 9, 0, 8]
    one = Panel([alert("certainly above", 5, 3)])
    rows = [answer("q", value, value) for value in values]
    whole = [turn.raised for turn in turns(one, table(*rows), {})[1]]
    first = turns(one, table(*rows[:cut]), {})[1]
    held = {"a": [""] if first and first[-1].raised else []}
    rest = turns(one, table(*rows[cut:]), held)[1]
    assert [turn.raised for turn in [*first, *rest]] == whole == [True, False, True, False, True]


@pytest.mark.parametrize("when", [*LEVELS, "contract broken"])
def test_a_window_that_has_emptied_clears_its_alert(when: str) -> None:
    one = alert(when, None if when == "contract broken" else 100.0)
    low = 90.0 if "below" in when else 110.0
    empty = answer("q", math.nan, math.nan, basis="empty", group='["x"]', contract_met=False)
    rows = [answer("q", low, low, group='["x"]', contract_met=False), empty]
    found = turns(Panel([one]), table(*rows), {})[1]
    assert [(turn.row, turn.raised) for turn in found] == [(0, True), (1, False)]


def test_a_group_that_counts_nothing_any_more_raises() -> None:
    rows = [
        answer("q", 3.0, 3.0, group='["x"]'),
        answer("q", 0.0, 0.0, group='["x"]', basis="empty"),
    ]
    found = turns(Panel([alert("certainly below", 1.0)]), table(*rows), {})[1]
    assert [(turn.row, turn.raised) for turn in found] == [(1, True)]
