"""A commit tells of all shards; a page that runs again starts from the state before it."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.engine import shard
from streamgauge.engine.commit import commit
from streamgauge.engine.lander import Lander
from streamgauge.engine.shard import Receipt
from streamgauge.kernel.files import read_json
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal


def receipt(number: int, answers: int, share: float) -> Receipt:
    return Receipt(
        number, 1, rows=10, late=1, answers=answers, state_bytes=100 * answers, seconds=0.1,
        missed=number, overloaded=2, share=share,
    )  # fmt: skip


def test_a_commit_tells_of_all_shards(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", shards=3)
    commit(home, 0, [receipt(0, 3, 1.0), receipt(1, 4, 0.5), receipt(2, 5, 0.75)], 2.0)
    record = read_json(home.commit(1))
    assert (record["answers"], record["state_bytes"]) == (12, 1200)
    assert (record["missed"], record["overloaded"], record["share"]) == (3, 6, 0.5)
    assert (record["rows"], record["late"]) == (10, 1), "all shards see all rows"


@pytest.mark.slow
def test_a_page_that_runs_again_goes_on_from_the_state_before_it(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    schema = sg.Schema.of(ts="time", k="string", v="float")
    gauge.stream("s", sg.files(tmp_path / "in", "csv"), time="ts", key="k", schema=schema)
    gauge.sql("CREATE QUERY n AS SELECT SUM(v) FROM s [RANGE 1 MINUTE] EVERY 1 SECOND")
    lander = Lander(gauge.home, max_rows=100)
    for page, first in enumerate((0, 10), 1):
        rows = [f"2026-01-01T00:00:{first + n:02d}Z,a,{n}" for n in range(10)]
        (tmp_path / "in" / f"{page}.csv").write_text("\n".join(["ts,k,v", *rows]) + "\n")
        lander.land()
    last = Journal(gauge.home).last()
    commit(gauge.home, 0, [shard.run(gauge.home, 0, 0, last - 1)], 0.1)
    once = shard.run(gauge.home, 0, last - 1, last)
    # Memory is a page ahead now, as after a commit that failed or a home that was put back.
    again = shard.run(gauge.home, 0, last - 1, last)
    one, other = (gauge.home.root / receipt.state[0] for receipt in (once, again))
    assert one != other
    assert one.read_bytes() == other.read_bytes()
