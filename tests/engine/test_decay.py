"""Windows that fade, against the reference and against numbers worked out by hand."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.answer import Answer
from streamgauge.engine.latest import latest_answers
from streamgauge.kernel.errors import UnsupportedWindow
from streamgauge.kernel.time import DAY, SECOND
from streamgauge.log.home import Home
from streamgauge.operators.aggregate import avg, count, maximum, median, stddev, total, var
from streamgauge.operators.predicate import col
from streamgauge.plan.query import Query, every, on_change
from streamgauge.streams.stream import Late, Stream
from streamgauge.windows.window import Decay, Session
from tests.kit.replay import replay, same_answer, sort_key
from tests.kit.strategies import SCHEMA, START, row_lists
from tests.oracles.reference import Arrival, Row, evaluate

pytestmark = pytest.mark.slow

LATE = (Late.drop(), Late.allow(2), Late.revise(20))
ASKED = (
    Query("n", "plant", count(), window=Decay("10 s"), answer=every("2 s")),
    Query("sum", "plant", total("x"), window=Decay("3 s"), answer=every("5 s"), group_by=("g",)),
    Query("sum_w", "plant", total("x", weight="w"), window=Decay("3 s"), answer=every("1 s")),
    Query("mean", "plant", avg("x"), window=Decay("10 s"), answer=every("2 s"), group_by=("g",)),
    Query("spread", "plant", var("x"), window=Decay("1 h"), answer=every("5 s")),
    Query("now", "plant", count("y"), window=Decay("10 s"), answer=every("1 s"), history=False),
    Query(
        "some",
        "plant",
        total("x"),
        window=Decay("10 s"),
        answer=every("3 s"),
        where=col("g") == "a",
    ),
)


def plant(late: Late) -> Stream:
    return Stream("plant", SCHEMA, "ts", ("series",), (), late=late, keep=365 * DAY, future=None)


def pages(stream: Stream, rows: tuple[Row, ...], cuts: list[int], birth: int) -> list[Arrival]:
    """Half of the queries are there from the start, all from page `birth` on."""
    out = []
    for number, (low, high) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
        asked = ASKED[::2] if number == 0 else ASKED[1::2] if number == birth else ()
        changes: list[dict[str, Any]] = []
        if number == 0:
            changes.append({"do": "stream", "stream": stream.as_dict()})
        if asked:
            changes.append({"do": "register", "queries": [query.as_dict() for query in asked]})
        out.append(Arrival(tuple(changes), {"plant": rows[low:high]} if high > low else {}))
    return out


def run(stream: Stream, history: list[Arrival], **how: int | bool) -> list[Answer]:
    with tempfile.TemporaryDirectory() as directory:
        return replay(Path(directory), stream, history, **how)  # type: ignore[arg-type]


def close(one: Answer, other: Answer) -> bool:
    """Equal up to rounding; a charge for late rows may be no more than that."""
    plain = [
        replace(a, charges=tuple(c for c in a.charges if c.width > 1e-9)) for a in (one, other)
    ]
    return same_answer(*(replace(a, contract_met=True) for a in plain))


@settings(max_examples=15)
@given(
    rows=row_lists(),
    late=st.sampled_from(LATE),
    cuts=st.lists(st.integers(0, 40), min_size=3, max_size=3),
)
def test_fading_windows_agree_with_the_reference(
    rows: tuple[Row, ...], late: Late, cuts: list[int]
) -> None:
    stream = plant(late)
    history = pages(stream, rows, sorted(min(cut, len(rows)) for cut in cuts), 2)
    found = sorted(run(stream, history), key=sort_key)
    expected = sorted(evaluate(history), key=sort_key)
    for a, b in zip(found, expected, strict=False):
        assert close(a, b), f"found    {a!r}\nexpected {b!r}"
    assert len(found) == len(expected)


@settings(max_examples=6)
@given(rows=row_lists(lulls=False), late=st.sampled_from(LATE), cut=st.integers(0, 40))
def test_sums_do_not_depend_on_pages_shards_or_restarts(
    rows: tuple[Row, ...], late: Late, cut: int
) -> None:
    stream, n = plant(late), len(rows)
    one = run(stream, pages(stream, rows, [0], 1))
    two = run(stream, pages(stream, rows, [0, min(cut, n), n], 1), shards=3, forget=True)
    plain = [sorted(repr(replace(answer, epoch=0)) for answer in found) for found in (one, two)]
    assert plain[0] == plain[1]


def test_a_weight_halves_every_half_life(tmp_path: Path) -> None:
    stream = plant(Late.drop())
    rows = tuple(Row(START + s * SECOND, {"series": "a", "x": x}) for s, x in ((0, 8.0), (10, 1.0)))
    asked = [
        Query("n", "plant", count(), window=Decay("10 s"), answer=every("10 s")),
        Query("sum", "plant", total("x"), window=Decay("10 s"), answer=every("10 s")),
        Query("mean", "plant", avg("x"), window=Decay("10 s"), answer=every("10 s")),
    ]
    changes = (
        {"do": "stream", "stream": stream.as_dict()},
        {"do": "register", "queries": [query.as_dict() for query in asked]},
    )
    end = {"do": "advance", "stream": "plant", "instant": START + 21 * SECOND}
    found = replay(tmp_path, stream, [Arrival(changes, {"plant": rows}), Arrival((end,))])
    assert {a.query: a for a in latest_answers(Home.open(tmp_path, shards=1))} == {
        a.query: a for a in found
    }
    told = {(a.query, (a.as_of - START) // SECOND): a.value for a in found}
    assert told == {
        ("n", 0): 1.0, ("n", 10): 1.5, ("n", 20): 0.75,
        ("sum", 0): 8.0, ("sum", 10): 5.0, ("sum", 20): 2.5,
        ("mean", 0): 8.0, ("mean", 10): 10 / 3, ("mean", 20): 10 / 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        (Query("q", "plant", maximum("x"), window=Decay("1 s"), answer=every("1 s")), "stddev"),
        (Query("q", "plant", avg("x"), window=Decay("1 s"), answer=on_change()), "every"),
        (Query("q", "plant", median("x"), window=Decay("1 s"), answer=every("1 s")), "Range"),
        (
            Query("q", "plant", stddev("x"), window=Session("1 s"), answer=every("1 s")),
            "select rows",
        ),
    ],
    ids=["extremes", "cadence", "summaries", "sessions"],
)
def test_what_does_not_fade_is_refused(query: Query, hint: str) -> None:
    with pytest.raises(UnsupportedWindow) as refused:
        query.bind(plant(Late.drop()), {})
    assert hint in refused.value.hint
