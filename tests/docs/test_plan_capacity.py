"""The worked example of the how-to page is what the command says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streamgauge.capacity.workload import KINDS
from streamgauge.cli import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "plan_capacity.md"
FIXED = ROOT / "tests" / "capacity" / "fixed_costs.json"


def block(name: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^```text {name}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def called(arguments: str) -> Result:
    return CliRunner().invoke(main, [*shlex.split(arguments), "--costs", str(FIXED)])


def test_the_plan_is_what_the_command_says() -> None:
    command = re.search(r"^streamgauge (plan-capacity --rows 200000 .*)$", PAGE.read_text(), re.M)
    assert command is not None
    said = called(command[1]).stdout
    assert [line.rstrip() for line in said.splitlines()] == block("plan")


def test_the_refusal_is_what_the_command_says() -> None:
    asked, *told = block("refused")
    result = called(asked.removeprefix("$ streamgauge "))
    assert result.exit_code == 3
    assert result.stderr.splitlines() == told


def test_every_kind_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"`{kind}`" not in text] == []
