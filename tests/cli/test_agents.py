"""The command `agents`: who is heard, what was spared, and what is advised."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call

pytestmark = pytest.mark.slow

HEARD = 1_767_225_600_000_000
AGENT = {
    "state": "heard",
    "heard": HEARD,
    "through": HEARD - 1_000_000,
    "offset": 0.25,
    "objects": 3,
    "readings": 900,
    "updates": 90,
    "reports": 80,
    "beats": 300,
    "late": 0,
    "refused": 0,
}
AGENTS = [
    {**AGENT, "agent": "north", "separate": 0.83, "aggregated": 0.225, "advice": "aggregate"},
    {**AGENT, "agent": "south", "separate": None, "aggregated": None, "advice": ""},
    # As it was written before there was advice.
    {**AGENT, "agent": "west", "state": "interrupted", "readings": 200, "updates": 20},
]
OBJECT = {"key": ["a", "load"], "agent": "north", "value": 1.5, "width": None, "burden": 0.25}


@pytest.fixture
def fed(home: Path) -> Path:
    """A home where a coordinator wrote its figures."""
    place = home / "edge" / "hosts"
    place.mkdir(parents=True)
    status = {"stream": "hosts", "agents": AGENTS, "objects": [{**OBJECT, "updates": 9}]}
    (place / "status.json").write_text(json.dumps(status))
    return home


def test_agents_are_listed_with_advice(call: Call, fed: Path) -> None:
    lines = call("agents", "--home", fed).stdout.splitlines()
    titles = lines[0].split()
    assert titles[-3:] == ["separate", "aggregated", "advice"]
    assert lines[1].split()[:3] == ["hosts", "north", "heard"]
    assert lines[1].split()[-3:] == ["0.83", "0.225", "aggregate"]
    assert lines[2].split()[-2:] == ["-", "-"]
    assert lines[3].split()[-3:] == ["-", "-", "-"]
    assert lines[4] == (
        "3 agents, 2 heard, 90.0% of 2,000 readings spared, "
        "1 would send less with one value per query"
    )


def test_objects_are_listed_with_their_keys(call: Call, fed: Path) -> None:
    lines = call("agents", "hosts", "--objects", "--home", fed).stdout.splitlines()
    assert lines[0].split() == ["stream", "key", "agent", "value", "width", "burden", "updates"]
    assert lines[1].split() == ["hosts", "a/load", "north", "1.5", "-", "0.25", "9"]
    assert lines[2].startswith("1 objects of 3 agents, 2 heard")


def test_agents_as_json(read: Callable[..., Any], fed: Path) -> None:
    north, south, west = read("agents", "--home", fed)
    assert (north["separate"], north["aggregated"], north["advice"]) == (0.83, 0.225, "aggregate")
    assert north["heard"] == "2026-01-01T00:00:00Z"
    assert (south["separate"], south["aggregated"], south["advice"]) == (None, None, "")
    assert west["advice"] is None
    assert [row["agent"] for row in read("agents", "--home", fed, "--limit", 2)] == [
        "north",
        "south",
    ]


def test_no_agents(call: Call, home: Path, fed: Path) -> None:
    assert call("agents", "other", "--home", fed).stdout == "0 agents, 0 heard\n"
    (home / "edge" / "hosts" / "status.json").unlink()
    assert call("agents", "--home", home).stdout == "0 agents, 0 heard\n"
