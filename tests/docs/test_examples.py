"""The examples run as they are, without Java, and print what they printed before.

Their output is golden: answers depend on data and event time alone, so it is the same on every
machine and in every run.
"""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.goldens import GOLDEN, assert_golden

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
# Agents and the clock are in it: tests/edge_faults runs it and looks at what must hold.
LIVE = {"host_monitoring"}
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if p.stem not in LIVE)
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_printed_before(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert_golden(f"examples/{example.stem}.txt", capsys.readouterr().out)
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"


def test_every_golden_output_has_its_example() -> None:
    outputs = {path.stem for path in (GOLDEN / "examples").glob("*.txt")}
    assert outputs == {example.stem for example in EXAMPLES}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_how_it_is_run(example: Path) -> None:
    assert f"`python examples/{example.name}`" in example.read_text(encoding="utf-8")


def test_the_readme_shows_the_first_example_and_its_output() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert code in (ROOT / "examples" / "first_query.py").read_text(encoding="utf-8")
    (output,) = re.findall(r"```text answers\n(.*?)```", README, re.DOTALL)
    assert output == (GOLDEN / "examples" / "first_query.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "pictures").glob("*.svg")), ids=str)
def test_a_picture_stands_alone(picture: Path) -> None:
    """Well-formed, and nothing in it is fetched from another place."""
    root = ET.fromstring(picture.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"url\((?!#)|href=|@import", picture.read_text(encoding="utf-8"))
