"""kill -9 while small files are put together and old epochs go: what is kept is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.log.compaction import compacted
from streamgauge.log.home import Home
from streamgauge.results.change_log import answers, as_answers
from tests.chaos.keeper import main
from tests.chaos.killing import finish_forked, kill_forked

pytestmark = pytest.mark.kills
FILES = 60


def csv_files(directory: Path) -> Path:
    """A file of ten rows each: with pages of ten rows, a page and a segment each."""
    directory.mkdir()
    for number in range(FILES):
        rows = [
            f"{'XYZ'[i % 3]},2026-01-31T12:{number // 60:02d}:{number % 60:02d}.{i}Z,{number + i}"
            for i in range(10)
        ]
        (directory / f"{number:03d}.csv").write_text("\n".join(["symbol,ts,price", *rows]) + "\n")
    return directory


def kept(home: Path, after: int) -> list[str]:
    found = as_answers(answers(Home(str(home), 2)))
    return [repr(answer) for answer in found if answer.epoch > after]


@pytest.mark.parametrize("kills", [2, pytest.param(8, marks=pytest.mark.nightly)])
def test_killed_while_the_home_is_kept_small(tmp_path: Path, kills: int) -> None:
    files = csv_files(tmp_path / "files")
    finish_forked(main, tmp_path / "undisturbed", files, "local")
    home = tmp_path / "home"
    for seed in range(kills):
        # Few kills fall late, where there is something to clear away.
        least = 2 if kills > 2 else 14
        kill_forked(main, home, files, "local", least=least, most=least + 6, seed=seed)
    finish_forked(main, home, files, "local")
    opened, other = Home(str(home), 2), Home(str(tmp_path / "undisturbed"), 2)
    cleared = max(opened.cleared(), other.cleared())
    assert cleared > FILES // 2
    assert compacted(opened, "ticks")
    assert not list(home.rglob(".*.tmp"))
    expected = kept(tmp_path / "undisturbed", cleared)
    assert any("query='long'" in answer for answer in expected)
    assert kept(home, cleared) == expected
