"""Views do not depend on cuts, shards or reloads: those over answers, revisions included."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.checks.work import Entry, Way, check_work
from streamgauge.kernel.time import SECOND
from streamgauge.results.change_log import as_answers

pytestmark = pytest.mark.slow

WAYS = (Way(), Way(4, 1, True), Way(2, 3, True), Way(1, 16))
CALLS = (
    "CREATE STREAM calls (ts TIME, site STRING, latency FLOAT) FROM FILES '{rows}' "
    "TIME ts KEY site KEEP 1 DAY FUTURE ANY LATE REVISE 20 SECONDS"
)
HEAT = (
    "CREATE QUERY heat AS SELECT site, SUM(latency) FROM calls [RANGE 10 SECONDS] GROUP BY site "
    "EVERY 5 SECONDS"
)
ANSWERS = [
    HEAT,
    "CREATE QUERY total AS SELECT SUM(latency) FROM calls [RANGE 30 SECONDS] EVERY 10 SECONDS",
    "CREATE QUERY each AS SELECT site, value / 2 AS half FROM heat WHERE value > 3",
    "CREATE QUERY mean AS SELECT AVG(value) AS mean, COUNT(*) AS n FROM heat",
    "CREATE QUERY part AS SELECT h.site, h.value / t.value AS share FROM heat h CROSS JOIN total t",
]


def calls(n: int = 900, seconds: int = 120) -> pa.Table:
    """Calls of six sites, one of them silent for a while; some come late."""
    rng = np.random.default_rng(11)
    ts = np.sort(rng.integers(0, seconds * SECOND, n))
    ts[::9] -= rng.integers(0, 25 * SECOND, len(ts[::9]))
    site = rng.integers(0, 6, n)
    site[(site == 5) & (ts > 30 * SECOND) & (ts < 80 * SECOND)] = 4
    return pa.table(
        {
            "ts": pa.array(np.maximum(ts, 0), pa.timestamp("us", "UTC")),
            "site": [f"s{k}" for k in site.tolist()],
            "latency": rng.integers(0, 40, n) / 4,
        }
    )


def test_views_over_answers_do_not_depend_on_how_work_was_cut(tmp_path: Path) -> None:
    rows = calls()
    history: list[Entry] = [CALLS, *ANSWERS[:4], rows.slice(0, 500), ANSWERS[4], rows.slice(500)]
    assert check_work(tmp_path, history, WAYS) > 500


def test_a_view_holds_the_newest_answers_with_their_revisions(tmp_path: Path) -> None:
    """At each instant the rows are the newest answers, as they were revised until then."""
    (tmp_path / "rows").mkdir()
    gauge = sg.connect(tmp_path / "home", engine="local", shards=2)
    gauge.sql(CALLS.format(rows=tmp_path / "rows"))
    gauge.sql(HEAT)
    gauge.sql("CREATE QUERY same AS SELECT site, value FROM heat")
    rows = calls()
    for number in range(3):
        pq.write_table(rows.slice(number * 300, 300), tmp_path / "rows" / f"{number}.parquet")
        gauge.step()
    answers = list(as_answers(gauge.answers("heat")))
    revised = [answer for answer in answers if answer.revision]
    assert len(revised) > 20
    # A revision counts ticks of a second, and is made when the late row takes effect.
    given = [(a.as_of + a.revision * SECOND, a.revision > 0, a) for a in answers]
    changes = gauge.row_changes("same").to_pylist()
    instants = sorted({at for at, _, _ in given})
    assert {int(row["as_of"].timestamp() * SECOND) for row in changes} <= set(instants)
    held: Counter = Counter()
    newest: dict = {}
    taken = 0
    for at in instants:
        for _, revises, answer in sorted(
            (item for item in given if item[0] == at), key=lambda item: item[1]
        ):
            old = newest.get(answer.group)
            if revises and (old is None or old.as_of != answer.as_of):
                continue
            taken += revises
            newest[answer.group] = answer
            if answer.basis == "empty":
                del newest[answer.group]
        for row in changes:
            if int(row["as_of"].timestamp() * SECOND) == at:
                held[row["site"], row["value"]] += row["count"]
        assert +held == Counter((a.group[0], a.value) for a in newest.values()), at
        assert not -held
    assert taken > 5
