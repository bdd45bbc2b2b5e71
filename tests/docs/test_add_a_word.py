"""What CONTRIBUTING says of adding a metric holds: one file and one line, everything else follows.

The file stands there as a block. It is added to a copy of the tree, with its line in the table, and
what is derived is looked at from outside.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.check_links import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.budget(60, "loads a copy of the package")]

BLOCK = re.compile(r"^```python (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = dict(BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
COPIED = ("src", "tools", "docs/reference")
Run = Callable[..., str]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the tree; what is compiled of it stays valid, for its times are kept."""
    for folder in COPIED:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


@pytest.fixture
def run(copy: Path) -> Run:
    """Runs Python over the copy, in a directory of its own."""
    place = copy / "place"
    place.mkdir()

    def run(*command: str) -> str:
        variables = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}"}
        done = subprocess.run(
            [sys.executable, *command],
            cwd=place, env=variables, check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def add(copy: Path, file: str, table: str, before: str, line: str) -> None:
    """Add a file of CONTRIBUTING to the copy, and its line before another in a table."""
    package = copy / "src" / "streamgauge"
    assert not (package / file).exists()
    (package / file).write_text(BLOCKS[file], encoding="utf-8")
    text = (package / table).read_text(encoding="utf-8")
    assert text.count(before) == 1
    (package / table).write_text(text.replace(before, line + before), encoding="utf-8")


READ_METRICS = """
import streamgauge as sg
from streamgauge.server.figures import Figures
from streamgauge.server.prometheus import exposition
from streamgauge.server.telemetry import EVERY

with sg.connect("home", engine="local") as gauge:
    for name in ("ab", "abcde"):
        gauge.sql(f"CREATE STREAM {name} (ts TIME, value FLOAT) FROM PUSH TIME ts")
    gauge.step()
    print(exposition(Figures(gauge))[0].decode())
assert "streamgauge_toy_streams" in {metric.name for metric in EVERY}
"""


def test_a_metric_is_a_file_and_a_line(copy: Path, run: Run) -> None:
    table = "server/metrics/table.py"
    before = '    "streamgauge.server.metrics.audit",\n'
    line = '    "streamgauge.server.metrics.toy",\n'
    add(copy, "server/metrics/toy.py", table, before, line)
    told = run("-c", READ_METRICS)
    assert "streamgauge_toy_streams 1.0\n" in told
    assert "# HELP streamgauge_toy_streams Streams with a name of up to four letters." in told
    assert run(str(copy / "tools" / "reference_tables.py"), "--write") == "metrics.md\n"
    page = (copy / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    shown = "| `streamgauge_toy_streams` | gauge | - | Streams with a name of up to four letters. |"
    assert f"## The toy\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n{shown}" in page
    assert "- `streamgauge_toy_streams`\n" in page
