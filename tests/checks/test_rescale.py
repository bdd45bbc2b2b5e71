"""A home that is rescaled in the middle of its history answers as one that never was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import streamgauge as sg
from streamgauge.checks.work import RESCALED, Entry, Way, check_work
from streamgauge.drift import pools
from tests.checks import test_tables as tables
from tests.checks import test_views as views
from tests.checks import test_work as deferred

pytestmark = pytest.mark.slow

DECLARED = (
    "CREATE STREAM s (ts TIME, k STRING, n INT, b BOOL, x FLOAT, w FLOAT) FROM FILES '{rows}' "
    "TIME ts KEY k KEEP 1 HOUR FUTURE ANY LATE ALLOW 3 SECONDS"
)
SELECTIONS = [
    "SELECT ts, k, x FROM s WHERE x > 2",
    "SELECT k FROM s WHERE n = 3 AND x < 0",
    "SELECT k, n FROM s WHERE k = 'k1'",
    "SELECT n FROM s WHERE x > 4",
]
VIEWS = [
    "SELECT a.k, a.n, b.x FROM s [RANGE 3 SECONDS] a JOIN s [RANGE 2 SECONDS] b "
    "ON a.k = b.k AND a.n = b.n",
    "SELECT DISTINCT k FROM s [RANGE 2 SECONDS]",
    "SELECT k, AVG(x) AS m FROM s [RANGE 4 SECONDS] GROUP BY k HAVING COUNT(*) > 3",
    "SELECT DISTINCT n FROM s [RANGE 5 SECONDS] WHERE x > 1",
    "SELECT k, x FROM s [ROWS 5]",
    "SELECT a.k, a.n FROM s [RANGE 3 SECONDS] a JOIN s [RANGE 2 SECONDS] b "
    "ON a.n = b.n AND a.k < b.k EVERY 5 SECONDS",
]
LATEST = [
    sg.Query("mean", "s", sg.avg("x"), window=sg.Latest(), answer=sg.every("1 s")),
    sg.Query("some", "s", sg.maximum("x"), series=("k1", "k5"), answer=sg.on_change(0.5)),
    sg.Query("more", "s", sg.total("x"), series=("k2", "k3", "k9"), answer=sg.every("3 s")),
    sg.Query("both", "s", sg.corr("x", "w"), window=sg.Latest(), answer=sg.every("2 s")),
    sg.Query("five", "s", sg.avg("x"), series=tuple(f"k{n}" for n in range(5))),
]
SKETCHES = [
    "SELECT b, COUNT(DISTINCT k) FROM s [RANGE 20 SECONDS] GROUP BY b EVERY 2 SECONDS",
    "SELECT TOP_K(k, 3) FROM s [RANGE 30 SECONDS] EVERY 2 SECONDS",
    "SELECT k, COUNT(DISTINCT b) FROM s [RANGE 20 SECONDS] GROUP BY k EVERY 2 SECONDS",
    "SELECT FREQUENCY(k, 'k2') FROM s [RANGE 20 SECONDS] EVERY 2 SECONDS",
    "SELECT n, TOP_K(k, 2) FROM s [RANGE 30 SECONDS] GROUP BY n EVERY 2 SECONDS",
    "SELECT MEDIAN(x) FROM s [RANGE 20 SECONDS] WITHIN 0.1 RANK EVERY 2 SECONDS",
]
# Their panes are synopses from the first row on.
BANKS = [
    "SELECT k, APPROX_COUNT_DISTINCT(x) FROM s [SINCE '1970-01-01'] GROUP BY k EVERY 5 SECONDS "
    "WITHIN 10 PERCENT",
    "SELECT n, MEDIAN(x) FROM s [SINCE '1970-01-01'] GROUP BY n WITHIN 0.1 RANK EVERY 5 SECONDS",
    "SELECT n, APPROX_COUNT_DISTINCT(x) FROM s [SINCE '1970-01-01'] GROUP BY n EVERY 5 SECONDS "
    "WITHIN 20 PERCENT",
]
LIKED = "WITH PREFERENCE DESC COUNT({}) BUDGET PROBES {}"
PAIRS = "FROM s [RANGE 6 SECONDS] a, s [RANGE 4 SECONDS] b WHERE a.n = b.n"
DEAR = "FROM s [RANGE 4 SECONDS] WHERE x > 1"
PROMISING = [
    f"SELECT a.n, a.x AS one, b.x AS two {PAIRS} {LIKED.format('a.n), COUNT(b.n', 20)}",
    f"SELECT a.x AS one, b.x AS two {PAIRS} {LIKED.format('a.n), COUNT(b.n', 30)}",
    f"SELECT * {DEAR} {LIKED.format('x', 8)}",
    f"SELECT k {DEAR} AND n > 2 {LIKED.format('x', 5)}",
    f"SELECT ISTREAM(n) {DEAR} AND n > 4 {LIKED.format('x', 7)}",
    f"SELECT AVG(x) {DEAR} EVERY 2 SECONDS {LIKED.format('x', 4)}",
    f"SELECT b.n, a.x AS one {PAIRS} EVERY 4 SECONDS {LIKED.format('a.n), COUNT(b.n', 20)}",
]
SUMMARIES = [
    f"CREATE SUMMARY of_{name} ON s({name}) WITH GRANULARITY 3 SECONDS AND COLLAPSE(2, 2)"
    for name in "nx"
]


def arriving(start: int, seconds: int, each: int = 16) -> pa.Table:
    """Rows of twelve series, some out of order; a burst in the middle of each stretch."""
    rng = np.random.default_rng(start + 3)
    n = each * seconds
    ts = np.sort(rng.triangular(0.0, 0.5, 1.0, n)) * seconds * 1e6 + start * 1e6
    ts = ts.astype(np.int64) - np.where(rng.random(n) < 0.05, rng.integers(0, 5 * 10**6, n), 0)
    return pa.table(
        {
            "ts": pa.array(np.maximum(ts, 0), pa.timestamp("us", "UTC")),
            "k": [f"k{d}" for d in rng.integers(0, 12, n).tolist()],
            "n": rng.integers(0, 9, n),
            "b": rng.random(n) < 0.4,
            "x": rng.normal(0, 3, n),
            "w": rng.random(n),
        }
    )


def history(texts: list[str], before: list[str]) -> list[Entry]:
    """Some queries from the start; the others, with one that changes and one that goes, later."""
    asked = [f"CREATE QUERY q{i} AS {text}" for i, text in enumerate(texts)]
    changes = [*asked[1::2], "PAUSE QUERY q0", f"ALTER QUERY q2 AS {texts[2]}"]
    rest = [arriving(20, 20), "RESUME QUERY q0", "DROP QUERY q1", arriving(40, 10)]
    return [DECLARED, *before, *asked[::2], arriving(0, 20), *changes, *rest]


@pytest.mark.parametrize(
    ("texts", "before"),
    [(VIEWS, []), (SKETCHES, []), (BANKS, []), (PROMISING, SUMMARIES)],
    ids=["views", "sketches", "banks", "promising"],
)
def test_answers_do_not_depend_on_rescales(
    tmp_path: Path, texts: list[str], before: list[str]
) -> None:
    assert check_work(tmp_path, history(texts, before), (Way(), Way(4, 3), *RESCALED)) > 50


def test_latest_values_move_with_their_queries(tmp_path: Path) -> None:
    entries = [DECLARED, LATEST[::2], arriving(0, 20), LATEST[1::2], arriving(20, 20)]
    entries += ["PAUSE QUERY five", arriving(40, 10)]
    assert check_work(tmp_path, entries, (Way(), *RESCALED)) > 100


def test_selections_move_whole(tmp_path: Path) -> None:
    asked = [f"CREATE QUERY q{i} AS {text}" for i, text in enumerate(SELECTIONS)]
    entries = [DECLARED, *asked, arriving(0, 20), "PAUSE QUERY q0", arriving(20, 20)]
    assert check_work(tmp_path, entries, (Way(), *RESCALED)) > 50


@pytest.mark.parametrize("texts", [tables.PANES, tables.SUMS, tables.OTHERS])
def test_groups_move_with_their_windows(tmp_path: Path, texts: list[str]) -> None:
    entries = tables.history("LATE ALLOW 3 SECONDS", texts)
    assert check_work(tmp_path, entries, (Way(), *RESCALED)) > 500


@pytest.mark.parametrize("capacity", ["", "CAPACITY 6000"])
def test_deferred_cells_move_with_their_pools(
    tmp_path: Path, capacity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "READS", 150)
    entries = deferred.history(tmp_path, capacity)
    assert check_work(tmp_path, entries, (Way(), Way(4, 2, True, others=(3, 1, 16)))) > 10_000


def test_views_over_answers_move_whole(tmp_path: Path) -> None:
    rows = views.calls()
    entries: list[Entry] = [views.CALLS, *views.ANSWERS[:4], rows.slice(0, 500)]
    entries += [views.ANSWERS[4], rows.slice(500)]
    assert check_work(tmp_path, entries, (Way(), *RESCALED)) > 500
