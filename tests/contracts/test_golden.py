"""The one JSON shape and the one Arrow schema of answers, as golden files.

Whoever reads answers from files or from the command line relies on these. A change of either is a
**format** line in CHANGES.md, and a change of the schema raises its version.
"""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest

from streamgauge.contracts.answer import Answer, Charge
from streamgauge.contracts.schema import ANSWERS, VERSION
from streamgauge.kernel.time import instant
from streamgauge.results.change_log import as_answers
from tests.goldens import assert_golden

NOON = instant("2026-01-31T12:00:00Z")
NAN, INF = math.nan, math.inf
ANSWERED = (
    Answer("heat", 101.5, 101.5, 101.5, as_of=NOON, epoch=3),
    Answer("load", 7.0, 7.0, 7.0, as_of=NOON, group=("north", 2, True, None), version=2, epoch=3),
    Answer(
        "late", 4.0, 4.0, 6.5, as_of=NOON + 250_000, epoch=4, contract_met=False,
        charges=(Charge("late rows", 0.0, 2.5),),
    ),
    Answer(
        "silent", 1.0, -INF, INF, as_of=NOON, epoch=4, basis="interrupted", coverage=0.5,
        charges=(Charge("interruption", INF, INF),), contract_met=False,
    ),
    Answer("empty", None, NAN, NAN, as_of=NOON, epoch=5, revision=1, contract_met=False),
    Answer(
        "sampled", 10.0, 9.0, 11.0, as_of=NOON, confidence=0.95, epoch=5,
        charges=(Charge("sketch", 1.0, 1.0, 0.05),),
    ),
)  # fmt: skip


def as_row(answer: Answer) -> dict[str, object]:
    """An answer as a row of the public schema."""
    missing = answer.value is None
    return {
        **{name: getattr(answer, name) for name in ANSWERS.names},
        "low": None if missing else answer.low,
        "high": None if missing else answer.high,
        "group": json.dumps(answer.group) if answer.group else "",
        "charges": [charge.as_row() for charge in answer.charges],
    }


def schema_text(schema: pa.Schema) -> str:
    """A schema as text of our own, so that it does not change with the release of Arrow."""
    notes = schema.metadata or {}
    lines = [f"{key.decode()} = {value.decode()}" for key, value in sorted(notes.items())]
    return "\n".join([*lines, *(f"{field.name}: {field.type}" for field in schema)]) + "\n"


def test_answers_as_json() -> None:
    shapes = [answer.as_dict() for answer in ANSWERED]
    # Strict, because readers in other languages refuse NaN and Infinity.
    assert_golden(f"answer.v{VERSION}.json", json.dumps(shapes, indent=2, allow_nan=False) + "\n")


def test_schema_of_answers() -> None:
    assert_golden(f"answers_schema.v{VERSION}.txt", schema_text(ANSWERS))


def test_the_schema_carries_its_version() -> None:
    assert ANSWERS.metadata == {b"streamgauge.answers": str(VERSION).encode()}


def test_json_and_arrow_have_the_same_fields() -> None:
    assert list(ANSWERED[0].as_dict()) == ANSWERS.names


@pytest.mark.parametrize("answer", ANSWERED, ids=lambda answer: answer.query)
def test_an_answer_survives_the_table(answer: Answer) -> None:
    table = pa.Table.from_pylist([as_row(answer)], schema=ANSWERS)
    (back,) = as_answers(table)
    assert back.as_dict() == answer.as_dict()
    assert str(back) == str(answer)
