"""Queries over bounds against their reference: page splits, shards, restarts, late rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.answer import Answer
from streamgauge.engine import shard
from streamgauge.engine.latest import latest_answers
from streamgauge.log.commits import answer_files
from streamgauge.log.home import Home
from streamgauge.results.change_log import answers, as_answers
from tests.engine.bounded_lives import bounded_lives
from tests.kit.deferrals import DeferredLife
from tests.kit.replay import replay, run_pages, same_answer, sort_key, write_pages
from tests.kit.strategies import Workload, resplit
from tests.oracles.reference import evaluate
from tests.profile import examples

pytestmark = pytest.mark.slow


def compare(found: Iterable[Answer], expected: Iterable[Answer]) -> None:
    """Fail with the first answers that differ."""
    one, other = sorted(found, key=sort_key), sorted(expected, key=sort_key)
    for a, b in zip(one, other, strict=False):
        assert same_answer(a, b), f"found    {a!r}\nexpected {b!r}"
    longer = one[len(other) :] or other[len(one) :]
    assert len(one) == len(other), f"found {len(one)}, expected {len(other)}: {longer[0]!r}"


def texts(
    root: Path,
    workload: Workload,
    *,
    shards: int = 1,
    forget: bool = False,
    others: Sequence[int] = (),
) -> list[str]:
    """All answers as they are written, but for the epoch."""
    home, pages = Path(tempfile.mkdtemp(dir=root)), workload.pages
    found = replay(home, workload.stream, pages, shards=shards, forget=forget, others=others)
    return sorted(repr(replace(answer, epoch=0)) for answer in found)


@settings(max_examples=examples(20))
@given(life=bounded_lives())
def test_bounds_agree_with_the_reference(life: DeferredLife) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workload = life.placed(Path(directory))
        found = replay(Path(directory) / "home", life.stream, workload.pages)
        compare(found, evaluate(workload.pages))


@settings(max_examples=examples(8))
@given(life=bounded_lives(), data=st.data())
def test_answers_do_not_depend_on_pages(life: DeferredLife, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workload = life.placed(Path(directory))
        other = resplit(data.draw, workload)
        assert texts(Path(directory), workload) == texts(Path(directory), other)


@settings(max_examples=examples(8))
@given(life=bounded_lives(), shards=st.integers(1, 3))
def test_answers_do_not_depend_on_shards_or_restarts(life: DeferredLife, shards: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workload = life.placed(Path(directory))
        one = texts(Path(directory), workload)
        assert texts(Path(directory), workload, shards=shards, forget=True) == one


@settings(max_examples=examples(8))
@given(life=bounded_lives(), others=st.lists(st.integers(1, 4), min_size=2, max_size=3))
def test_answers_do_not_depend_on_rescales(life: DeferredLife, others: list[int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workload = life.placed(Path(directory))
        one = texts(Path(directory), workload)
        assert texts(Path(directory), workload, others=others) == one


@settings(max_examples=8)
@given(life=bounded_lives(), shards=st.integers(1, 2))
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


@settings(max_examples=8)
@given(life=bounded_lives(), data=st.data())
def test_a_replayed_page_writes_the_same_bytes(life: DeferredLife, data: st.DataObject) -> None:
    """From memory or from disk, whatever was compiled before."""
    with tempfile.TemporaryDirectory() as directory:
        workload = resplit(data.draw, life.placed(Path(directory)))
        written = []
        for name, forget in (("one", False), ("two", True)):
            home = Home.open(Path(directory) / name, shards=1)
            write_pages(home, (life.stream,), workload.pages)
            run_pages(home, forget=forget)
            shard.forget(home)
            epochs = range(1, home.committed() + 1)
            written.append([p.read_bytes() for n in epochs for p in answer_files(home, n)])
        assert written[0] == written[1]
