"""A budget of cores: machines of different speed do different work, a replay does the same."""

from __future__ import annotations

import itertools
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.engine import shard
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.plan import registry
from streamgauge.plan.assignment import Assignment
from tests.kit.replay import run_pages

pytestmark = pytest.mark.slow

PAGES, TICKS, ROWS = 5, 4, 400
SCRIPT = """
CREATE STREAM sales (ts time, item string, price float)
    FROM FILES '{folder}' FORMAT csv KEY item TIME ts;
CREATE SUMMARY items ON sales(item) WITH GRANULARITY 10 SECONDS AND COLLAPSE(2, 2);
CREATE QUERY pairs AS SELECT a.item AS item, a.price AS x, b.price AS y
    FROM sales [RANGE 10 SECONDS] a, sales [RANGE 10 SECONDS] b
    WHERE a.item = b.item AND a.price > 200 AND b.price < 100
    WITH PREFERENCE DESC COUNT(a.item), COUNT(b.item) BUDGET CPU 0.0001;
"""


def _lines(page: int) -> str:
    rows = [
        f"2026-01-01T00:00:{second:02d}Z,i{(7 * i * i + second) % 101},{i}\n"
        for second in range(TICKS * page, TICKS * page + TICKS)
        for i in range(ROWS)
    ]
    return "ts,item,price\n" + "".join(rows)


def _machine(monkeypatch: pytest.MonkeyPatch, block_ns: int) -> None:
    """A machine on which every measured block takes the same time."""
    ticking = itertools.count(0, block_ns)
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(ticking))


def _ran(root: Path, folder: Path) -> Home:
    """A home that was fed page by page; files land as they appear."""
    gauge = sg.connect(root, engine="local", shards=2)
    gauge.sql(SCRIPT.format(folder=folder))
    for page in range(PAGES):
        (folder / f"{page}.csv").write_text(_lines(page))
        while gauge.step():
            pass
    shard.forget(gauge.home)
    return gauge.home


def _given(home: Home) -> dict[str, bytes]:
    files = [*(home.root / "rows").rglob("*"), *(home.root / "state").rglob("*")]
    # What is between the dots is the attempt.
    return {
        f"{f.parent.relative_to(home.root)}/{f.name.split('.')[0]}": f.read_bytes()
        for f in files
        if f.is_file()
    }


def _prices(home: Home) -> list[dict[str, Any]]:
    journal = Journal(home)
    changes = [c for n in range(1, journal.last() + 1) for c in journal.page(n).changes]
    return [change["costs"]["join"] for change in changes if change["do"] == "costs"]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Home]:
    """One that ran on a fast machine, and one on a slow one."""
    root, made = tmp_path_factory.mktemp("machines"), []
    for name, block_ns in (("fast", 2_000), ("slow", 2_000_000)):
        folder = root / f"{name}-sales"
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patched:
            _machine(patched, block_ns)
            made.append(_ran(root / name, folder))
    return made[0], made[1]


def test_speed_is_written_down_and_decides(homes: tuple[Home, Home]) -> None:
    fast, slow = homes
    assert _prices(fast)
    assert _prices(slow)
    assert _prices(fast)[-1]["raw"] < _prices(slow)[-1]["raw"]
    reader = [sg.connect(home.root, engine="local") for home in homes]
    found = [gauge.row_changes("pairs").num_rows for gauge in reader]
    assert found[0] > found[1] > 0
    assert all(gauge.progress().overloaded > 0 for gauge in reader)


def test_what_was_done_is_told(homes: tuple[Home, Home]) -> None:
    gauge = sg.connect(homes[1].root, engine="local")
    lines = str(gauge.sql("EXPLAIN ANALYZE pairs")).splitlines()
    told = dict(line.strip().split("  ", 1) for line in lines if line.startswith("  "))
    price = _prices(homes[1])[-1]["raw"]
    assert "for 0.0001 cores, at insert " in told["budget"]
    assert told["budget"].endswith(f"raw {price:,.0f} ns")
    assert f"{gauge.progress().overloaded} of {PAGES * TICKS - 1} ticks" in told["overload"]
    assert f"{100 * gauge.progress().share:.3g}% at last" in told["regions"]


def test_a_replay_on_another_machine_gives_the_same_bytes(
    homes: tuple[Home, Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, _ = homes
    first = _given(fast)
    assert first
    copy = Home.open(tmp_path / "copy", shards=2)
    shutil.copytree(fast.journal, copy.journal)
    _machine(monkeypatch, 5_000_000)
    run_pages(copy, forget=True)
    assert _given(copy) == first


def test_prices_are_taken_in_without_a_plan_and_decide_as_with_one(
    homes: tuple[Home, Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept in memory all along, or planned anew for each page with changes, also of prices."""
    fast, _ = homes
    assert len(_prices(fast)) > 1
    planned, plans = shard._planned, [0]

    def counted(*args: Any) -> Any:
        plans[0] += 1
        return planned(*args)

    monkeypatch.setattr(shard, "_planned", counted)
    counts = []
    for name, pricing in (("quiet", registry.PLANLESS), ("loud", ())):
        copy, plans[0] = Home.open(tmp_path / name, shards=2), 0
        shutil.copytree(fast.journal, copy.journal)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(registry, "PLANLESS", pricing)
            if not pricing:
                patched.setattr(Assignment, "change", lambda *_: None)
            run_pages(copy)
            shard.forget(copy)
        counts.append(plans[0])
        rows = sorted((fast.root / "answers").rglob("*.arrow"))
        assert rows
        for file in rows:
            # Who wrote a file is the second part of its name.
            place = copy.root / file.parent.relative_to(fast.root)
            (twin,) = place.glob(f"{file.name.partition('.')[0]}.*")
            assert twin.read_bytes() == file.read_bytes()
    journal = Journal(fast)
    changing = [n for n in range(1, journal.last() + 1) if journal.page(n).changes]
    assert len(changing) > len(_prices(fast))
    # Both plan once, before the first page.
    assert counts == [2, 2 + 2 * len(changing)]
