"""The workload of a real home on the local engine, and probes on the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.capacity.assemble import work_seen
from streamgauge.capacity.observed import observed
from streamgauge.capacity.probe import Seen, Trial, probe
from streamgauge.capacity.rows import STREAM, Made, declare
from streamgauge.capacity.workload import Asked, Workload
from streamgauge.kernel.errors import BindError, SourceFailure

pytestmark = pytest.mark.slow

ASKED = (
    Asked("latest", 30, members=4),
    Asked("deferred", 200, members=3),
    Asked("window", 6, groups=5, window=8.0, slide=2.0, pieces=2),
    Asked("selection", 3),
)
LOAD = Workload(40.0, 40, ASKED)


def running(directory: Path, load: Workload, pages: int, shards: int = 2) -> sg.Gauge:
    made = Made(load, directory / "rows")
    gauge = sg.connect(directory / "home", engine="local", shards=shards)
    declare(gauge, load, made)
    for _ in range(pages):
        made.page(4)
        assert gauge.step()
    return gauge


def test_the_workload_of_a_home_is_what_was_declared(tmp_path: Path) -> None:
    found = observed(running(tmp_path, LOAD, 4).home)
    assert found.series == 40
    kinds = {one.kind: one for one in found.asked}
    assert {kind: one.queries for kind, one in kinds.items()} == {
        "latest": 30, "deferred": 200, "window": 6, "selection": 3,
    }  # fmt: skip
    assert kinds["latest"].members == 4
    window = kinds["window"]
    assert (window.groups, window.pieces, window.window, window.slide) == (5, 2, 8.0, 2.0)
    # As many rows for each tick as were made, however fast the pages were turned.
    assert found.rows * found.tick == pytest.approx(40.0, rel=1e-6)
    assert found.answers > 0.0
    assert found.source == "files"


def test_advice_for_a_home_is_given(tmp_path: Path) -> None:
    home = running(tmp_path, LOAD, 4).home
    advice = sg.plan_capacity(home=home.path, rows=1_000.0, fresh="1 minute")
    assert advice.load.rows == pytest.approx(1_000.0)
    assert advice.shards >= 1


def test_a_home_that_has_not_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="no epoch yet"):
        observed(running(tmp_path, LOAD, 0).home)


def test_a_home_of_one_epoch_has_no_rates(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="too few epochs"):
        observed(running(tmp_path, LOAD, 1).home)


def test_a_home_without_queries_is_refused(tmp_path: Path) -> None:
    gauge = running(tmp_path, Workload(40.0, 40, (Asked("latest", 1),)), 3)
    gauge.drop("latest-0-000000")
    assert gauge.step()
    with pytest.raises(BindError, match="nothing is asked"):
        observed(gauge.home)


def test_no_home_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure, match="no gauge lives in"):
        sg.plan_capacity(home=tmp_path / "nothing")


@pytest.mark.parametrize("source", ["files", "lines"])
def test_a_probe_counts_rows_answers_and_bytes(source: str) -> None:
    load = Workload(50.0, 50, (Asked("latest", 20), Asked("selection", 10)), source=source)
    seen = probe(Trial("small", load, 2, ((2, 1), (4, 1), (6, 3)), warm=1))
    assert [epoch.rows for epoch in seen.epochs] == [200, 300]
    assert [epoch.segments for epoch in seen.epochs] == [1, 3]
    assert all(len(epoch.state) == len(epoch.shards) == 2 for epoch in seen.epochs)
    assert all(epoch.answers > 0 and epoch.answer_bytes > 0 for epoch in seen.epochs)
    assert all(step.cpu > 0.0 for epoch in seen.epochs for step in epoch.shards)
    assert Seen.from_dict(seen.as_dict()).as_dict() == seen.as_dict()
    assert work_seen(seen, seen.epochs[0], 1)["rows"] == 200.0


def test_made_rows_have_the_series_and_groups_they_should(tmp_path: Path) -> None:
    gauge = running(tmp_path, LOAD, 3)
    zones = gauge.sql(f"SELECT zone, COUNT(*) FROM {STREAM} [RANGE 2 SECONDS] GROUP BY zone "
                      "EVERY 2 SECONDS", name="zones")  # fmt: skip
    assert zones is not None
    assert len({row["group"] for row in gauge.answers("window-2-000000").to_pylist()}) == 5
