"""A query without a window means one thing in both front ends, or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.kernel.errors import BindError
from streamgauge.plan.query import Query

STREAM = "CREATE STREAM s (k STRING, ts TIME, x FLOAT) FROM FILES 'rows' FORMAT csv KEY k TIME ts"
ROWS = "k,ts,x\na,2026-01-01T00:00:00Z,1\na,2026-01-01T00:00:01Z,2\nb,2026-01-01T00:00:02Z,6\n"


def gauge_of(path: Path) -> sg.Gauge:
    gauge = sg.connect(path / "home", engine="local")
    (path / "rows").mkdir()
    (path / "rows" / "one.csv").write_text(ROWS)
    gauge.sql(STREAM.replace("'rows'", f"'{path / 'rows'}'"))
    return gauge


@pytest.mark.slow
def test_both_front_ends_come_to_the_same_numbers(tmp_path: Path) -> None:
    gauge = gauge_of(tmp_path)
    gauge.sql("CREATE QUERY all_sql AS SELECT SUM(x) FROM s")
    gauge.sql("CREATE QUERY new_sql AS SELECT SUM(x) FROM s [PARTITION BY k ROWS 1]")
    gauge.register(
        sg.Query("all", "s", sg.total("x"), window=sg.Unbounded()),
        sg.Query("new", "s", sg.total("x"), window=sg.Latest()),
        sg.Query("named", "s", sg.total("x"), series=("a", "b")),
    )
    gauge.step()
    gauge.advance("s", "2026-01-01T00:01:00Z")
    gauge.step()
    found = {
        name: gauge.latest(name)[0].value for name in ("all_sql", "all", "new_sql", "new", "named")
    }
    assert found == {"all_sql": 9.0, "all": 9.0, "new_sql": 8.0, "new": 8.0, "named": 8.0}


def test_what_says_neither_is_refused(tmp_path: Path) -> None:
    gauge = gauge_of(tmp_path)
    unsaid = sg.Query("q", "s", sg.total("x"))
    with pytest.raises(BindError, match="does not say which rows it reads") as refused:
        gauge.register(unsaid)
    assert "sg.Latest()" in refused.value.hint
    assert "sg.Unbounded()" in refused.value.hint
    gauge.register(sg.Query("q", "s", sg.total("x"), window="latest"))
    with pytest.raises(BindError, match="does not say"):
        gauge.alter(unsaid)


def test_the_stored_form_is_the_same_as_before() -> None:
    query = Query("q", "s", sg.total("x"), window=sg.Latest())
    assert query == Query("q", "s", sg.total("x"))
    assert "window" not in query.as_dict()
    assert Query.from_dict(query.as_dict()).latest
