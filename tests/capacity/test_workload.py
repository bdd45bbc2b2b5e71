"""Workloads as values: what is refused, and what is counted."""

from __future__ import annotations

import pytest

from streamgauge.capacity.workload import KINDS, Asked, Workload
from streamgauge.kernel.errors import BindError

LOAD = Workload(2_000.0, 500, (Asked("latest", 10), Asked("window", 4, groups=3, slide=2.0)))


def test_answers_of_windows_follow_from_their_slides() -> None:
    assert Asked("window", 4, groups=3, slide=2.0).given(1.0, 1.0) == 6.0
    assert Asked("window", 4, groups=3, slide=2.0, answers=1.5).given(1.0, 1.0) == 1.5


def test_a_shorter_tick_gives_more_answers_over_latest_values() -> None:
    one = Asked("latest", 100)
    assert one.given(1.0, 0.1) == pytest.approx(10.0 * one.given(1.0, 1.0))


def test_columns_of_names_are_those_that_some_query_needs() -> None:
    assert LOAD.words == 2
    assert Workload(1.0, 1, (Asked("selection", 1),)).words == 0


def test_a_multiple_scales_answers_that_were_given() -> None:
    load = Workload(10.0, 5, (Asked("deferred", 100, answers=7.0),)).times(queries=3.0)
    assert (load.queries, load.answers) == (300, 21.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0.0},
        {"rows": float("nan")},
        {"rows": float("inf")},
        {"series": 0},
        {"tick": -1.0},
        {"source": "carrier pigeons"},
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    given = {"rows": 1.0, "series": 1, "asked": (Asked("latest", 1),), **wrong}
    with pytest.raises(BindError):
        Workload(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"queries": 0}, {"members": -1}, {"answers": -1.0}, {"slide": 0}]
)
def test_queries_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BindError):
        Asked(**{"kind": "latest", "queries": 1, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_survives_json(kind: str) -> None:
    load = Workload(3.0, 2, (Asked(kind, 5),), tick=0.5, source="kafka")
    assert Workload.from_dict(load.as_dict()) == load
