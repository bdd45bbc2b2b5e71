"""A home that is kept small answers as one that is not, and says what is gone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine import lander as lander_module
from streamgauge.engine import upkeep as upkeep_module
from streamgauge.engine.lander import Lander
from streamgauge.engine.upkeep import NEWEST_FILES, NEWEST_PAGES, Upkeep
from streamgauge.kernel.errors import BindError, Cleared
from streamgauge.kernel.files import numbered, write_json
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log import clearing, compaction
from streamgauge.log.compaction import compacted
from streamgauge.log.home import Home
from streamgauge.results.change_log import as_answers
from streamgauge.results.row_blocks import as_row_changes

NOON = instant("2026-01-31T12:00:00Z")
TICKS = sg.Schema.of(symbol="string", ts="time", price="float", note="string")
PAGES = 120


class Killed(BaseException):
    """Stands for kill -9: nothing of ours catches it."""


def write_csv(folder: Path, number: int) -> None:
    """Ten rows in two seconds, some of them late, some with a null or a word of their own."""
    folder.mkdir(exist_ok=True)
    lines = ["symbol,ts,price,note"]
    for i in range(10):
        second = 2 * number + i / 5 - (3 if i == 7 else 0)
        at = f"2026-01-31T12:{int(second) // 60 % 60:02d}:{second % 60:06.3f}Z"
        price = "" if i == 4 else f"{100 + (number * 7 + i * 3) % 11}"
        lines.append(f"{'XYZ'[i % 3]},{at},{price},n{number * 10 + i}")
    (folder / f"{number:06d}.csv").write_text("\n".join(lines) + "\n")


FIRST = (
    sg.Query("mean", "ticks", sg.avg("price"), answer=sg.every("5 s")),
    sg.Query(
        "spread",
        "ticks",
        sg.stddev("price"),
        window=sg.Range("30 s", "10 s"),
        group_by="symbol",
        answer=sg.on_close(),
    ),
)
HISTORY = """
CREATE QUERY long AS SELECT symbol, COUNT(*), SUM(price) FROM ticks [RANGE 3 MINUTES]
GROUP BY symbol EVERY 10 SECONDS;
CREATE QUERY dear AS SELECT symbol, price, note FROM ticks [RANGE 2 MINUTES] WHERE price > 109;
"""


def gauge_on(root: Path, **more: Any) -> sg.Gauge:
    gauge = sg.connect(root / "home", engine="local", shards=2, **more)
    source = sg.files(root / "rows", format="csv")
    gauge.stream(
        "ticks", source, time="ts", key="symbol", schema=TICKS, keep="2 min", late=sg.Late.allow(2)
    )
    if "mean" not in gauge._expected.queries:
        gauge.register(*FIRST)
    return gauge


def begun(root: Path, pages: int = PAGES, **more: Any) -> sg.Gauge:
    """A home of many pages, each with a small landed segment."""
    (root / "rows").mkdir(parents=True)
    gauge = gauge_on(root, **more)
    for number in range(pages):
        write_csv(root / "rows", number)
        gauge.step()
    return gauge


def go_on(root: Path, pages: int = 40, **more: Any) -> sg.Gauge:
    """Open the home again, ask for history, bring more rows."""
    gauge = gauge_on(root, **more)
    gauge.sql(HISTORY)
    start = len(list((root / "rows").glob("*.csv")))
    for number in range(start, start + pages):
        write_csv(root / "rows", number)
        while gauge.step():
            pass
    gauge.stop()
    return gauge


def told(gauge: sg.Gauge, since: int = 0) -> list[str]:
    """All answers after an epoch, numbers and rows."""
    numbers = [repr(a) for a in as_answers(gauge.answers(since_epoch=since))]
    changes = gauge.row_changes("dear", since_epoch=since)
    return numbers + [repr(change) for change in as_row_changes(changes)]


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """No upkeep by itself, until it is let."""
    monkeypatch.setattr(lander_module, "UPKEEP_EVERY", 10**9)
    return lambda: monkeypatch.setattr(lander_module, "UPKEEP_EVERY", 16)


def small_files(home: Path) -> list[Path]:
    return sorted((home / "segments").rglob("*.parquet"))


def total(folder: Path) -> tuple[int, int]:
    """Files and bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files)


def compact_all(home: Home) -> int:
    lander = Lander(home, max_rows=1000)
    return sum(lander.upkeep.compact_all(name, lander.finished(name)) for name in lander.held)


def test_history_over_compacted_files_is_that_over_small_ones(
    tmp_path: Path, never: Callable[[], None]
) -> None:
    begun(tmp_path / "plain").stop()
    shutil.copytree(tmp_path / "plain" / "rows", tmp_path / "small" / "rows")
    gauge = begun_from(tmp_path / "small")
    before = total(gauge.home.root / "segments")
    gone = compact_all(gauge.home)
    after = [total(gauge.home.root / part) for part in ("segments", "compacted")]
    assert gone > 20
    assert before[0] - after[0][0] == gone
    assert after[1][0] == 2
    assert after[0][1] + after[1][1] < before[1]
    assert len(small_files(gauge.home.root)) >= NEWEST_FILES
    assert told(go_on(tmp_path / "small")) == told(go_on(tmp_path / "plain"))


def begun_from(root: Path) -> sg.Gauge:
    """The same pages from files that are there: one file in each page."""
    rows = root / "rows"
    files = sorted(rows.glob("*.csv"))
    aside = root / "aside"
    rows.rename(aside)
    rows.mkdir()
    gauge = gauge_on(root)
    for file in files:
        (aside / file.name).rename(rows / file.name)
        gauge.step()
    gauge.stop()
    return gauge
