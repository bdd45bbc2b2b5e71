"""The same answers for any cut into epochs, any number of shards, and after every reload."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.checks.work import READ, Entry, check_work, same_answers
from streamgauge.drift import pools
from streamgauge.plan.members import Members
from streamgauge.plan.over import Over

pytestmark = pytest.mark.slow

N_SERIES, TICKS = 1_000, 110
OWED = sg.Contract.absolute(1.0, confidence=0.9)
DECLARED = (
    "CREATE STREAM walk (ts TIME, k STRING, g STRING, x FLOAT) FROM FILES '{{rows}}' "
    "TIME ts KEY k KEEP 1 DAY FUTURE ANY {capacity}"
)


def walks(first: int, last: int) -> pa.Table:
    """Walks of unlike volatility; series come by and by, and some move to another group."""
    rng = np.random.default_rng(7)
    scale = np.exp(rng.normal(-1.0, 1.5, N_SERIES))
    at, group = np.zeros(N_SERIES), np.arange(N_SERIES)
    columns: dict[str, list[np.ndarray]] = {"ts": [], "k": [], "g": [], "x": []}
    for tick in range(last):
        here = np.flatnonzero(rng.random(N_SERIES) < 0.1)
        here = here[here < 300 + 10 * tick]
        at[here] += scale[here] * rng.standard_normal(len(here))
        if tick % 40 == 5:
            group[here[:5]] = rng.integers(0, N_SERIES, 5)
        if tick >= first:
            ahead = rng.integers(0, 900_000, len(here))
            columns["ts"].append(np.sort(tick * 1_000_000 + ahead))
            for name, values in zip("kgx", (here, group[here], at[here]), strict=True):
                columns[name].append(values)
    ts, k, g, x = (np.concatenate(columns[name]) for name in ("ts", "k", "g", "x"))
    names = [pa.array([f"{c}{n}" for n in column.tolist()]) for c, column in (("k", k), ("g", g))]
    return pa.table([pa.array(ts, pa.timestamp("us", "UTC")), *names, x], ["ts", "k", "g", "x"])


def listed(number: int, regime: str, size: int = 12) -> sg.Query:
    rng = np.random.default_rng(number)
    series = tuple(f"k{n}" for n in rng.choice(N_SERIES + 50, size, replace=False))
    return sg.Query(f"q{number}", "walk", sg.avg("x"), contract=OWED, series=series, regime=regime)


def history(root: Path, capacity: str) -> list[Entry]:
    """Three thousand cells, of queries, of a grouped family and of a table; some come later."""
    rng = np.random.default_rng(3)
    holdings = {
        "book": [f"b{n}" for n in rng.integers(0, 2_200, 5_000)],
        "symbol": [f"k{n}" for n in rng.integers(0, N_SERIES, 5_000)],
        "shares": rng.random(5_000),
    }
    pq.write_table(pa.table(holdings), root / "holdings.parquet")
    regimes = ["", "", "", "", "", "", "timer", "watch"]
    books = Members("holdings", "symbol", ("book",), "shares")
    asked = [
        *(listed(n, regimes[n % 8]) for n in range(150)),
        sg.Query("all", "walk", sg.avg("x"), window=sg.Latest(), contract=OWED),
        sg.Query("groups", "walk", sg.avg("x"), contract=OWED, group_by="g"),
        sg.Query("books", "walk", sg.total("x"), contract=OWED, members=books),
    ]
    peak = Over("max", sg.Range("30 s"))
    later = [
        *(listed(n, "") for n in range(150, 170)),
        sg.Query("peaks", "walk", sg.avg("x"), contract=OWED, group_by="g", over=peak),
        sg.Query("peak", "walk", sg.avg("x"), contract=OWED, over=peak, regime="timer"),
    ]
    table = f"CREATE TABLE holdings FROM '{root}/holdings.parquet'"
    declared = DECLARED.format(capacity=capacity)
    middle = TICKS - 40
    return [declared, table, asked, walks(0, middle), later, walks(middle, TICKS)]


@pytest.mark.parametrize("capacity", ["", "CAPACITY 6000"])
def test_deferred_answers_do_not_depend_on_cuts_shards_or_reloads(
    tmp_path: Path, capacity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With capacity that does not suffice, in 32 pools."""
    monkeypatch.setattr(pools, "READS", 150)
    n = check_work(tmp_path, history(tmp_path, capacity), READ)
    assert n > 10_000


def test_answers_that_differ_are_told() -> None:
    one = pa.table({"value": [1.0, np.nan, 3.0]})
    same_answers(one, one)
    with pytest.raises(AssertionError, match=r"found +\[\{'value': 4.0\}\]"):
        same_answers(pa.table({"value": [1.0, np.nan, 4.0]}), one)
    with pytest.raises(AssertionError, match="found 2 answers, expected 3"):
        same_answers(one.slice(0, 2), one)
