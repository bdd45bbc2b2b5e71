"""Slips of people who call the package from Python: an error says what to do, never nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.kernel.errors import StreamgaugeError

SLIPS: dict[str, tuple[Callable[[Path], object], str]] = {
    "the newest answer of a query that nobody registered": (
        lambda root: sg.connect(root / "home", engine="local").latest("heat"),
        "no query named 'heat'",
    ),
    "a file for a data directory": (
        lambda root: sg.connect(_file(root), engine="local"),
        "is a file, not a data directory",
    ),
    "CSV files without their format": (
        lambda root: sg.connect(root / "home", engine="local").stream(
            "s", source=sg.files(_file(root).parent), key="k", time="ts"
        ),
        "no schema can be learned",
    ),
    "an engine that does not exist": (
        lambda root: sg.connect(root / "home", engine="loca"),
        "unknown engine 'loca'",
    ),
    "Python's and": (
        lambda root: (sg.col("k") == "a") and (sg.col("v") > 3),
        "is used as True or False",
    ),
    "Python's in": (lambda root: sg.col("k") in ("a", "b"), "is used as True or False"),
    "a chained comparison": (lambda root: 3 < sg.col("v") < 10, "is used as True or False"),
    "a contract that any answer meets": (lambda root: sg.Contract.relative(5), "500 percent"),
}


def _file(root: Path) -> Path:
    path = root / "rows.csv"
    path.write_text("k,v\n")
    return path


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_an_error_of_three_parts(slip: str, tmp_path: Path) -> None:
    call, what = SLIPS[slip]
    with pytest.raises(StreamgaugeError) as found:
        call(tmp_path)
    assert what in found.value.what
    assert found.value.detail
    assert found.value.hint
