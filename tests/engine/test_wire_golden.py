"""State written by version 1 is read for ever, and damaged state is refused, never believed.

`shard.v1.sgst` was written by `small_life` below, `shard.v1.json` holds the registry it belongs to
and the answers in it. When the bytes of state change, raise `VERSION` in engine/state.py, add
golden files of the new version, and keep these: REGOLD=1 writes the files of the newest version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamgauge as sg
from streamgauge.engine import state as wire
from streamgauge.engine.latest import latest_answers
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import number_name, write_json, write_whole
from streamgauge.kernel.time import SECOND, instant
from streamgauge.kernel.wire import FORMAT, MAGIC, Packed, pack, unpack
from streamgauge.log.commits import state_files
from streamgauge.log.home import Home
from streamgauge.plan.registry import Registry
from tests.goldens import GOLDEN, assert_answers_kept, assert_golden, regolding

pytestmark = pytest.mark.slow

VERSIONS = tuple(range(1, wire.VERSION + 1))
NEWEST = f"wire/shard.v{wire.VERSION}"
NOON = instant("2026-01-31T12:00:00Z")
PLANT = sg.Schema.of(series="string", ts="time", value="float", power="float", site="string")
TICKS = sg.Schema.of(symbol="string", ts="time", price="float", volume="int")
FIRST = (
    sg.Query("latest", "plant", sg.avg("value"), ("s0", "s2"), (0.75, 0.25)),
    sg.Query("all", "plant", sg.total("value"), window=sg.Latest(), answer=sg.on_change(2.0)),
    sg.Query(
        "pair", "plant", sg.covar("value", "power"), window=sg.Latest(), answer=sg.every("2 s")
    ),
    sg.Query(
        "panes",
        "plant",
        sg.stddev("value"),
        window=sg.Range("6 s", slide="2 s"),
        where=sg.col("power") < 7.0,
        group_by=("site",),
        answer=sg.on_close(),
    ),
    sg.Query("since", "ticks", sg.avg("price", weight="volume"), window=sg.Landmark(NOON)),
    sg.Query("rows", "plant", sg.maximum("value"), window=sg.Rows(5)),
    sg.Query("each", "ticks", sg.total("price"), window=sg.Partition("symbol", 2)),
)
LATER = (
    sg.Query("now", "plant", sg.count(), window=sg.Range("4 s"), history=False),
    sg.Query("named", "plant", sg.minimum("value"), window="short", group_by=("site",)),
)


def write(path: Path, columns: dict[str, list[Any]], schema: sg.Schema) -> None:
    pq.write_table(pa.table(columns, schema=schema.to_arrow()), path)


def write_plant(path: Path, seconds: list[int]) -> None:
    """Three sensors a second, one of them silent from second 8 on; quarters, so sums are exact."""
    rows = [(s, i) for s in seconds for i in range(3) if i != 1 or s < 8]
    columns: dict[str, list[Any]] = {
        "series": [f"s{i}" for _, i in rows],
        "ts": [NOON + s * SECOND for s, _ in rows],
        "value": [None if (s, i) == (3, 2) else s * 0.25 + i for s, i in rows],
        "power": [float((5 * s + i) % 9) for s, i in rows],
        "site": ["north" if i else "south" for _, i in rows],
    }
    write(path, columns, PLANT)


def write_ticks(path: Path, halves: list[int]) -> None:
    columns: dict[str, list[Any]] = {
        "symbol": ["XY"[h % 2] for h in halves],
        "ts": [NOON + h * SECOND // 2 for h in halves],
        "price": [100.0 + h for h in halves],
        "volume": [h % 4 for h in halves],
    }
    write(path, columns, TICKS)


def small_life(root: Path) -> sg.Gauge:
    """Three epochs with every kind of state: latest values, panes, rings, late and waiting rows."""
    for name in ("plant", "ticks"):
        (root / name).mkdir()
    gauge = sg.connect(root / "home", engine="local", shards=1)
    plant, ticks = sg.files(root / "plant"), sg.files(root / "ticks")
    gauge.stream("plant", plant, time="ts", key="series", schema=PLANT, expected_gap="4 s")
    late = sg.Late.allow("2 s")
    gauge.stream("ticks", ticks, time="ts", key="symbol", schema=TICKS, late=late)
    gauge.register(*FIRST)
    write_plant(root / "plant" / "1.parquet", [0, 1, 2, 3, 5, 4, 6, 7])
    write_ticks(root / "ticks" / "1.parquet", [0, 1, 2, 3, 7, 8, 9, 2, 10, 11])
    assert gauge.step()
    gauge.create_window("short", sg.Range("3 s"))
    gauge.register(*LATER)
    assert gauge.step()
    write_plant(root / "plant" / "2.parquet", [8, 9, 11, 10, 12, 14])
    write_ticks(root / "ticks" / "2.parquet", [12, 13, 14])
    assert gauge.step()
    return gauge


def kept(gauge: sg.Gauge) -> str:
    """What belongs to a state file: its registry, and the answers that are in it."""
    # Sources have paths of this run, and nothing that is read here looks at them.
    registry = json.loads(json.dumps(gauge.registry().as_dict()))
    for stream in registry["streams"]:
        stream["source"] = {"kind": "files"}
    answers = [answer.as_dict() for answer in gauge.latest()]
    return json.dumps({"registry": registry, "answers": answers}, indent=1, sort_keys=True) + "\n"


def golden(version: int) -> tuple[bytes, dict[str, Any]]:
    folder = GOLDEN / "wire"
    found: dict[str, Any] = json.loads((folder / f"shard.v{version}.json").read_text())
    return (folder / f"shard.v{version}.sgst").read_bytes(), found


def home_around(root: Path, data: bytes, registry: dict[str, Any]) -> Home:
    """A home as an older release left it, as far as reading answers goes."""
    home, epoch = Home.open(root, shards=1), registry["epoch"]
    snapshot = {"registry": registry, "peaks": {}, "taken": {}, "begun": {}}
    write_json(home.registry / number_name(epoch, ".json"), snapshot)
    write_json(home.commit(epoch), {"epoch": epoch})
    write_whole(home.state(epoch, 0), data)
    return home


def test_todays_state_is_laid_out_as_the_newest_version(tmp_path: Path) -> None:
    """The same values and arrays; numbers may differ by rounding, which is no matter of format."""
    gauge = small_life(tmp_path)
    state = state_files(gauge.home, gauge.progress().epoch, 0)[0].read_bytes()
    if regolding():
        assert_golden(f"{NEWEST}.json", kept(gauge))
        assert_golden(f"{NEWEST}.sgst", state)
    data, found = golden(wire.VERSION)
    # A name that an earlier release gave is read as of today, as a replay does.
    as_read = Registry.from_dict(found["registry"]).as_dict()
    assert json.loads(kept(gauge))["registry"] == json.loads(json.dumps(as_read))
    today, stored = (unpack(b, kind=wire.KIND, version=wire.VERSION) for b in (state, data))
    assert today.values == stored.values
    assert list(today.arrays) == list(stored.arrays)
    for name, array in stored.arrays.items():
        assert today.arrays[name].dtype == array.dtype, name
        np.testing.assert_allclose(today.arrays[name], array, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("version", VERSIONS)
def test_state_of_every_version_gives_its_answers(version: int, tmp_path: Path) -> None:
    data, found = golden(version)
    home = home_around(tmp_path / "home", data, found["registry"])
    assert_answers_kept([answer.as_dict() for answer in latest_answers(home)], found["answers"])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_small_life_has_every_kind_of_state(version: int) -> None:
    data, found = golden(version)
    streams = wire.from_bytes(data, 0, 1).streams
    pieces = [key for stream in streams.values() for key in stream.pieces]
    kinds = {json.loads(key)[0] for key in pieces}
    assert kinds == {"latest", "panes", "landmark", "ring"}
    assert sum(len(held.waiting) for held in streams["ticks"].inputs.values()) > 0
    assert {answer["basis"] for answer in found["answers"]} == {"exact", "interrupted"}
    assert any(answer["charges"] for answer in found["answers"] if answer["basis"] == "exact")


def test_reading_and_writing_gives_the_same_bytes() -> None:
    data, _ = golden(wire.VERSION)
    assert wire.to_bytes(wire.from_bytes(data, 0, 1), 0, 1) == data


def refused(data: bytes) -> None:
    with pytest.raises(StateTooOld) as caught:
        wire.from_bytes(data, 0, 1)
    assert caught.value.hint


@given(st.data())
def test_state_cut_short_is_refused(draw: st.DataObject) -> None:
    data, _ = golden(wire.VERSION)
    refused(data[: draw.draw(st.integers(0, len(data) - 1))])


@given(st.data())
def test_state_with_a_flipped_bit_is_refused(draw: st.DataObject) -> None:
    data, _ = golden(wire.VERSION)
    place = draw.draw(st.integers(0, len(data) - 1))
    bit = draw.draw(st.integers(0, 7))
    refused(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])


@given(st.data(), st.binary(min_size=1, max_size=64))
def test_state_with_foreign_bytes_in_it_is_refused(draw: st.DataObject, foreign: bytes) -> None:
    data, _ = golden(wire.VERSION)
    place = draw.draw(st.integers(0, len(data)))
    refused(data[:place] + foreign + data[place:])


@given(st.binary(max_size=200), st.booleans())
def test_bytes_that_are_no_state_are_refused(data: bytes, named: bool) -> None:
    refused(MAGIC + FORMAT.to_bytes(2, "little") + data if named else data)


@pytest.mark.parametrize(
    ("kind", "version", "what"),
    [("shard", wire.VERSION + 1, "cannot be read here"), ("pane", 1, "cannot be read here")],
)
def test_state_of_another_kind_or_a_newer_version_is_refused(
    kind: str, version: int, what: str
) -> None:
    with pytest.raises(StateTooOld, match=what):
        wire.from_bytes(pack(Packed(kind, version, {"epoch": 1, "streams": {}})), 0, 1)


def test_another_format_is_refused_by_its_number() -> None:
    data, _ = golden(wire.VERSION)
    other = data[:4] + (FORMAT + 1).to_bytes(2, "little") + data[6:]
    with pytest.raises(StateTooOld, match="another format") as caught:
        wire.from_bytes(other, 0, 1)
    assert str(FORMAT + 1) in caught.value.detail
