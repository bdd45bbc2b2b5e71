"""State is as large as its windows: groups, names and items go with their last row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.checks.work import Entry, Way, run_work, same_answers
from streamgauge.engine import leaving, shard
from streamgauge.engine import state as wire
from streamgauge.engine.kept import kept
from streamgauge.kernel.wire import pack
from streamgauge.windows import bank_panes

pytestmark = pytest.mark.slow

NEVER = 2**62
WINDOW = 10 * 10**6
DECLARED = (
    "CREATE STREAM s (ts TIME, g STRING, h STRING, u STRING, x FLOAT, y FLOAT) "
    "FROM FILES '{{rows}}' TIME ts KEY g KEEP 1 MINUTE FUTURE ANY {late}"
)
PANES = {
    "sums": "SELECT g, AVG(x) FROM s [RANGE 10 SECONDS] GROUP BY g EVERY 5 SECONDS",
    "moments": "SELECT g, h, VAR(x) FROM s [RANGE 10 SECONDS] GROUP BY g, h ON CLOSE",
    "pairs": "SELECT g, COVAR(x, y) FROM s [RANGE 10 SECONDS] GROUP BY g ON CHANGE OF 0.5",
    "filtered": "SELECT h, COUNT(*) FROM s [RANGE 10 SECONDS] WHERE u < 'u5' GROUP BY h",
}
SUMMARIES = {
    "hll": "SELECT COUNT(DISTINCT u) FROM s [RANGE 10 SECONDS] EVERY 5 SECONDS WITHIN 2%",
    "hlls": "SELECT g, COUNT(DISTINCT u) FROM s [RANGE 10 SECONDS] WHERE h <> 'h0' GROUP BY g "
    "EVERY 5 SECONDS WITHIN 10% CONFIDENCE 90%",
    "kept": "SELECT COUNT(DISTINCT u) FROM s [RANGE 10 SECONDS] EVERY 5 SECONDS",
    "distinct": "SELECT g, COUNT(DISTINCT u) FROM s [RANGE 10 SECONDS] GROUP BY g EVERY 5 SECONDS",
    "top": "SELECT h, TOP_K(u, 3) FROM s [RANGE 10 SECONDS] GROUP BY h EVERY 5 SECONDS "
    "WITHIN 5% RANK",
    "tops": "SELECT TOP_K(u, 2) FROM s [RANGE 10 SECONDS] EVERY 5 SECONDS",
    "often": "SELECT g, FREQUENCY(u, 'u3') FROM s [RANGE 10 SECONDS] GROUP BY g EVERY 5 SECONDS "
    "WITHIN 10% RANK CONFIDENCE 90%",
    "quantiles": "SELECT g, QUANTILE(x, 0.5) FROM s [RANGE 10 SECONDS] GROUP BY g "
    "EVERY 5 SECONDS WITHIN 5% RANK CONFIDENCE 90%",
    "logs": "SELECT g, QUANTILE(x, 0.5) FROM s [RANGE 10 SECONDS] GROUP BY g ON CHANGE WITHIN 5%",
}
RINGS = {
    "ring": "SELECT g, SUM(x) FROM s [ROWS 150] GROUP BY g EVERY 5 SECONDS",
    "rings": "SELECT g, SUM(x) FROM s [PARTITION BY h ROWS 20] GROUP BY g EVERY 5 SECONDS",
}
ALL = {**PANES, **SUMMARIES, **RINGS}


def arriving(window: int, groups: int, *, late: bool = True) -> pa.Table:
    """Rows of ten seconds: new groups, one in ten of five windows ago, and ever new texts."""
    rng = np.random.default_rng(window)
    n = 3 * groups
    ts = window * WINDOW + np.sort(rng.integers(1, WINDOW, n))
    if late:
        ts = ts - np.where(rng.random(n) < 0.05, rng.integers(0, 4 * 10**6, n), 0)
    group = rng.integers(0, groups, n) + groups * np.where(rng.random(n) < 0.1, window - 5, window)
    text = np.where(rng.random(n) < 0.5, rng.integers(0, 9, n), window * n + np.arange(n))
    return pa.table(
        {
            "ts": pa.array(np.maximum(ts, 1), pa.timestamp("us", "UTC")),
            "g": [f"g{number}" for number in group.tolist()],
            "h": [f"h{number}" for number in (group % 3 + window // 4 * 3).tolist()],
            "u": [f"u{number}" for number in text.tolist()],
            "x": rng.integers(1, 40, n) / 4.0,
            "y": rng.integers(1, 40, n) / 4.0,
        }
    )


def life(late: str, asked: dict[str, str], windows: int, groups: int) -> list[Entry]:
    """Queries, then rows in four tables; a silence in between, and a query that is dropped."""
    rows = [arriving(window, groups) for window in range(1, windows)]
    rows = [part for number, part in enumerate(rows) if number % 9 != 7]
    parts = [pa.concat_tables(rows[at::1][:3]) for at in range(0, len(rows), 3)]
    queries = [f"CREATE QUERY q_{name} AS {text}" for name, text in asked.items()]
    return [DECLARED.format(late=late), *queries, *parts]


@pytest.mark.parametrize(
    ("late", "asked"),
    [
        ("", PANES),
        ("LATE ALLOW 2 SECONDS", {**PANES, **RINGS}),
        ("LATE REVISE 5 SECONDS", PANES),
        ("", SUMMARIES),
        ("LATE ALLOW 2 SECONDS", SUMMARIES),
        ("LATE REVISE 5 SECONDS", SUMMARIES),
    ],
)
def test_no_answer_depends_on_what_has_left(
    tmp_path: Path, late: str, asked: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    history = life(late, asked, 16, 40)
    monkeypatch.setattr(leaving, "LEAST", NEVER)
    stayed = run_work(tmp_path / "stayed", history, Way())
    monkeypatch.setattr(leaving, "LEAST", 4)
    for number, way in enumerate((Way(), Way(4, 1, True), Way(3, 3, True), Way(2, 2, slices=3))):
        same_answers(run_work(tmp_path / str(number), history, way), stayed)
    assert len(stayed) > 500


@pytest.mark.parametrize("late", ["", "LATE REVISE 5 SECONDS"])
def test_no_answer_depends_on_what_has_left_where_panes_are_synopses(
    tmp_path: Path, late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in panes of many rows, which are folded as soon as they take more than synopses."""
    monkeypatch.setattr(bank_panes, "ROW_BYTES", NEVER)
    history = life(late, SUMMARIES, 16, 40)
    monkeypatch.setattr(leaving, "LEAST", NEVER)
    stayed = run_work(tmp_path / "stayed", history, Way())
    monkeypatch.setattr(leaving, "LEAST", 4)
    for number, way in enumerate((Way(), Way(3, 3, True))):
        same_answers(run_work(tmp_path / str(number), history, way), stayed)
    assert len(stayed) > 500


def state_bytes(gauge: sg.Gauge) -> int:
    """Bytes of state without the counts of rows by tick, which are bounded but for long grow."""
    home = gauge.home
    stored = wire.read_arrays(home, home.committed(), 0)
    counts = [array.nbytes for name, array in stored.arrays.items() if "/tally/" in name]
    return len(pack(stored)) - sum(counts)


def as_large_as(later: list[int], earlier: list[int]) -> None:
    """What is let go in bulk comes and goes; on average state must not grow."""
    assert np.mean(later) <= 1.05 * np.mean(earlier)
    assert max(later) <= 1.2 * max(earlier)


def sizes(root: Path, text: str, windows: int, groups: int) -> list[int]:
    """Bytes of state after each of many windows with groups and texts that never came before."""
    rows = root / "rows"
    rows.mkdir()
    gauge = sg.connect(root / "home", engine="local", shards=1)
    gauge.sql(DECLARED.format(late="LATE ALLOW 2 SECONDS").format(rows=rows))
    gauge.sql(f"CREATE QUERY q AS {text}")
    found = []
    for window in range(1, windows + 1):
        pq.write_table(arriving(window, groups), rows / f"{window:06d}.parquet")
        gauge.step()
        found.append(state_bytes(gauge))
    shard.forget(gauge.home)
    return found


@pytest.mark.parametrize("name", [name for name in ALL if name != "rings"])
def test_state_of_a_long_stream_is_as_large_as_that_of_a_short_one(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving, "LEAST", 8)
    found = sizes(tmp_path, ALL[name], 60, 60)
    as_large_as(found[36:], found[12:36])


def test_what_has_left_is_let_go_in_bulk(tmp_path: Path) -> None:
    """With what is let go together in a job: thousands of groups and names."""
    found = sizes(tmp_path, PANES["sums"], 40, 1_000)
    as_large_as(found[24:], found[8:24])


@pytest.mark.parametrize("name", ["sums", "hll", "distinct", "top", "quantiles", "ring"])
def test_explain_says_what_the_state_takes(tmp_path: Path, name: str) -> None:
    found = sizes(tmp_path, ALL[name], 12, 400)
    home = sg.connect(tmp_path / "home", engine="local").home
    told = sum(part.nbytes for part in kept(home, "q"))
    assert told == pytest.approx(found[-1], rel=0.1)


def test_state_is_read_back_right_after_groups_have_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads state and writes it again writes the same bytes."""
    monkeypatch.setattr(leaving, "LEAST", 4)
    history = life("", ALL, 8, 40)
    one = run_work(tmp_path / "kept", history, Way(3))
    other = run_work(tmp_path / "read", history, Way(3, reload=True))
    same_answers(one, other)
    homes = [sg.connect(tmp_path / name / "home", engine="local").home for name in ("kept", "read")]
    for number in range(homes[0].shards):
        stored = [pack(wire.read_arrays(home, home.committed(), number)) for home in homes]
        assert stored[0] == stored[1]
