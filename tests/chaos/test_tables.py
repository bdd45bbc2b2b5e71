"""kill -9 while a table is read again: no change of it is lost or made twice."""

from __future__ import annotations

import shutil
from itertools import pairwise
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.engine.catalog import registry_at
from streamgauge.engine.local import LocalEngine
from streamgauge.kernel.files import write_whole
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.log.segments import write_parquet
from streamgauge.results.row_blocks import row_changes
from tests import forked
from tests.chaos.table_victim import main

pytestmark = pytest.mark.kills
START = instant("2026-01-01T00:00:00Z")


def write_rows(place: Path, number: int) -> None:
    """Five seconds of rows, later than all before."""
    seconds = range(number * 5, number * 5 + 5)
    times = pa.array([START + n * SECOND for n in seconds], pa.timestamp("us", tz="UTC"))
    values = pa.array(seconds, pa.float64())
    table = pa.table({"site": ["north"] * 5, "ts": times, "value": values})
    write_parquet(place / "rows" / f"{number:04d}.parquet", table)


def write_town(place: Path, number: int) -> None:
    write_whole(place / "towns.csv", f"site,town\nnorth,town-{number}\n".encode())


def refreshes(home: Home) -> list[dict[str, Any]]:
    pages = [Journal(home).page(n) for n in range(1, Journal(home).last() + 1)]
    assert not [error for page in pages for error in page.refused]
    return [c for page in pages for c in page.changes if c["do"] == "refresh table"]


@pytest.mark.parametrize("lives", [3, pytest.param(6, marks=pytest.mark.nightly)])
def test_killed_while_a_table_changes(tmp_path: Path, lives: int) -> None:
    write_town(tmp_path, 0)
    write_rows(tmp_path, 0)
    home = Home.open(tmp_path / "home", shards=2)
    places = [str(tmp_path / name) for name in ("home", "rows", "towns.csv")]
    for life in range(lives):
        victim = forked.start(main, *places, output=tmp_path / "victim.log")
        try:
            change_town(victim, tmp_path, home, 2 * life + 1, wholly=True)
            # All but the last life end wherever this change is by then.
            change_town(victim, tmp_path, home, 2 * life + 2, wholly=life == lives - 1)
        finally:
            forked.kill(victim)
    found = [pq.read_table(change["path"])["town"][0].as_py() for change in refreshes(home)]
    assert found[-1] == f"town-{2 * lives}", "the last change is not lost"
    assert all(one != other for one, other in pairwise(found)), "none twice"
    assert found == sorted(found, key=lambda town: int(town.removeprefix("town-")))
    answers = replayed(home)
    assert len({row["town"] for row in answers}) > 3
    assert replayed(home, anew=True) == answers


def change_town(
    victim: ForkServerProcess, place: Path, home: Home, number: int, *, wholly: bool
) -> None:
    """Another town, then rows to join with it, which wait for the town if the change is whole."""
    write_town(place, number)
    if wholly:
        forked.wait_for(victim, lambda: heard(home) == number, 180, what=f"town {number}")
    before = home.committed()
    write_rows(place, number)
    forked.wait_for(victim, lambda: home.committed() > before, 180, what=f"rows of town {number}")


def heard(home: Home) -> int:
    """Number of the town that is in force; -1 before there is one."""
    table = registry_at(home, home.committed()).tables.get("towns")
    if table is None:
        return -1
    return int(pq.read_table(table.path)["town"][0].as_py().removeprefix("town-"))


def replayed(home: Home, *, anew: bool = False) -> list[dict[str, Any]]:
    """All rows that came and went, after what is left of the journal is done."""
    if anew:
        for part in ("state", "answers", "commits"):
            shutil.rmtree(home.root / part)
    engine = LocalEngine(home, max_rows=1_000_000)
    while engine.step():
        pass
    return list(row_changes(home, "places", after=0).to_pylist())
