"""The workload `filters`: its values, policies side by side, and the report."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from bench import filters
from bench.filters_data import (
    PACKETS,
    average,
    drifting,
    measured,
    overlapping,
    packet_queries,
    packet_rates,
    resampled,
    walks,
)
from bench.filters_runs import compared
from streamgauge.kernel.errors import SourceFailure

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def written(path: Path, rows: list[tuple[str, int, float | None]]) -> Path:
    names, seconds, values = zip(*rows, strict=True)
    table = pa.table(
        {
            "object": list(names),
            "ts": pa.array([s * SECOND for s in seconds], pa.timestamp("us")),
            "value": pa.array(list(values), pa.float64()),
        }
    )
    pq.write_table(table, path)
    return path


def test_walks_keep_their_steps_or_change_places() -> None:
    blocks, steps = walks(5, 300, 1)
    assert [block.shape for block in blocks] == [(300, 5)]
    moved, sizes = walks(5, 300, 1, 100)
    assert len(moved) == len(sizes) == 3
    assert all(sorted(own) == sorted(steps[0]) for own in sizes)
    assert np.abs(moved[1][0] - moved[0][-1]).max() < 10 * max(steps[0])


def test_queries_over_halves() -> None:
    constraints = overlapping(20, 8.0)
    assert constraints.n_queries == 5
    assert np.diff(constraints.starts).tolist() == [10] * 5
    assert constraints.budgets.tolist() == [4.0, 6.0, 8.0, 12.0, 16.0]


def test_values_are_held_until_the_next_and_read_every_second(tmp_path: Path) -> None:
    rows = [("a", 0, 1.0), ("b", 1, 5.0), ("a", 3, 2.0), ("b", 4, None), ("b", 5, 6.0)]
    found = resampled([written(tmp_path / "x.parquet", rows)], 100)
    # From the first instant at which nearly all have a value.
    assert found.tolist() == [[1.0, 5.0], [1.0, 5.0], [2.0, 5.0], [2.0, 5.0], [2.0, 6.0]]


def test_what_is_no_trace_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure, match="no parquet files"):
        list(measured(tmp_path, 10))
    pq.write_table(pa.table({"object": ["a"], "ts": [0]}), tmp_path / "bad.parquet")
    with pytest.raises(SourceFailure, match="no column 'value'"):
        list(measured(tmp_path, 10))
    with pytest.raises(SourceFailure, match="no directory"):
        filters.run(quick=True, data=tmp_path / "none", console=Console(file=io.StringIO()))


@pytest.mark.skipif(not PACKETS.is_file(), reason="no captures beside the source tree")
def test_packet_rates_are_moving_averages_of_whole_packets() -> None:
    rates = packet_rates(3, 400)
    assert rates.shape == (400, 3, 31)
    assert rates.any()
    packets = rates * 60
    assert packets == pytest.approx(np.round(packets), abs=1e-6)
    # Logins from outside are incoming and with the outside.
    lonely = [group for group in range(31) if (group + 1) & 1 and (group + 1) & 18 != 18]
    assert not rates[:, :, lonely].any()


def test_packet_queries_weigh_hosts_equally() -> None:
    constraints = packet_queries(4, 2.0)
    assert constraints.n_objects == 124
    assert np.diff(constraints.starts).tolist() == [64] * 5
    assert constraints.budgets.tolist() == [0.02, 2.0, 0.02, 0.02, 2.0]
    assert set(constraints.weights.tolist()) == {0.25}


def test_policies_side_by_side_are_all_right() -> None:
    blocks, steps = walks(10, 1500, 2, 500)
    cell = compared(
        "walks", blocks, average(10, 10.0), 10.0, 300, steps=steps, still=True, baselines=True
    )
    assert set(cell.counts) == {"uniform", "optimum", "ours", "still", "printed", "shared out"}
    assert cell.wrong == 0
    assert all(count.ticks == 1200 for count in cell.counts.values())
    assert cell.as_dict()["queries"] == 1


def test_drifting_data_drift() -> None:
    for trace in drifting(6, 600, 1):
        moves = np.diff(trace.values, axis=0)
        assert trace.values.shape == (600, 6)
        assert np.abs(np.median(moves, axis=0)).min() > 0.0


def test_a_run_on_traces_of_ones_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    paths = np.cumsum(rng.normal(size=(400, 6)), axis=0)
    rows = [(f"o{one}", at, float(paths[at, one])) for at in range(400) for one in range(6)]
    written(tmp_path / "t.parquet", rows)
    console = Console(file=io.StringIO(), width=120)
    report = filters.run(quick=True, data=tmp_path, console=console)
    report.show(console)
    assert report.right
    assert "0 answers or bounds that did not hold" in report.checked
    report.write(tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["workload"] == "filters"
    assert len(found["cells"]) == len(filters.SPREADS)
    assert found["figures"]["traces_fewer_than_uniform"]["value"] > 0.0


def test_small_sections_reach_their_tables_and_bars() -> None:
    extent = replace(
        filters.QUICK, objects=(8,), deltas=(5.0,), ticks=2000, warm_up=500, shift=1000,
        drift_ticks=800, queries=60,
    )  # fmt: skip
    report = filters.SectionsAlone("filters", True, "made up")
    cells = filters._walks(report, extent, extent.shift)
    filters._adjustment(report, extent)
    assert all(cell.wrong == 0 for cell in cells)
    assert set(report.bars) == {"shifting_to_optimum", "adjustment_share_of_core"}
    assert report.bars["adjustment_share_of_core"].value is not None
    assert len(report.tables) == 1
