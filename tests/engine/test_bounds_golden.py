"""State of queries over bounds as it was first written is read for ever.

`bounds.sgst` was written by `small_life` below, `bounds.json` holds the registry it belongs to and
the answers in it. REGOLD=1 writes both anew, which is right only before a release has them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine import state as wire
from streamgauge.engine.latest import latest_answers
from streamgauge.log.commits import state_files
from streamgauge.results.change_log import as_answers
from tests.engine.bounded_lives import SCHEMA, Shape
from tests.engine.test_wire_golden import home_around, kept
from tests.goldens import GOLDEN, assert_answers_kept, assert_golden, regolding
from tests.kit.strategies import as_arrow

pytestmark = pytest.mark.slow

FIRST = "wire/bounds"
NAME = f"{FIRST}.v{wire.VERSION}"
OWED = sg.Contract.absolute(1.0)
QUERIES = (
    sg.Query("mean", "hosts", sg.avg("value"), window=sg.Latest(), contract=OWED),
    sg.Query("sites", "hosts", sg.total("value"), contract=OWED, group_by=("site",)),
    sg.Query(
        "least", "hosts", sg.minimum("value"), window=sg.Latest(), where=sg.col("host") == "db"
    ),
    sg.Query(
        "known", "hosts", sg.count(), window=sg.Latest(), answer=sg.every("5 s"), history=False
    ),
)
ROWS = Shape(30, 3, 0.3, 0.2, 0.1, 0.1, 0.1, 5).rows()


def small_life(root: Path) -> sg.Gauge:
    """Two epochs with bounds, interruptions, departures, late and waiting rows."""
    (root / "hosts").mkdir()
    gauge = sg.connect(root / "home", engine="local", shards=1)
    gauge.stream(
        "hosts", sg.files(root / "hosts"), time="ts", key=("host", "site"), schema=SCHEMA,
        width="width", late=sg.Late.allow("1 s"), future=None,
    )  # fmt: skip
    gauge.register(*QUERIES)
    table = as_arrow(ROWS, SCHEMA)
    for number, part in enumerate((table.slice(0, 40), table.slice(40))):
        pq.write_table(part, root / "hosts" / f"{number}.parquet")
        assert gauge.step()
    return gauge


def stored(name: str = NAME) -> tuple[bytes, dict[str, Any]]:
    found: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return (GOLDEN / f"{name}.sgst").read_bytes(), found


def test_todays_state_is_the_stored_one(tmp_path: Path) -> None:
    gauge = small_life(tmp_path)
    state = state_files(gauge.home, gauge.progress().epoch, 0)[0].read_bytes()
    if regolding():
        assert_golden(f"{NAME}.json", kept(gauge))
        assert_golden(f"{NAME}.sgst", state)
    assert state == stored()[0]
    bases = {answer.basis for answer in as_answers(gauge.answers())}
    assert bases >= {"exact", "filter", "interrupted"}, bases
    gauge.stop()


@pytest.mark.parametrize("name", [FIRST, "wire/bounds.v3", "wire/bounds.v4", NAME])
def test_stored_state_gives_its_answers_and_its_bytes(tmp_path: Path, name: str) -> None:
    data, found = stored(name)
    if name == NAME:
        assert wire.to_bytes(wire.from_bytes(data, 0, 1), 0, 1) == data
    home = home_around(tmp_path / "home", data, found["registry"])
    assert_answers_kept([answer.as_dict() for answer in latest_answers(home)], found["answers"])
