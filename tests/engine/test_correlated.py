"""Aggregates over rows chosen by another aggregate: bars beside their exact twins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamgauge.contracts.answer import Answer
from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import DAY, SECOND, instant
from streamgauge.operators.aggregate import Aggregate, count_when, sum_when
from streamgauge.plan.query import Query, every
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.synopses.correlated.compared import CutRank, KeptPairs
from streamgauge.synopses.questions import Rank
from streamgauge.windows.window import Landmark, Range
from tests.kit.replay import replay, same_answer, sort_key
from tests.oracles.reference import Arrival, Row, evaluate

pytestmark = pytest.mark.slow

START = instant("2026-01-01T00:00:00Z")
SCHEMA = Schema.of(host="string", ts="time", x="float", y="float")
SELECTS = {
    "high": count_when("x", ">", "avg", factor=1.5),
    "low": count_when("x", "<=", "min", factor=2.0, offset=0.5),
    "top": count_when("x", ">=", "max", factor=0.5),
}
WINDOWS = {"range": Range("20 s", slide="5 s"), "all": Landmark("2026-01-01")}


def web(late: Late) -> Stream:
    return Stream("web", SCHEMA, "ts", ("host",), (), late=late, keep=365 * DAY, future=None)


def rows(n: int) -> tuple[Row, ...]:
    rng = np.random.default_rng(n)
    times = START + np.sort(rng.integers(0, 60 * SECOND, n))
    times = times - np.where(rng.random(n) < 0.02, 7 * SECOND, 0)
    x, y = np.round(rng.lognormal(1.0, 1.0, n), 2), rng.normal(0.0, 1.0, n)
    return tuple(
        Row(
            int(times[i]),
            {
                "host": f"h{i % 3}",
                "x": None if i % 41 == 0 else float(x[i]),
                "y": None if i % 37 == 0 else float(y[i]),
            },
        )
        for i in range(n)
    )


def queries() -> list[Query]:
    asked = []
    for kind, window in WINDOWS.items():
        common = {"window": window, "answer": every("5 s"), "group_by": ("host",)}
        for name, select in SELECTS.items():
            exact = Query(f"{name}_{kind}_exact", "web", select, **common)  # type: ignore[arg-type]
            asked += [
                exact,
                replace(exact, name=f"{name}_{kind}", contract=Contract.rank(0.05)),
            ]
        select = sum_when("y", "x", "<", "avg")
        asked.append(Query(f"sum_{kind}", "web", select, **common))  # type: ignore[arg-type]
    return asked


def answers(path: Path, late: Late, n: int, *, cuts: int = 3, **how: int | bool) -> list[Answer]:
    stream, sent = web(late), rows(n)
    return replay(path, stream, history(stream, sent, cuts), **how)  # type: ignore[arg-type]


def history(stream: Stream, sent: tuple[Row, ...], cuts: int) -> list[Arrival]:
    changes = (
        {"do": "stream", "stream": stream.as_dict()},
        {"do": "register", "queries": [query.as_dict() for query in queries()]},
    )
    size = -(-len(sent) // cuts)
    parts = [sent[i : i + size] for i in range(0, len(sent), size)]
    return [Arrival(changes if i == 0 else (), {"web": part}) for i, part in enumerate(parts)]


@pytest.mark.parametrize("late", [Late.drop(), Late.revise(20)], ids=["drop", "revise"])
def test_bars_hold_the_exact_count(tmp_path: Path, late: Late) -> None:
    keyed = {(a.query, a.group, a.as_of, a.revision): a for a in answers(tmp_path, late, 1200)}
    judged: dict[str, int] = {}
    for (query, group, as_of, revision), answer in keyed.items():
        twin = keyed.get((f"{query}_exact", group, as_of, revision))
        if query.endswith("_exact") or query.startswith("sum") or twin is None:
            continue
        assert answer.basis == "cut_rank"
        assert twin.basis == "exact"
        assert answer.value is not None
        assert twin.value is not None
        assert answer.low - 1e-9 <= twin.value <= answer.high + 1e-9, query
        judged[query] = judged.get(query, 0) + 1
    assert len(judged) == 6
    assert min(judged.values()) > 20


def test_an_exact_contract_agrees_with_the_reference(tmp_path: Path) -> None:
    stream, sent = web(Late.drop()), rows(400)
    found = answers(tmp_path, Late.drop(), 400)
    expected = evaluate(history(stream, sent, 3))
    exact = [
        sorted((a for a in given if "_exact" in a.query or "sum" in a.query), key=sort_key)
        for given in (found, expected)
    ]
    assert len(exact[0]) == len(exact[1]) > 100
    for a, b in zip(*exact, strict=True):
        assert same_answer(a, b), f"found    {a!r}\nexpected {b!r}"


def test_answers_do_not_depend_on_pages_shards_or_restarts(tmp_path: Path) -> None:
    one = answers(tmp_path / "one", Late.drop(), 600, cuts=2)
    two = answers(tmp_path / "two", Late.drop(), 600, cuts=9, shards=3, forget=True)
    plain = [sorted(repr(replace(a, epoch=0)) for a in found) for found in (one, two)]
    assert plain[0] == plain[1]


def test_parts_put_together_know_what_the_whole_knows() -> None:
    column = np.round(np.random.default_rng(3).lognormal(1.0, 1.0, 500), 2)
    for select in SELECTS.values():
        question = select.question()
        whole, kept = CutRank("gk", {"epsilon": 0.05, "least_kept": 1.0}), KeptPairs()
        for part in np.array_split(column, 4):
            piece = CutRank("gk", {"epsilon": 0.05, "least_kept": 1.0})
            piece.update(part)
            whole.merge(CutRank.from_bytes(piece.to_bytes()))
            other = KeptPairs()
            other.update(part)
            kept.merge(other)
        bar, truth = whole.query(question), question.truth(column, np.ones(len(column)))
        assert kept.query(question).value == truth
        assert bar.low <= truth <= bar.high
        assert bar.high - bar.low <= 4 * 0.05 * len(column) + 2
        assert whole.ranks.query(Rank(1.0)).value > 0


@pytest.mark.parametrize(
    "select",
    [
        count_when("x", "=", "avg"),
        count_when("x", ">", "median"),
        count_when("host", ">", "avg"),
        sum_when("host", "x", ">", "avg"),
        Aggregate("count_when", "x", "y", argument="> 1.0 avg 0.0"),
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_refused(select: Aggregate) -> None:
    with pytest.raises(BindError):
        select.bind(SCHEMA)
