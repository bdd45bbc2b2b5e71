"""The assignment of queries to operators after any changes is that of a registry read anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streamgauge as sg
from streamgauge.log.journal import Journal
from streamgauge.operators.aggregate import Aggregate
from streamgauge.operators.expression import Expr, column, literal
from streamgauge.plan.assignment import Assignment
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Record, Registry
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

SCHEMA = Schema.of(k="string", g="string", ts="time", x="float", y="float", n="int")
ROUGHLY = sg.Contract.absolute(1.0, confidence=0.9)


def stream(name: str) -> Record:
    return {"do": "stream", "stream": Stream(name, SCHEMA, "ts", ("k",), ()).as_dict()}


def some_query(name: str, rng: np.random.Generator) -> Query:
    """One of a few kinds of queries, over one of a few keys."""
    at, select = f"s{rng.integers(2)}", sg.avg(str(rng.choice(["x", "y"])))
    kinds: list[dict[str, Any]] = [
        {"series": tuple(f"k{n}" for n in rng.choice(9, 3, replace=False))},
        {"series": ("k1",), "contract": ROUGHLY},
        {"contract": ROUGHLY, "group_by": ("g",)},
        {"window": sg.Range(f"{rng.integers(1, 4)} s")},
        {
            "window": sg.Range("5 s"),
            "where": sg.col("n") > int(rng.integers(3)),
            "group_by": ("g",),
        },
        {"window": "named"},
        {"window": sg.Rows(5)},
        {"window": sg.Range("5 s"), "history": False},
    ]
    found = kinds[rng.integers(len(kinds))]
    if rng.integers(5) == 0:
        twice = Expr("*", (column("x"), literal(2.0 + int(rng.integers(2)))))
        found, select = {"window": sg.Range("4 s")}, sg.avg(str(twice))
        found["derived"] = ((str(twice), twice),)
    if rng.integers(6) == 0:
        found["window"], select = sg.Range("4 s"), Aggregate("distinct", "k")
    return Query(name, at, select, **{"window": None, **found})


def some_record(number: int, asked: list[str], rng: np.random.Generator) -> Record:
    """A change of who asks; some are refused."""
    kind, name = rng.integers(12), str(rng.choice([*asked, "none"]))
    if kind < 5:
        asked.append(f"q{number}")
        few = [some_query(f"q{number}", rng), some_query(name, rng)]
        return {"do": "register", "queries": [one.as_dict() for one in few]}
    if kind < 7:
        return {"do": "alter", "query": some_query(name, rng).as_dict()}
    if kind < 10:
        return {"do": str(rng.choice(["pause", "resume", "drop"])), "names": [name]}
    if kind == 10:
        window = sg.Range(f"{rng.integers(1, 9)} s")
        return {"do": "window", "name": "named", "window": window.as_dict()}
    return stream(f"s{rng.integers(3)}")


def same(found: Assignment, afresh: Assignment) -> None:
    assert list(found.plans) == list(afresh.plans)
    for name, plan in found.plans.items():
        other = afresh.plans[name]
        assert list(plan.operators.items()) == list(other.operators.items())
        assert (plan.stream, plan.derived) == (other.stream, other.derived)
        assert set(plan.numbers()) == set(other.numbers())
        assert set(plan.words()) == set(other.words())
        assert set(plan.fixed) == set(other.fixed)
    assert list(found.paged.items()) == list(afresh.paged.items())
    assert found.places == afresh.places


@pytest.mark.parametrize("seed", range(6))
def test_changes_lead_where_a_registry_read_anew_does(seed: int) -> None:
    rng, asked = np.random.default_rng(seed), ["q"]
    window = {"do": "window", "name": "named", "window": sg.Range("2 s").as_dict()}
    registry = Registry()
    registry.apply([stream("s0"), stream("s1"), window], epoch=1)
    found = Assignment.of(registry)
    for epoch in range(2, 60):
        records = [some_record(10 * epoch + n, asked, rng) for n in range(rng.integers(1, 4))]
        registry.apply(records, epoch=epoch)
        assert found.change(registry, records) is not None
        same(found, Assignment.of(registry))
    assert len(registry.queries) > 10


def test_what_a_change_names_is_what_it_touches() -> None:
    registry = Registry()
    asked = [Query(f"q{n}", "s0", sg.avg("x"), window=sg.Range(f"{n + 1} s")) for n in range(9)]
    listed = [Query(f"l{n}", "s0", sg.avg("x"), series=("a", f"k{n}")) for n in range(9)]
    registry.apply([stream("s0"), stream("s1")], epoch=1)
    first = {"do": "register", "queries": [one.as_dict() for one in (*asked, *listed)]}
    registry.apply([first], epoch=2)
    found = Assignment.of(registry)
    before = found.plans["s1"], dict(found.plans["s0"].operators)
    paused = [{"do": "pause", "names": ["q3"]}, {"do": "drop", "names": ["q4"]}]
    registry.apply(paused, epoch=3)
    changes = found.change(registry, paused)
    assert changes is not None
    ((key, change),) = changes.fed["s0"].items()
    assert [one.name for one in change.added] == ["q3"]
    assert [one.name for one in change.dropped] == ["q3", "q4"]
    assert [one.status for one in (*change.dropped, *change.added)] == 2 * ["running"] + ["paused"]
    assert found.plans["s1"] is before[0]
    others = [other for other in before[1] if other != key]
    assert others
    assert all(found.plans["s0"].operators[other] is before[1][other] for other in others)


def test_who_changes_a_function_has_all_planned_again() -> None:
    registry = Registry()
    registry.apply([stream("s0")], epoch=1)
    found = Assignment.of(registry)
    assert found.change(registry, [{"do": "drop function", "name": "f"}]) is None


def test_queries_with_a_budget_are_told_of_each_other(tmp_path: Path) -> None:
    """They share the capacity of their streams, so each may do less once another has come."""
    (tmp_path / "rows").mkdir()
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.sql(
        f"CREATE STREAM s (ts TIME, k INT, x FLOAT) FROM FILES '{tmp_path / 'rows'}' TIME ts;"
        "CREATE SUMMARY s_k ON s(k) WITH GRANULARITY 1 SECOND AND COLLAPSE(2, 4);"
        "CREATE QUERY plain AS SELECT DISTINCT k FROM s [RANGE 2 SECONDS];"
        "CREATE QUERY first AS SELECT * FROM s [RANGE 5 SECONDS] WHERE k > 1 "
        "WITH PREFERENCE ASC COUNT(k) BUDGET PROBES 1;"
    )
    gauge.step()
    registry, journal = Registry(), Journal(gauge.home)
    registry.apply(journal.page(1).changes, epoch=1)
    found = Assignment.of(registry)
    gauge.sql(
        "CREATE QUERY second AS SELECT * FROM s [RANGE 4 SECONDS] WHERE k > 2 "
        "WITH PREFERENCE ASC COUNT(k) BUDGET PROBES 1"
    )
    gauge.step()
    records = journal.page(2).changes
    registry.apply(records, epoch=2)
    changes = found.change(registry, records)
    assert changes is not None
    names = {name: found.places[name].operator for name in ("plain", "first", "second")}
    assert changes.paged == {names["first"], names["second"]}
