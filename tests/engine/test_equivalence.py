"""The shards against the reference, on random workloads, page splits, shard counts and restarts."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import DAY
from streamgauge.streams.stream import Late, Stream
from tests.kit.replay import replay, same_answer, sort_key
from tests.kit.strategies import SCHEMA, Workload, resplit, workloads
from tests.oracles.reference import evaluate
from tests.profile import examples

pytestmark = pytest.mark.slow


def compare(found: list[Answer], expected: list[Answer]) -> None:
    """Fail with the first answers that differ."""
    one, other = sorted(found, key=sort_key), sorted(expected, key=sort_key)
    for a, b in zip(one, other, strict=False):
        assert same_answer(a, b), f"found    {a!r}\nexpected {b!r}"
    longer = one[len(other) :] or other[len(one) :]
    assert len(one) == len(other), f"found {len(one)}, expected {len(other)}: {longer[0]!r}"


def run(workload: Workload, *, shards: int = 1, forget: bool = False) -> list[Answer]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        return replay(path, workload.stream, workload.pages, shards=shards, forget=forget)


@pytest.mark.budget(60, "twenty histories, each evaluated row by row in plain Python as well")
@settings(max_examples=examples(20))
@given(workload=workloads())
def test_shards_agree_with_the_reference(workload: Workload) -> None:
    compare(run(workload), evaluate(workload.pages))


REVISING = Stream(
    "plant", SCHEMA, "ts", ("series",), (), late=Late.revise(20), keep=365 * DAY, future=None
)


@settings(max_examples=examples(10))
@given(workload=workloads(declared=st.just(REVISING), lulls=False))
def test_revisions_agree_with_the_reference(workload: Workload) -> None:
    compare(run(workload), evaluate(workload.pages))


@settings(max_examples=examples(8))
@given(workload=workloads(), data=st.data())
def test_answers_do_not_depend_on_pages(workload: Workload, data: st.DataObject) -> None:
    """Byte for byte, but for the number of the epoch."""
    other = resplit(data.draw, workload)
    one = [replace(answer, epoch=0) for answer in run(workload)]
    two = [replace(answer, epoch=0) for answer in run(other)]
    assert sorted(map(repr, one)) == sorted(map(repr, two))


@settings(max_examples=examples(8))
@given(workload=workloads(), shards=st.integers(2, 4))
def test_answers_do_not_depend_on_shards_or_restarts(workload: Workload, shards: int) -> None:
    """Byte for byte, with all state read from disk before every epoch."""
    one = run(workload)
    two = run(workload, shards=shards, forget=True)
    assert sorted(map(repr, one)) == sorted(map(repr, two))
