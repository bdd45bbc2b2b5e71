"""Blocks of answers: what each cause adds survives being stored, and older blocks are read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.contracts.contract import Contract
from streamgauge.results import blocks
from streamgauge.results.blocks import Block, Contracts, read_block, write_block
from tests.goldens import GOLDEN, regolding

VERSION = int(blocks.FORMAT)
NEWEST = f"answers.v{VERSION}"
NAN, INF = math.nan, math.inf
# Value, own below and above, late below and above, silent below and above.
ANSWERED = np.array(
    [
        [101.5, 0, 0, 0, 0, 0, 0],
        [10.0, 1, 2, 0, 0, 0, 0],
        [20.0, 2, 2, 0, 3, 0, 0],
        [4.0, 0, 0, 0, 2.5, 0, 0],
        [1.0, 0, 0, 0, 0, INF, INF],
        [7.0, 1, 1, 0.25, 0, 0.25, 0.25],
        [NAN, 0, 0, 0, 0, 0, 0],
        [0.0, 0, 0, 0, 0, 0, 0],
        [0.1, 0.3, 0.7, 0, 1e-9, INF, INF],
    ]
)


def block_of(rows: npt.NDArray[np.float64], basis: list[int] | None = None) -> Block:
    n = len(rows)
    value, sides = rows[:, 0], rows[:, 1:]
    low = value - sides[:, 0] - sides[:, 2] - sides[:, 4]
    high = value + sides[:, 1] + sides[:, 3] + sides[:, 5]
    own = np.array([1] * n if basis is None else basis, np.int32)
    zeros, whole = np.zeros(n, np.int32), np.ones(n)
    silent = np.where(sides[:, 4] > 0.0, 1, np.where(np.isnan(value), -1, 0)).astype(np.int32)
    return Block(
        query=zeros, version=zeros + 1, group=zeros, as_of=np.arange(n) * 1_000_000, value=value,
        low=low, high=high, coverage=whole, silent=silent, revision=zeros, names=["q"],
        texts=pa.array([""]), sides=sides, slope=np.zeros(n), basis=own,
        sworn=[("exact", 1.0), ("kll", 0.99)], share=whole,
        contracts=Contracts.of([Contract.rank(0.01, confidence=0.95)]),
    )  # fmt: skip


def newest() -> Block:
    return block_of(ANSWERED, [0, 1, 1, 0, 0, 1, 1, 1, 1])


def told(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_block(path).to_pylist()
    for row in rows:
        row["as_of"] = row["as_of"].isoformat()
        for part in (row, *row["charges"]):
            part.update({k: str(v) for k, v in part.items() if v in (INF, -INF)})
    return rows


def test_todays_block_is_laid_out_as_the_newest_version(tmp_path: Path) -> None:
    write_block(tmp_path / "block", newest(), epoch=7)
    if regolding():
        (GOLDEN / f"blocks/{NEWEST}.arrow").write_bytes((tmp_path / "block").read_bytes())
        text = json.dumps(told(tmp_path / "block"), indent=1) + "\n"
        (GOLDEN / f"blocks/{NEWEST}.json").write_text(text)
    with pa.memory_map(str(GOLDEN / f"blocks/{NEWEST}.arrow")) as source:
        golden = pa.ipc.open_file(source).read_all()
    today = pa.ipc.open_file(tmp_path / "block").read_all()
    assert today.equals(golden, check_metadata=True)
    assert told(tmp_path / "block") == json.loads((GOLDEN / f"blocks/{NEWEST}.json").read_text())


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_blocks_of_every_version_give_their_answers(version: int) -> None:
    expected = json.loads((GOLDEN / f"blocks/answers.v{version}.json").read_text())
    found = told(GOLDEN / f"blocks/answers.v{version}.arrow")
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        charges, known = one.pop("charges"), other.pop("charges")
        assert one == other
        assert [(c["by"], c["width"], c["delta"]) for c in charges] == [
            (c["by"], c["width"], c["delta"]) for c in known
        ]
        assert all({"below", "above"} <= set(charge) for charge in charges)


def test_only_some_queries_are_read(tmp_path: Path) -> None:
    write_block(tmp_path / "block", newest(), epoch=7)
    assert read_block(tmp_path / "block", ["q"]).num_rows == len(ANSWERED)
    assert read_block(tmp_path / "block", ["other"]).num_rows == 0


SIDES = st.sampled_from([0.0, 0.0, 0.1, 1 / 3, 2.0, 1e9, 1e-12])


@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, -7.0, 1e12, 0.0, 123.456]), *[SIDES] * 4, st.booleans()),
        max_size=12,
    )
)
def test_sides_survive_being_stored(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[Any, ...]]
) -> None:
    quiet = [(INF, INF) if silent else (0.0, 0.0) for *_, silent in drawn]
    plain = [(*row, *ends) for (*row, _), ends in zip(drawn, quiet, strict=True)]
    rows = np.array(plain, np.float64).reshape(-1, 7)
    block = block_of(rows)
    path = tmp_path_factory.mktemp("blocks") / "block"
    write_block(path, block, epoch=1)
    found = read_block(path)
    np.testing.assert_array_equal(found["low"].to_numpy(), block.low)
    np.testing.assert_array_equal(found["high"].to_numpy(), block.high)
    for row, charges in zip(rows, found["charges"].to_pylist(), strict=True):
        known = {charge["by"]: (charge["below"], charge["above"]) for charge in charges}
        for name, at in (("kll", 1), ("late rows", 3), ("interruption", 5)):
            told = known.get(name, (0.0, 0.0))
            # Sides of one cause alone are the distances of the ends, rounded as these are.
            assert told == pytest.approx(tuple(row[at : at + 2]), abs=4 * np.spacing(abs(row[0])))


def test_a_block_with_one_cause_has_its_ends_alone(tmp_path: Path) -> None:
    value = np.array([1.0, 2.0])
    rows = np.stack((value, value / 2, value * 2, *np.zeros((4, 2))), axis=1)
    write_block(tmp_path / "block", block_of(rows), epoch=1)
    stored = pa.ipc.open_file(tmp_path / "block").read_all()
    assert {"low", "high"} <= set(stored.column_names)
    assert not {"own_below", "own_above"} & set(stored.column_names)
    (one, other) = read_block(tmp_path / "block")["charges"].to_pylist()
    assert [(c["by"], c["below"], c["above"]) for c in (*one, *other)] == [
        ("kll", 0.5, 2.0),
        ("kll", 1.0, 4.0),
    ]
