"""State of views over answers, as an earlier release wrote it: read, with the rows it holds.

`answers.v5.sgst` was written by `small_life` when a view kept the newest answers apart from its
rows; `answers.v5.json` has its registry and the rows of its views. Never write them again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine.latest import latest_rows
from streamgauge.engine.state import read_state
from streamgauge.kernel.files import number_name, write_json, write_whole
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log.home import Home
from streamgauge.operators.upsert import upserted
from streamgauge.work.relations.answer_source import UNMET
from tests.goldens import GOLDEN

pytestmark = pytest.mark.slow

NOON = instant("2026-01-31T12:00:00Z")
ASKED = """
CREATE QUERY heat AS SELECT site, SUM(value) FROM plant [RANGE 4 SECONDS] GROUP BY site;
CREATE QUERY level AS SELECT AVG(value) FROM plant [RANGE 6 SECONDS];
CREATE QUERY hot AS SELECT site, value * 2 AS twice FROM heat WHERE value > 1;
CREATE QUERY both AS SELECT h.site, h.value, l.value AS mean FROM heat h CROSS JOIN level l;
CREATE QUERY beside AS SELECT h.site, h.value, t.price
    FROM heat h JOIN ticks [NOW] t ON h.site = t.site;
"""


def small_life(root: Path) -> sg.Gauge:
    """Views over answers; one waits for a stream that is behind, and some answers miss rows."""
    for name in ("plant", "ticks"):
        (root / name).mkdir()
    gauge = sg.connect(root / "home", engine="local", shards=1)
    late = sg.Late.revise("10 s")
    for number, (plant, ticks) in enumerate((([0, 1, 2, 3, 5, 4], [0, 1]), ([6, 8, 7], [2]))):
        put(root / "plant" / f"{number}.parquet", "series", plant)
        put(root / "ticks" / f"{number}.parquet", "price", ticks)
        if not number:
            plant_of, ticks_of = sg.files(root / "plant"), sg.files(root / "ticks")
            gauge.stream("plant", plant_of, time="ts", key="series", late=late, future=None)
            gauge.stream("ticks", ticks_of, time="ts", key="site", future=None)
            gauge.sql(ASKED)
        assert gauge.step()
    return gauge


def put(path: Path, column: str, seconds: list[int]) -> None:
    """Two sites; quarters, so that sums are exact."""
    rows = [(s, i) for s in seconds for i in range(2) if i == 0 or s < 4]
    columns: dict[str, Any] = {
        "ts": pa.array([NOON + s * SECOND for s, _ in rows], pa.timestamp("us", "UTC")),
        "site": [("north", "south")[i] for _, i in rows],
        "value": [s * 0.25 + i for s, i in rows],
    }
    given = [f"s{i}" for _, i in rows] if column == "series" else [10.0 + s for s, _ in rows]
    pq.write_table(pa.table({**columns, column: given}), path)


def held(home: Home) -> dict[str, list[dict[str, Any]]]:
    return {name: latest_rows(home, name).to_pylist() for name in ("hot", "both", "beside")}


def test_state_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    found = json.loads((GOLDEN / "wire" / "answers.v5.json").read_text())
    home, epoch = Home.open(tmp_path / "home", shards=1), found["registry"]["epoch"]
    snapshot = {"registry": found["registry"], "peaks": {}, "taken": {}, "begun": {}}
    write_json(home.registry / number_name(epoch, ".json"), snapshot)
    write_json(home.commit(epoch), {"epoch": epoch})
    write_whole(home.state(epoch, 0), (GOLDEN / "wire" / "answers.v5.sgst").read_bytes())
    rows = held(home)
    assert rows == found["rows"]
    assert all(rows.values())
    (key,) = [k for k in operators(home, epoch) if "ticks" in k]
    (heat,) = operators(home, epoch)[key].state.numbers.values()
    assert len(heat.coming) > 10
    assert heat.current.rows[UNMET].to_pylist() == [True, True]
    # Once the stream that is behind has come along, its view reads what the others read already.
    _, current = upserted(heat.current, heat.coming, 1)
    assert current.rows["site"].to_pylist() == ["north"]
    assert current.rows["value"].to_pylist() == [row["value"] for row in rows["both"]]


def operators(home: Home, epoch: int) -> dict[str, Any]:
    return dict(read_state(home, epoch, 0).operators)
