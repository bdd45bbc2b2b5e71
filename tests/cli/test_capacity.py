"""The command `plan-capacity`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamgauge.capacity.costs import Costs
from tests.goldens import assert_golden

from .conftest import Call

pytestmark = pytest.mark.slow

FIXED = Path(__file__).parents[1] / "capacity" / "fixed_costs.json"
ASKED = ("--rows", 50000, "--series", 10000, "--queries", 1000000, "--fresh", "5 s")


def test_advice_in_text(call: Call) -> None:
    result = call("plan-capacity", *ASKED, "--costs", FIXED)
    assert result.exit_code == 0, result.stderr
    assert_golden("capacity/deferred.txt", result.stdout)


def test_windows_in_text(call: Call) -> None:
    result = call(
        "plan-capacity", "--rows", 20000, "--series", 1000, "--queries", 500, "--kind", "window",
        "--groups", 200, "--source", "kafka", "--cores", 4, "--costs", FIXED,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert_golden("capacity/windows.txt", result.stdout)


def test_advice_as_json(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "advice.json"
    assert call("plan-capacity", *ASKED, "--costs", FIXED, "--json", path).exit_code == 0
    told = json.loads(path.read_text())
    assert told["workload"]["rows"] == 50000.0
    assert told["cores"]["low"] <= told["cores"]["value"]


def test_what_cannot_be_carried_is_refused_in_three_parts(call: Call) -> None:
    asked = ("--rows", 90_000_000, "--series", 1000, "--queries", 1000, "--costs", FIXED)
    result = call("plan-capacity", *asked)
    assert result.exit_code == 3
    assert_golden("capacity/refused.txt", result.stderr)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--rows", 5), 2, "nothing is said of series, queries"),
        (("--rows", -5, "--series", 1, "--queries", 1), 2, "rows of a workload must be more"),
        (("--quick",), 2, "add --measure"),
        (("--home", "nowhere"), 5, "no gauge lives in nowhere"),
        ((*ASKED, "--costs", "nowhere.json"), 5, "nowhere.json has no costs"),
        ((*ASKED, "--fresh", "soon"), 2, "soon"),
    ],
)
def test_mistakes_are_told(call: Call, arguments: tuple[object, ...], code: int, said: str) -> None:
    result = call("plan-capacity", *arguments)
    assert result.exit_code == code
    assert said in result.stderr


def test_costs_that_are_damaged_are_refused(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    Costs.read(FIXED).write(path)
    path.write_text(path.read_text()[:-200])
    result = call("plan-capacity", *ASKED, "--costs", path)
    assert result.exit_code == 5
    assert "has no costs that can be read" in result.stderr
