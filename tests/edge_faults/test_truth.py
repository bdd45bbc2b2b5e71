"""The checker finds what it is there to find."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from streamgauge.contracts.answer import Answer
from tests.edge_faults.truth import Question, Readings, compare

A, B = ("east", "a"), ("east", "b")
BOTH: dict[tuple[str, ...], float] = {A: 1.0, B: -1.0}


@pytest.fixture
def readings() -> Readings:
    found = Readings()
    for label, key, value in [(1, A, 5.0), (1, B, 1.0), (3, A, 6.0), (7, B, 2.0)]:
        found.add(label, key, value)
    return found


def answer(low: float, high: float, as_of: int, **more: object) -> Answer:
    return Answer("q", (low + high) / 2, low, high, as_of=as_of, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("aggregate", "expected"), [("sum", 5.0), ("avg", 2.5), ("min", -1.0), ("max", 6.0)]
)
def test_the_truth_is_that_of_the_newest_readings(
    readings: Readings, aggregate: str, expected: float
) -> None:
    question = Question("q", aggregate, BOTH, 1.0)
    assert question.truth(readings, 3) == question.truth(readings, 6) == expected
    assert math.isnan(question.truth(readings, 0))


def test_an_answer_is_held_against_all_it_stands_for(readings: Readings) -> None:
    question = Question("q", "sum", BOTH, 1.0)
    right = [answer(3.5, 5.5, 2), answer(3.5, 4.5, 7)]
    verdict = compare([question], right, readings, range(1, 9))
    assert (verdict.kept, verdict.marked, verdict.wrong, verdict.wide) == (7, 0, [], [])
    verdict = compare([question], right[:1], readings, range(1, 9))
    assert len(verdict.wrong) == 0
    verdict = compare([question], [answer(3.5, 4.5, 2)], readings, range(1, 9))
    assert [line.split(":")[0] for line in verdict.wrong] == [f"q at {n}" for n in (3, 4, 5, 6)]


def test_a_bar_that_is_too_wide_is_found_unless_it_says_so(readings: Readings) -> None:
    question = Question("q", "sum", BOTH, 1.0)
    assert len(compare([question], [answer(3.0, 5.1, 1)], readings, [2]).wide) == 1
    honest = answer(-math.inf, math.inf, 1, basis="interrupted", contract_met=False)
    verdict = compare([question], [honest], readings, [2])
    assert (verdict.kept, verdict.marked, verdict.wide) == (0, 1, [])


def test_a_mark_does_not_excuse_a_wrong_bar(readings: Readings) -> None:
    question = Question("q", "sum", BOTH, 1.0)
    lie = answer(0.0, 1.0, 1, contract_met=False)
    assert len(compare([question], [lie], readings, [2]).wrong) == 1


def test_a_torn_line_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "east.log"
    log.write_text("1 5.0 east a\n2 6.5 east a\n3 7")
    assert Readings.of(log).values == {A: [5.0, 6.5]}
