"""A change of who asks costs what it changes, and leaves operators as if all were compiled anew."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_equal

import streamgauge as sg
from streamgauge.checks.work import canonical, same_answers
from streamgauge.engine import shard
from streamgauge.engine.seated import Seated

pytestmark = pytest.mark.slow
DECLARED = (
    "CREATE STREAM s (ts TIME, k STRING, g STRING, x FLOAT, n INT) FROM FILES '{rows}' "
    "TIME ts KEY k KEEP 1 DAY FUTURE ANY"
)
ROUGHLY = sg.Contract.absolute(1.0, confidence=0.9)


def rows_of(first: int, n: int = 40) -> pa.Table:
    rng = np.random.default_rng(first)
    ticks = np.sort(rng.integers(first, first + 20, n))
    return pa.table(
        {
            "ts": pa.array(ticks * 1_000_000, pa.timestamp("us", "UTC")),
            "k": [f"k{i}" for i in rng.integers(0, 8 + first // 20, n)],
            "g": [f"g{i}" for i in rng.integers(0, 4, n)],
            "x": rng.normal(0.0, 2.0, n),
            "n": rng.integers(0, 5, n),
        }
    )


def of_kind(kind: str, name: str, number: int) -> sg.Query:
    """The number makes queries of a kind unlike each other."""
    few = tuple(f"k{i}" for i in sorted({number % 9, number % 5, 7}))
    asked: dict[str, Any] = {
        "latest": {"series": few},
        "weighted": {"series": few, "weights": (1.0, 2.0, 0.5)[: len(few)]},
        "whole": {"window": sg.Latest()},
        "panes": {"window": sg.Range(f"{1 + number % 7} s"), "answer": sg.every("1 s")},
        "groups": {"window": sg.Range(f"{2 + number % 3} s"), "group_by": "g"},
        "rows": {"window": sg.Rows(5), "history": number % 2 == 0},
        "fading": {"window": sg.Decay("5 s"), "answer": sg.every(f"{1 + number % 3} s")},
        "deferred": {"series": few, "contract": ROUGHLY},
        "family": {"contract": ROUGHLY, "group_by": "g"},
        "timer": {"series": few, "contract": ROUGHLY, "regime": "timer", "trend": number % 2 == 0},
        "median": {"window": sg.Range(f"{2 + number % 4} s")},
    }[kind]
    select = sg.quantile("x", 0.5) if kind == "median" else sg.avg("x")
    return sg.Query(name, "s", select, **asked)


KINDS = (
    "latest", "weighted", "whole", "panes", "groups", "rows", "fading", "deferred", "family",
    "timer", "median",
)  # fmt: skip


def change(gauge: sg.Gauge, step: int) -> None:
    """Queries of all kinds come, are altered, rest, go on and leave."""
    rng = np.random.default_rng(step)
    names = [f"{kind}.{at}" for at in range(step) for kind in KINDS]
    gauge.register(*(of_kind(kind, f"{kind}.{step}", step) for kind in KINDS))
    there = [name for name in names if name in gauge.registry().queries]
    rng.shuffle(there)
    for number, name in enumerate(there[: 2 * len(KINDS)]):
        if number % 4 == 0:
            gauge.alter(of_kind(name.partition(".")[0], name, step + number))
        elif number % 4 == 1:
            gauge.pause(name)
        elif number % 4 == 2:
            gauge.resume(name)
        else:
            gauge.drop(name)
    gauge.sql(f"ALTER WINDOW named AS [RANGE {1 + step % 4} SECONDS]")


def begun(root: Path, shards: int) -> sg.Gauge:
    (root / "rows").mkdir(parents=True)
    gauge = sg.connect(root / "home", engine="local", shards=shards)
    gauge.sql(DECLARED.format(rows=root / "rows"))
    gauge.sql("CREATE WINDOW named AS [RANGE 3 SECONDS]")
    gauge.register(sg.Query("named", "s", sg.total("x"), window="named"))
    return gauge


def stepped(gauge: sg.Gauge, step: int) -> None:
    pq.write_table(rows_of(20 * step), gauge.home.root.parent / "rows" / f"{step:03d}.parquet")
    gauge.step()


def lived(root: Path, *, shards: int, reload: bool) -> pa.Table:
    """The answers of many changes, each taken in by a shard in memory or by one that is read."""
    gauge = begun(root, shards)
    for step in range(6):
        change(gauge, step)
        if reload:
            shard.forget(gauge.home)
        stepped(gauge, step)
    shard.forget(gauge.home)
    return canonical(gauge.answers())


def test_answers_are_those_of_operators_that_are_compiled_anew(tmp_path: Path) -> None:
    kept = lived(tmp_path / "kept", shards=2, reload=False)
    same_answers(kept, lived(tmp_path / "read", shards=2, reload=True))
    assert len(kept) > 1_000


def test_operators_hold_what_they_would_if_they_were_seated_anew(tmp_path: Path) -> None:
    gauge, kinds = begun(tmp_path, 1), set()
    for step in range(7):
        change(gauge, step)
        stepped(gauge, step)
        run = shard._RUNNING[gauge.home.path, 0].runs["s"]
        for name in run.parts:
            for key, queries in run.mine(name):
                piece = run.state.inputs[name].pieces[key.text()]
                if isinstance(piece, Seated):
                    kinds.add(type(piece))
                    afresh = copy.deepcopy(piece)
                    afresh.seat(run.bench(name), run.registry, queries)
                    assert piece.seats.active == afresh.seats.active
                    assert piece.seats.memory.who == afresh.seats.memory.who
                    assert_equal(piece.seats.rows, afresh.seats.rows)
                    assert_equal(piece.seats.memory.cells, afresh.seats.memory.cells)
                    assert_equal(piece.compiled, afresh.compiled)
    assert len(kinds) == 5
    shard.forget(gauge.home)


def calls(gauge: sg.Gauge, monkeypatch: pytest.MonkeyPatch) -> int:
    """Python functions called to take in the changes of a step."""
    change, count = shard._change, 0

    def called(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    def counted(*args: Any) -> None:
        sys.setprofile(called)
        try:
            change(*args)
        finally:
            sys.setprofile(None)

    with monkeypatch.context() as patched:
        patched.setattr(shard, "_change", counted)
        gauge.step()
    return count


@pytest.mark.parametrize("kind", ["latest", "panes", "deferred"])
def test_a_query_more_takes_as_many_calls_beside_few_as_beside_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    found = []
    for many in (100, 2_000):
        gauge = begun(tmp_path / str(many), 1)
        gauge.register(*(of_kind(kind, f"q{n}", n) for n in range(many)))
        stepped(gauge, 0)
        stepped(gauge, 1)
        gauge.register(of_kind(kind, "before", 1))
        stepped(gauge, 2)
        gauge.register(of_kind(kind, "one", 2))
        found.append(calls(gauge, monkeypatch))
        shard.forget(gauge.home)
    few, lots = found
    # Searches among queries in order look at some more of them.
    assert 0 < lots < few + 100


def test_births_are_known_as_if_all_were_compiled_anew(tmp_path: Path) -> None:
    found: list[list[dict[int, int]]] = [[], []]
    for reload in (False, True):
        gauge = begun(tmp_path / str(reload), 1)
        (tmp_path / "none").mkdir(exist_ok=True)
        gauge.sql(DECLARED.format(rows=tmp_path / "none").replace("STREAM s", "STREAM other"))
        for step in range(6):
            change(gauge, step)
            if reload:
                shard.forget(gauge.home)
            stepped(gauge, step)
            runs = shard._RUNNING[gauge.home.path, 0].runs
            found[reload] += [dict(sorted(run.state.births.items())) for run in runs.values()]
        shard.forget(gauge.home)
    assert found[False] == found[True]
    assert len(found[False][-2]) > 2
