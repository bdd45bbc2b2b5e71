"""Questions across streams: sizes of sets and joins from sketches, beside the exact sizes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamgauge.checks.trials import cutoff
from streamgauge.contracts.answer import Answer
from streamgauge.contracts.contract import Contract
from streamgauge.engine import shard
from streamgauge.engine.latest import latest_answers
from streamgauge.kernel.time import DAY, SECOND, instant
from streamgauge.log.home import Home
from streamgauge.operators.aggregate import Aggregate
from streamgauge.operators.expression import Expr, column, literal
from streamgauge.plan.part import Part
from streamgauge.plan.query import Query, every, on_change, on_close
from streamgauge.results.change_log import answers, as_answers
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.windows.window import Landmark, Range, Window
from tests.kit.replay import run_pages, write_pages
from tests.oracles.reference import Arrival, Row

pytestmark = pytest.mark.slow

START = instant("2026-01-01T00:00:00Z")
SCHEMA = Schema.of(host="string", ts="time", a="int", b="string")
NAMES = ("r1", "r2", "r3")
PAIR = (column("a"), column("b"))
ROUGH = Contract.rank(0.1, confidence=0.95)


def stream(name: str, late: Late) -> Stream:
    return Stream(name, SCHEMA, "ts", ("host",), (), late=late, keep=365 * DAY, future=None)


def rows(seed: int, n: int, *, back: bool) -> tuple[Row, ...]:
    rng = np.random.default_rng(seed)
    times = START + np.sort(rng.integers(0, 40 * SECOND, n))
    if back:
        times = times - np.where(rng.random(n) < 0.03, 6 * SECOND, 0)
    a, b = rng.integers(0, 60, n), rng.integers(0, 8, n)
    return tuple(
        Row(int(t), {"host": "h", "a": None if x == 7 else int(x), "b": f"b{y}"})
        for t, x, y in zip(times, a, b, strict=True)
    )


SENT = {name: rows(seed, 700, back=False) for seed, name in enumerate(NAMES)}
LATE = {name: rows(seed, 700, back=True) for seed, name in enumerate(NAMES)}


def sets(name: str, window: Window, **given: object) -> Query:
    parts = tuple(Part(stream, window, PAIR) for stream in NAMES)
    select = Aggregate("set_size", argument="((p0 & p1) - p2)")
    asked = {"answer": every("5 s"), "contract": ROUGH, "window": window, **given}
    return Query(name, "r1", select, parts=parts, **asked)  # type: ignore[arg-type]


def joins(name: str, window: Window, **given: object) -> Query:
    some = Expr("!=", (column("b"), literal("b0")))
    parts = (Part("r1", window, (column("a"),)), Part("r2", window, (column("a"),), some))
    select = Aggregate("join_size", argument="p0 = p1")
    asked = {"answer": every("5 s"), "contract": ROUGH, "window": window, **given}
    return Query(name, "r1", select, parts=parts, **asked)  # type: ignore[arg-type]


QUERIES = (
    sets("set_range", Range("10 s")),
    sets("set_all", Landmark("2026-01-01")),
    joins("join_range", Range("20 s", slide="5 s"), answer=on_close()),
    joins("join_all", Landmark("2026-01-01")),
    joins("join_change", Range("10 s", slide="5 s"), answer=on_change(50.0)),
)


def pages(late: Late, sent: dict[str, tuple[Row, ...]], cuts: int, birth: int) -> list[Arrival]:
    """Streams come in parts of different sizes, so that their frontiers are apart."""
    declared = tuple({"do": "stream", "stream": stream(name, late).as_dict()} for name in NAMES)
    asked = ({"do": "register", "queries": [query.as_dict() for query in QUERIES]},)
    out = []
    for number in range(cuts):
        part = {}
        for place, name in enumerate(NAMES):
            edges = np.linspace(0, 1, cuts + 1) ** (1.0 + 0.4 * place)
            low, high = (round(edge * len(sent[name])) for edge in edges[number : number + 2])
            part[name] = sent[name][low:high]
        changes = (declared if number == 0 else ()) + (asked if number == birth else ())
        out.append(Arrival(changes, part))
    return out


def run(path: Path, late: Late, history: list[Arrival], **how: int | bool) -> list[Answer]:
    home = Home.open(path, shards=int(how.get("shards", 1)))
    write_pages(home, [stream(name, late) for name in NAMES], history)
    run_pages(home, forget=bool(how.get("forget", False)))
    shard.forget(home)
    return list(as_answers(answers(home)))


def inside(window: Window, t: int, sent: tuple[Row, ...]) -> list[Row]:
    if window.kind == "landmark":
        return [row for row in sent if window.start <= row.ts <= t]
    return [row for row in sent if t - window.length < row.ts <= t]


def truth(query: Query, t: int, sent: dict[str, tuple[Row, ...]]) -> float:
    held = [inside(part.window, t, sent[part.stream]) for part in query.parts]
    if query.select.name == "set_size":
        one, two, three = ({(r.values["a"], r.values["b"]) for r in rows} for rows in held)
        return float(len((one & two) - three))
    left = Counter(r.values["a"] for r in held[0])
    right = Counter(r.values["a"] for r in held[1] if r.values["b"] != "b0")
    return float(sum(n * right[a] for a, n in left.items() if a is not None))


@pytest.mark.parametrize("birth", [0, 3], ids=["from the start", "from history"])
def test_bars_hold_the_exact_size(tmp_path: Path, birth: int) -> None:
    found = run(tmp_path, Late.drop(), pages(Late.drop(), SENT, 6, birth))
    named = {query.name: query for query in QUERIES}
    judged: dict[str, list[bool]] = {name: [] for name in named}
    for answer in found:
        exact = truth(named[answer.query], answer.as_of, SENT)
        judged[answer.query].append(answer.low <= exact <= answer.high)
        assert answer.basis == ("theta" if answer.query.startswith("set") else "fast_ams")
        assert answer.confidence >= 0.95
        assert answer.value is not None
    for name, held in judged.items():
        assert held, name
        assert held.count(False) <= cutoff(len(held), 0.05), name
    if birth == 0:
        # All streams are closed up to the last row but one of the one that ends first.
        assert len(judged["set_range"]) == 7
    assert {a.coverage for a in found if a.query == "set_all"} == {1.0}


@pytest.mark.parametrize("late", [Late.drop(), Late.revise(20)], ids=["drop", "revise"])
def test_answers_do_not_depend_on_pages_shards_or_restarts(tmp_path: Path, late: Late) -> None:
    one = run(tmp_path / "one", late, pages(late, LATE, 1, 0))
    two = run(tmp_path / "two", late, pages(late, LATE, 7, 0), shards=3, forget=True)
    assert one
    plain = [sorted(repr(replace(a, epoch=0)) for a in found) for found in (one, two)]
    assert plain[0] == plain[1]


def test_late_rows_widen_the_bar(tmp_path: Path) -> None:
    found = run(tmp_path, Late.drop(), pages(Late.drop(), LATE, 3, 0))
    late = [a for a in found for charge in a.charges if charge.by == "late rows"]
    assert late
    assert all(a.low <= truth(QUERIES[1], a.as_of, LATE) for a in late if a.query == "set_all")


def test_a_query_is_read_back_as_it_was() -> None:
    for query in QUERIES:
        assert Query.from_dict(query.as_dict()) == query
    assert QUERIES[0].streams == NAMES
    assert str(QUERIES[2]).startswith("join_size(p0 = p1) from p0 = r1 [range 20 s slide 5 s] by a")


def test_the_latest_answer_is_the_last_one_given(tmp_path: Path) -> None:
    found = run(tmp_path, Late.drop(), pages(Late.drop(), SENT, 2, 0), shards=2)
    last = {answer.query: answer for answer in found}
    told = latest_answers(Home.open(tmp_path, shards=2))
    assert {answer.query: answer for answer in told} == last
