"""kill -9 while small files are put together and old epochs go: what is kept is the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from streamgauge.log.compaction import compacted
from streamgauge.log.home import Home
from streamgauge.results.change_log import answers, as_answers
from streamgauge.testing.waiting import wait_until
from tests.chaos.killing import committed, finish, kill_group, start

KEEPER = Path(__file__).with_name("keeper.py")
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


def test_killed_while_the_home_is_kept_small(tmp_path: Path) -> None:
    files = csv_files(tmp_path / "files")
    finish(tmp_path / "undisturbed", files, "local", victim=KEEPER)
    home, dice = tmp_path / "home", np.random.default_rng(7)
    for _ in range(8):
        victim = start(home, files, "local", victim=KEEPER)
        target = committed(home) + int(dice.integers(2, 9))
        try:
            wait_until(
                lambda v=victim, t=target: committed(home) >= t or v.poll() is not None,
                180,
                what=f"epoch {target}",
                every=float(dice.uniform(0.001, 0.02)),
            )
        finally:
            if victim.poll() is None:
                kill_group(victim)
    finish(home, files, "local", victim=KEEPER)
    opened, other = Home(str(home), 2), Home(str(tmp_path / "undisturbed"), 2)
    cleared = max(opened.cleared(), other.cleared())
    assert cleared > FILES // 2
    assert compacted(opened, "ticks")
    assert not list(home.rglob(".*.tmp"))
    expected = kept(tmp_path / "undisturbed", cleared)
    assert any("query='long'" in answer for answer in expected)
    assert kept(home, cleared) == expected
