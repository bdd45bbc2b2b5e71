"""Deferred queries against their reference, on random walks, page splits, shards and restarts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.answer import Answer
from streamgauge.engine import shard
from streamgauge.engine.latest import latest_answers
from streamgauge.kernel.time import DAY
from streamgauge.log.home import Home
from streamgauge.results.change_log import answers, as_answers
from streamgauge.streams.stream import Late, Stream
from tests.kit.deferrals import DeferredLife, deferred_lives
from tests.kit.replay import (
    replay,
    run_pages,
    same_answer,
    same_number,
    sort_key,
    write_pages,
)
from tests.kit.strategies import SCHEMA, Workload, resplit
from tests.oracles.reference import evaluate
from tests.profile import examples

pytestmark = pytest.mark.slow

PLAIN = Stream("plant", SCHEMA, "ts", ("series",), (), keep=365 * DAY, future=None)
REVISING = replace(PLAIN, late=Late.revise(20))


def compare(found: Iterable[Answer], expected: Iterable[Answer]) -> None:
    """Fail with the first answers that differ."""
    one, other = sorted(found, key=sort_key), sorted(expected, key=sort_key)
    for a, b in zip(one, other, strict=False):
        same = same_answer(a, b) and same_number(a.slope, b.slope)
        assert same, f"found    {a!r}\nexpected {b!r}"
    longer = one[len(other) :] or other[len(one) :]
    assert len(one) == len(other), f"found {len(one)}, expected {len(other)}: {longer[0]!r}"


def check(life: DeferredLife) -> None:
    """Compare a life with the reference."""
    with tempfile.TemporaryDirectory() as directory:
        workload = life.placed(Path(directory))
        found = replay(Path(directory) / "home", life.stream, workload.pages)
        compare(found, evaluate(workload.pages))


def texts(root: Path, workload: Workload, *, shards: int = 1, forget: bool = False) -> list[str]:
    """All answers as they are written, but for the epoch."""
    home = Path(tempfile.mkdtemp(dir=root))
    found = replay(home, workload.stream, workload.pages, shards=shards, forget=forget)
    return sorted(repr(replace(answer, epoch=0)) for answer in found)


@settings(max_examples=examples(30))
@given(life=deferred_lives(declared=st.just(PLAIN), changing=False))
def test_steady_queries_agree_with_the_reference(life: DeferredLife) -> None:
    check(life)


@settings(max_examples=examples(30))
@given(life=deferred_lives())
def test_all_that_happens_to_queries_agrees_with_the_reference(life: DeferredLife) -> None:
    check(life)


@settings(max_examples=examples(15))
@given(life=deferred_lives(declared=st.just(REVISING)))
def test_late_rows_that_are_folded_agree_with_the_reference(life: DeferredLife) -> None:
    check(life)


@settings(max_examples=examples(15))
@given(life=deferred_lives(regimes=("", "timer", "watch")))
def test_regimes_that_are_chosen_agree_with_the_reference(life: DeferredLife) -> None:
    check(life)


@settings(max_examples=examples(15))
@given(life=deferred_lives(regimes=("", "timer", "watch")), data=st.data())
def test_answers_do_not_depend_on_pages(life: DeferredLife, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workload = life.placed(Path(directory))
        other = resplit(data.draw, workload)
        assert texts(Path(directory), workload) == texts(Path(directory), other)


@settings(max_examples=examples(15))
@given(life=deferred_lives(regimes=("", "timer", "watch")), shards=st.sampled_from((2, 3, 16)))
def test_answers_do_not_depend_on_shards_or_restarts(life: DeferredLife, shards: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workload = life.placed(Path(directory))
        one = texts(Path(directory), workload)
        assert texts(Path(directory), workload, shards=shards, forget=True) == one


@settings(max_examples=examples(15))
@given(life=deferred_lives(regimes=("", "timer", "watch")), shards=st.integers(1, 2))
def test_the_newest_answers_are_the_last_of_the_log(life: DeferredLife, shards: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workload = life.placed(Path(directory))
        home = Home.open(Path(directory) / "home", shards=shards)
        write_pages(home, (life.stream,), workload.pages)
        run_pages(home)
        shard.forget(home)
        last = {}
        for answer in as_answers(answers(home)):
            last[answer.query, answer.version, answer.group] = answer
        for answer in latest_answers(home):
            given_last = last[answer.query, answer.version, answer.group]
            assert same_answer(answer, given_last), f"{answer!r}\n{given_last!r}"
            assert same_number(answer.slope, given_last.slope)


@settings(max_examples=20)
@given(life=deferred_lives(regimes=("", "timer", "watch")), data=st.data())
def test_a_worker_that_meets_its_shard_again_goes_on_as_any(
    life: DeferredLife, data: st.DataObject
) -> None:
    """Copies in memory that are behind or ahead of the state on disk change nothing."""
    with tempfile.TemporaryDirectory() as directory:
        workload = resplit(data.draw, life.placed(Path(directory)))
        home = Home.open(Path(directory) / "home", shards=1)
        write_pages(home, (life.stream,), workload.pages)
        n_pages = len(workload.pages)
        run_pages(home, data.draw(st.integers(1, n_pages)))
        behind = shard._RUNNING.pop((home.path, 0))
        run_pages(home, data.draw(st.integers(home.committed(), n_pages)))
        if data.draw(st.booleans()) and home.committed() < n_pages:
            shard.run(home, 0, home.committed(), home.committed() + 1)
        else:
            shard._RUNNING[home.path, 0] = behind
        run_pages(home)
        shard.forget(home)
        found = [repr(replace(answer, epoch=0)) for answer in as_answers(answers(home))]
        assert sorted(found) == texts(Path(directory), workload, forget=True)
