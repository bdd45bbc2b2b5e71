"""A technique is a folder and a line: without them all tests pass that it has no part in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from streamgauge.plan.technique import TECHNIQUES
from tools.without_technique import copied, failed, folders, noted, own_tests, without

SOME = ("tests/work/test_toy_technique.py", "tests/plan/test_explain.py")
WHY = "runs tests of the tree and of a copy of it"


def left_failing(root: Path, name: str, taken: Mapping[str, list[str]], *options: str) -> list[str]:
    tree = copied(root / "tree")
    gone = without(tree, name)
    assert gone
    return failed(tree, own_tests(tree, name, gone, taken), options)


def test_every_line_is_of_a_folder() -> None:
    assert {line.split(".")[2] for line in TECHNIQUES} == set(folders())


@pytest.fixture(scope="module")
def taken() -> dict[str, list[str]]:
    return noted(SOME)


@pytest.mark.slow
@pytest.mark.budget(180, WHY)
@pytest.mark.parametrize("name", ["decay", "selections"])
def test_without_one_the_others_go_on(
    tmp_path: Path, name: str, taken: dict[str, list[str]]
) -> None:
    assert len(taken) > 5
    assert left_failing(tmp_path, name, taken, *SOME) == []


@pytest.mark.slow
@pytest.mark.budget(180, WHY)
def test_what_names_a_technique_elsewhere_is_found(tmp_path: Path) -> None:
    tree = copied(tmp_path / "tree")
    path = tree / "src/streamgauge/plan/explain.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("\n\n\n", "\nimport streamgauge.work.decay\n\n\n", 1))
    without(tree, "decay")
    assert failed(tree, [], SOME[1:]) == ["tests/plan/test_explain.py"]


@pytest.fixture(scope="module")
def taken_by_all() -> dict[str, list[str]]:
    return noted(["--quick"])


@pytest.mark.nightly
@pytest.mark.budget(1200, WHY)
@pytest.mark.parametrize("name", folders())
def test_without_any_the_quick_tests_pass(
    tmp_path: Path, name: str, taken_by_all: dict[str, list[str]]
) -> None:
    assert left_failing(tmp_path, name, taken_by_all, "--quick") == []
