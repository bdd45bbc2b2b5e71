"""How many functions and files a page and a tick go through on their way to a windowed average."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine import shard
from streamgauge.engine.progress import StreamRun

PACKAGE = Path(sg.__file__).parent
OWN = "work/windows"
DECLARED = "CREATE STREAM s (ts TIME, k STRING, x FLOAT) FROM FILES '{rows}' TIME ts KEY k"
ASKED = "CREATE QUERY q AS SELECT AVG(x) FROM s [RANGE 10 SECONDS SLIDE 1 SECOND]"


class Walk:
    """A home that has answered some pages; the functions that are called by the next one."""

    def __init__(self, root: Path) -> None:
        self.rows, self.page = root / "rows", 0
        self.rows.mkdir()
        self.gauge = sg.connect(root / "home", engine="local", shards=1)
        self.gauge.sql(DECLARED.format(rows=self.rows))
        self.gauge.sql(ASKED)

    def step(self) -> None:
        ts = [(2 * self.page + i) * 1_000_000 for i in range(2)]
        columns = [pa.array(ts, pa.timestamp("us", "UTC")), ["a", "b"], [1.0 * self.page, 2.0]]
        path = self.rows / f"{self.page:03d}.parquet"
        pq.write_table(pa.table(columns, ["ts", "k", "x"]), path)
        self.page += 1
        assert self.gauge.step()

    def through(
        self, owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> set[tuple[str, str]]:
        """Functions below one, with their files; what stands inside another is part of it."""
        method: Callable[..., Any] = getattr(owner, name)
        found: set[tuple[str, str]] = set()

        def called(frame: Any, event: str, argument: Any) -> None:
            code, path = frame.f_code, Path(frame.f_code.co_filename)
            if event == "call" and path.is_relative_to(PACKAGE) and code.co_name[0] != "<":
                found.add((path.relative_to(PACKAGE).as_posix(), code.co_qualname))

        def watched(*args: Any, **named: Any) -> Any:
            sys.setprofile(called)
            try:
                return method(*args, **named)
            finally:
                sys.setprofile(None)

        with monkeypatch.context() as patched:
            patched.setattr(owner, name, watched)
            self.step()
        return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "name", "functions", "files"),
    [
        # From the rows that take effect to answers.
        (StreamRun, "_check", 39, 15),
        # From the page to answers: rows are read, and those that are due are chosen.
        (StreamRun, "advance", 99, 28),
        # And answers and state are written.
        (shard, "run", 163, 44),
    ],
)  # fmt: skip
def test_a_page_goes_through_few_functions(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    functions: int,
    files: int,
) -> None:
    walk = Walk(tmp_path)
    for _ in range(12):
        walk.step()
    found = walk.through(owner, name, monkeypatch)
    there = {path for path, _ in found}
    assert any(path.startswith(OWN) for path in there)
    assert [path for path in there if path.startswith("work/") and not path.startswith(OWN)] == []
    # These may fall, never rise.
    assert len(found) <= functions, sorted(found)
    assert len(there) <= files, sorted(there)
    shard.forget(walk.gauge.home)
