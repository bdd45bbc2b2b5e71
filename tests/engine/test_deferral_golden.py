"""State of deferred queries as it was first written is read for ever.

`deferral_gaps.sgst` was written by `small_life` below, `deferral_gaps.json` holds the registry it
belongs to and the answers in it; `deferral_pools` is of a stream with a capacity. REGOLD=1 writes
them anew, which is right only before a release has them. `deferral.sgst` is from before the longest
gaps of blocks were kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine import state as wire
from streamgauge.engine.latest import latest_answers
from streamgauge.kernel.wire import unpack
from streamgauge.log.commits import state_files
from streamgauge.plan.over import Over
from tests.engine.test_wire_golden import home_around, kept
from tests.goldens import GOLDEN, assert_answers_kept, assert_golden, regolding
from tests.kit.deferrals import Shape
from tests.kit.strategies import SCHEMA, as_arrow

pytestmark = pytest.mark.slow

# Each with the capacity of its stream.
LIVES = {
    f"wire/deferral_gaps.v{wire.VERSION}": None,
    f"wire/deferral_pools.v{wire.VERSION}": 20_000,
}
BEFORE = (
    "wire/deferral",
    *(f"wire/deferral_{kind}.v{version}" for kind in ("gaps", "pools") for version in (3, 4)),
)
OWED = sg.Contract.absolute(1.0, confidence=0.9)
QUERIES = (
    sg.Query("blind", "plant", sg.total("x"), contract=OWED, regime="timer"),
    sg.Query("seen", "plant", sg.avg("x"), contract=OWED, regime="watch", trend=True),
    sg.Query("groups", "plant", sg.avg("x"), contract=OWED, regime="watch", group_by=("g",)),
    sg.Query("peak", "plant", sg.avg("x"), contract=OWED, over=Over("max", sg.Range("9 s"))),
)
WALK = Shape(4, 40, 5, 0.7, 0.1, 0.05, 0.05, 0.05, 8, 0.5)


def small_life(root: Path, capacity: int | None) -> sg.Gauge:
    """Two epochs with models, accounts, deadlines, windows, late, silent and waiting rows."""
    (root / "plant").mkdir()
    gauge = sg.connect(root / "home", engine="local", shards=1)
    files = sg.files(root / "plant")
    gauge.stream("plant", files, time="ts", key="series", schema=SCHEMA, expected_gap="4 s",
                 late=sg.Late.allow("2 s"), future=None, capacity=capacity)  # fmt: skip
    gauge.register(*QUERIES)
    table = as_arrow(WALK.rows(), SCHEMA)
    for number, part in enumerate((table.slice(0, 50), table.slice(50))):
        pq.write_table(part, root / "plant" / f"{number}.parquet")
        assert gauge.step()
    return gauge


def stored(name: str) -> tuple[bytes, dict[str, Any]]:
    found: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return (GOLDEN / f"{name}.sgst").read_bytes(), found


@pytest.mark.parametrize("name", LIVES)
def test_todays_state_is_laid_out_as_the_stored_one(tmp_path: Path, name: str) -> None:
    """The same names and kinds of columns; what is in them follows from constants of the model."""
    gauge = small_life(tmp_path, LIVES[name])
    state = state_files(gauge.home, gauge.progress().epoch, 0)[0].read_bytes()
    if regolding():
        assert_golden(f"{name}.json", kept(gauge))
        assert_golden(f"{name}.sgst", state)
    today, before = (
        unpack(data, kind=wire.KIND, version=wire.VERSION) for data in (state, stored(name)[0])
    )
    assert list(today.arrays) == list(before.arrays)
    for name, array in before.arrays.items():
        assert today.arrays[name].dtype == array.dtype, name
        assert today.arrays[name].ndim == array.ndim, name
    silent = [answer for answer in gauge.latest() if answer.basis == "interrupted"]
    assert silent, "the small life has no silence"
    assert any(np.size(array) for name, array in today.arrays.items() if "extreme" in name)


@pytest.mark.parametrize("name", [*LIVES, *BEFORE])
def test_stored_state_gives_its_answers_and_its_bytes(tmp_path: Path, name: str) -> None:
    data, found = stored(name)
    again = wire.to_bytes(wire.from_bytes(data, 0, 1), 0, 1)
    if name in BEFORE:
        data, again = again, wire.to_bytes(wire.from_bytes(again, 0, 1), 0, 1)
    assert again == data
    home = home_around(tmp_path / "home", data, found["registry"])
    assert_answers_kept([answer.as_dict() for answer in latest_answers(home)], found["answers"])
