"""Groups of few values take few bytes, and a query that needs too many is an error with numbers."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import streamgauge as sg
from streamgauge.cli.project import load_project
from streamgauge.cli.run import _connected, run
from streamgauge.cli.serve import serve
from streamgauge.engine import shard
from streamgauge.engine.lander import Lander
from streamgauge.engine.spark.source import home_of
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.memory import machine_memory

MINUTE = 60_000_000
MEGABYTE = 1_000_000
DECLARED = "CREATE STREAM s (ts TIME, k INT, x INT) FROM FILES '{}' TIME ts KEY k"
ASKED = (
    "CREATE QUERY q AS SELECT k, APPROX_COUNT_DISTINCT(x) FROM s {} GROUP BY k {} EVERY 1 MINUTE"
)
LANDMARK, SLIDING = "[RANGE UNBOUNDED]", "[RANGE 1 MINUTE]"

pytestmark = pytest.mark.slow


def written(rows: Path, name: str, k: np.ndarray, x: np.ndarray, since: int = 0) -> None:
    """Rows of a minute, in order, and one row at its end that closes it."""
    ts = since * MINUTE + np.arange(1, len(k) + 1) * (MINUTE - 1) // len(k)
    ts, k, x = np.append(ts, (since + 1) * MINUTE + 1), np.append(k, 0), np.append(x, 0)
    rows.mkdir(exist_ok=True)
    pq.write_table(pa.table({"ts": pa.array(ts, pa.timestamp("us", "UTC")), "k": k, "x": x}),
                   rows / f"{name}.parquet")  # fmt: skip


def gauge_of(place: Path, memory: str | None, window: str, contract: str) -> sg.Gauge:
    gauge = sg.connect(place / "home", engine="local", memory=memory, max_rows=10**7)
    (place / "rows").mkdir(exist_ok=True)
    gauge.sql(DECLARED.format(place / "rows"))
    gauge.sql(ASKED.format(window, contract))
    return gauge


def files_of(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("window", [SLIDING, LANDMARK])
def test_twenty_thousand_groups_of_a_handful_take_little(tmp_path: Path, window: str) -> None:
    """Their full sketches, of 256 KiB each, would take five gigabytes."""
    rng, n = np.random.default_rng(5), 20_000
    k, x = rng.integers(0, n, 10 * n), rng.integers(0, 5, 10 * n)
    gauge = gauge_of(tmp_path, "64m", window, "WITHIN 1%")
    assert "262,144 bytes a group and pane" in gauge.explain("q")
    written(tmp_path / "rows", "a", k, x)
    tracemalloc.start()
    while gauge.step():
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * MEGABYTE
    pairs = np.unique(np.stack((k, x), axis=1), axis=0)
    groups, counts = np.unique(pairs[:, 0], return_counts=True)
    found = gauge.answers().to_pylist()
    told = {row["group"]: row["value"] for row in found if row["as_of"].timestamp() == 60}
    assert len(told) == len(groups)
    assert all(told[f"[{g}]"] == c for g, c in zip(groups.tolist(), counts.tolist(), strict=True))


def test_a_query_that_needs_too_much_is_an_error_and_leaves_the_state(tmp_path: Path) -> None:
    """Three hundred groups of seven thousand values each need all their registers."""
    n, each = 300, 7_000
    gauge = gauge_of(tmp_path, "64m", LANDMARK, "WITHIN 1%")
    written(tmp_path / "rows", "a", np.arange(n), np.arange(n))
    assert gauge.step()
    state = files_of(tmp_path / "home" / "state")
    assert state
    k = np.tile(np.arange(n), each)
    written(tmp_path / "rows", "b", k, np.arange(len(k)), since=2)
    details = []
    home = gauge.home
    Lander(home, max_rows=10**7).land()
    for _ in range(3):
        (failed,) = shard.run(home, 0, home.committed(), home.committed() + 1).failed
        assert failed["code"] == "MemoryExceeded"
        assert "query 'q' needs more memory" in failed["why"]
        assert "of 67,108,864 bytes are held" in failed["why"]
        assert "--memory" in failed["why"]
        details.append(failed["why"])
        assert files_of(tmp_path / "home" / "state") == state
    # A run begins with nothing held, whatever the one before has held.
    assert details[1] == details[2]
    assert gauge.step()
    assert details[2] in gauge.note("q")
    shard.forget(gauge.home)
    with_more = sg.connect(tmp_path / "home", engine="local", memory="512m", max_rows=10**7)
    with_more.resume("q")
    while with_more.step():
        pass
    last = with_more.answers().to_pylist()[-1]
    assert last["low"] <= each + 1 <= last["high"]
    assert last["high"] / last["low"] < 1.03


def test_what_is_held_does_not_grow_with_pages_or_reloads(tmp_path: Path) -> None:
    gauge = gauge_of(tmp_path, None, SLIDING, "WITHIN 2%")
    held = []
    for page in range(10):
        rng = np.random.default_rng(page)
        written(tmp_path / "rows", f"{page}", rng.integers(0, 200, 4000),
                rng.integers(0, 10**6, 4000), since=page)  # fmt: skip
        if page == 4:
            shard.forget(gauge.home)
        assert gauge.step()
        held.append(shard._LEDGERS[gauge.home.path, 0].held)
    assert max(held[5:]) < 1.1 * min(held[5:])


def test_arrays_of_numbers_are_asked_for_too(tmp_path: Path) -> None:
    """Rings of the newest rows: three numbers, a time and a group for each."""
    gauge = sg.connect(tmp_path / "home", engine="local", memory="8m")
    (tmp_path / "rows").mkdir()
    gauge.sql(DECLARED.format(tmp_path / "rows"))
    gauge.sql("CREATE QUERY r AS SELECT k, AVG(x) FROM s [PARTITION BY k ROWS 1000] GROUP BY k")
    written(tmp_path / "rows", "a", np.arange(1000), np.arange(1000))
    assert gauge.step()
    assert "query 'r' needs more memory" in gauge.note("r")


def test_the_budget_is_divided_over_the_shards_of_a_machine(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local", shards=4, memory="1 GiB")
    assert gauge.home.allowance == 256 << 20
    assert sg.connect(tmp_path / "home", engine="local").home.allowance == machine_memory() // 8
    options = {"home": str(tmp_path / "home"), "shards": "4", "memory": str(1 << 30)}
    options["allowed"] = gauge.home.allowed.as_text()
    assert home_of(options).allowance == 256 << 20
    assert home_of({**options, "spread": "yes"}).allowance >= 256 << 20


def test_a_project_file_and_the_command_line_say_the_budget(tmp_path: Path) -> None:
    (tmp_path / "streamgauge.toml").write_text('[gauge]\nmemory = "8g"\n')
    project = load_project(tmp_path)
    assert _connected(project, tmp_path / "home", "local", None).home.memory == 8 << 30
    said = project.said(memory="512m")
    assert _connected(said, tmp_path / "home", "local", None).home.memory == 512 << 20
    found = CliRunner().invoke(run, [str(tmp_path), "--engine", "local", "--once", "--memory", "x"])
    assert isinstance(found.exception, BindError)
    found = CliRunner().invoke(serve, ["--engine", "local", "--memory", "x"])
    assert isinstance(found.exception, BindError)
