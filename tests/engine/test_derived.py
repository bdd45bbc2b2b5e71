"""Columns that queries compute: by hand, against the reference, over restarts and history."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamgauge.contracts.answer import Answer
from streamgauge.engine import shard
from streamgauge.kernel.allowed import Allowed
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import MINUTE, SECOND
from streamgauge.log.dead_letters import dead_letters
from streamgauge.log.home import Home
from streamgauge.operators.aggregate import Aggregate, avg, count, total
from streamgauge.operators.expression import Expr, call, column, literal
from streamgauge.operators.functions import Function
from streamgauge.operators.predicate import col
from streamgauge.plan.query import Query, every, on_close
from streamgauge.plan.registry import Registry
from streamgauge.plan.sharing import share
from streamgauge.results.change_log import answers, as_answers
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Range
from tests.kit.replay import replay, run_pages, write_pages
from tests.oracles.reference import Arrival, Row, evaluate

pytestmark = pytest.mark.slow

SCHEMA = Schema.of(s="string", ts="time", price="float", size="int")
TRADES = Stream("trades", SCHEMA, "ts", ("s",), (), keep=10**15)
VALUE = Expr("*", (column("price"), column("size")))
LARGE = Expr(">", (VALUE, literal(20)))
SIDE = call("if", Expr(">", (column("size"), literal(2))), literal("big"), literal("small"))
WINDOW = Range("10 s", slide="5 s")


def asking(name: str, select: Aggregate, *derived: Expr, **more: Any) -> Query:
    given = {"window": WINDOW, "answer": on_close(), **more}
    return Query(name, "trades", select, derived=tuple((str(e), e) for e in derived), **given)


ASKED = (
    asking("turnover", total(str(VALUE)), VALUE),
    asking("mean", avg(str(VALUE)), VALUE),
    asking("large", count(), LARGE, where=col(str(LARGE)) == True),  # noqa: E712
    asking("sides", total("price"), SIDE, group_by=(str(SIDE),)),
    asking("weighted", avg("price", weight=str(VALUE)), VALUE),
    asking("latest", total(str(VALUE)), VALUE, window=None, answer=every("1 s")),
)


def rows(start: int, n: int) -> tuple[Row, ...]:
    return tuple(
        Row(
            i * SECOND,
            {
                "s": f"s{i % 3}",
                "price": None if i % 5 == 0 else i / 4,
                "size": None if i % 7 == 0 else i % 4,
            },
        )
        for i in range(start, start + n)
    )


def register(*queries: Query) -> dict[str, Any]:
    return {"do": "register", "queries": [query.as_dict() for query in queries]}


DECLARED: dict[str, Any] = {"do": "stream", "stream": TRADES.as_dict()}
END: dict[str, Any] = {"do": "advance", "stream": "trades", "instant": 100 * SECOND}
PAGES = (
    Arrival((DECLARED, register(*ASKED)), {"trades": rows(1, 12)}),
    Arrival((), {"trades": rows(13, 9)}),
    Arrival((), {"trades": rows(22, 20)}),
    Arrival((END,)),
)


def key(answer: Answer) -> tuple[Any, ...]:
    return answer.epoch, answer.as_of, answer.query, str(answer.group)


def plain(given: list[Answer]) -> list[tuple[Any, ...]]:
    listed = sorted(given, key=key)
    ends = [(a.low, a.high) if a.value is not None else (None, None) for a in listed]
    shown = zip(listed, ends, strict=True)
    return [(*key(a), a.value, *bar, a.coverage, a.basis) for a, bar in shown]


def test_by_hand(tmp_path: Path) -> None:
    pages = (
        Arrival((DECLARED, register(ASKED[0])), {"trades": rows(1, 9)}),
        Arrival((END,)),
    )
    first = replay(tmp_path, TRADES, pages)[0]
    # 1/4 * 1, 2/4 * 2, 3/4 * 3, 4/4 * 0, and the fifth has no price.
    assert (first.as_of, first.value) == (5 * SECOND, 0.25 + 1.0 + 2.25)


@pytest.mark.parametrize("shards", [1, 3])
def test_the_engine_agrees_with_the_reference(tmp_path: Path, shards: int) -> None:
    given = replay(tmp_path, TRADES, PAGES, shards=shards)
    assert {a.query for a in given} == {query.name for query in ASKED}
    assert plain(given) == plain(evaluate(PAGES))


def test_a_restart_changes_nothing(tmp_path: Path) -> None:
    assert plain(replay(tmp_path, TRADES, PAGES, forget=True)) == plain(evaluate(PAGES))


def test_history_fills_a_later_query(tmp_path: Path) -> None:
    later = tuple(replace(q, name=f"{q.name} later") for q in ASKED)
    pages = (*PAGES[:2], Arrival((register(*later),), PAGES[2].rows), PAGES[3])
    assert plain(replay(tmp_path, TRADES, pages, forget=True)) == plain(evaluate(pages))


def test_waiting_rows_get_columns_that_are_asked_later(tmp_path: Path) -> None:
    pages = (
        Arrival((DECLARED, register(asking("plain", count()))), {"trades": rows(1, 12)}),
        Arrival((register(*ASKED),)),
        Arrival((END,)),
    )
    allowed = Allowed.of(["own_for_derived"])
    answers = replay(tmp_path / "home", TRADES, pages, allowed=allowed)
    assert plain(answers) == plain(evaluate(pages))


def test_queries_share_what_they_derive() -> None:
    registry = Registry()
    registry.apply([DECLARED, register(*ASKED)], epoch=1)
    plan = share(registry, TRADES)
    assert list(plan.derived) == [str(VALUE), str(LARGE), str(SIDE)]
    assert plan.stream.schema.columns[4:] == (
        (str(VALUE), "float"), (str(LARGE), "bool"), (str(SIDE), "string"),
    )  # fmt: skip
    shared = [q.name for queries in plan.operators.values() for q in queries if len(queries) > 1]
    assert shared == ["turnover", "mean"]


def test_groups_of_time_are_named_by_their_text(tmp_path: Path) -> None:
    minute = call("bucket", column("ts"), Expr("duration", value=MINUTE))
    query = asking("minutes", count(), minute, group_by=(str(minute),), window=Range("100 s"))
    pages = (Arrival((DECLARED, register(query)), {"trades": rows(50, 20)}), Arrival((END,)))
    given = replay(tmp_path, TRADES, pages, forget=True)
    assert {a.group for a in given} == {("1970-01-01T00:00:00Z",), ("1970-01-01T00:01:00Z",)}


def test_json_has_derived_columns_only_where_there_are_some() -> None:
    assert Query.from_dict(ASKED[2].as_dict()) == ASKED[2]
    assert "derived" not in asking("plain", count()).as_dict()


def test_a_value_that_is_not_finite_is_noted_once_under_its_own_column(tmp_path: Path) -> None:
    broken = (Row(SECOND, {"s": "s0", "price": float("inf"), "size": 1}),)
    pages = (Arrival((DECLARED, register(*ASKED)), {"trades": (*broken, *rows(2, 9))}),)
    home = Home.open(tmp_path, shards=1)
    write_pages(home, (TRADES,), pages)
    run_pages(home)
    shard.forget(home)
    assert dead_letters(home, "trades")["row"].to_pylist() == ['{"price": "inf"}']
    assert len(list(as_answers(answers(home)))) > 0


@pytest.mark.parametrize(
    ("query", "what"),
    [
        (asking("q", total("pric * 2"), Expr("*", (column("pric"), literal(2)))), "'pric'"),
        (asking("q", total(str(SIDE)), SIDE), "SIDE"),
        (asking("q", total("price * size")), "unknown column 'price * size'"),
        (replace(asking("q", count()), derived=(("price", VALUE),)), "computed and declared"),
    ],
)
def test_mistakes_are_refused(query: Query, what: str) -> None:
    with pytest.raises(BindError) as raised:
        query.bind(TRADES, {})
    assert what.replace("SIDE", str(SIDE)) in raised.value.what


def test_functions_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_for_derived.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = {"do": "function", "function": Function("double", "own_for_derived:double").as_dict()}
    doubled = call("double", column("price"))
    query = asking("doubled", total(str(doubled)), doubled)
    pages = (
        Arrival((DECLARED, own, register(query)), {"trades": rows(1, 20)}),
        Arrival((END,)),
    )
    allowed = Allowed.of(["own_for_derived"])
    answers = replay(tmp_path / "home", TRADES, pages, allowed=allowed)
    assert plain(answers) == plain(evaluate(pages))
    registry = Registry()
    registry.apply([DECLARED, own, register(query)], epoch=1)
    refused = registry.apply([{"do": "drop function", "name": "double"}], epoch=2)
    assert refused[0].what == "function 'double' is in use"
