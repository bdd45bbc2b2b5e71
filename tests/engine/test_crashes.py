"""A crash at every step between landing and commit: after a restart, the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.engine import commit as commit_module
from streamgauge.engine import lander as lander_module
from streamgauge.engine import local as local_module
from streamgauge.engine import shard as shard_module
from streamgauge.engine.lander import Lander
from streamgauge.log import inbox
from streamgauge.log.journal import Journal
from streamgauge.results.change_log import as_answers
from streamgauge.sources.plant import Plant, PlantWriter

pytestmark = pytest.mark.slow


class Killed(BaseException):
    """Stands for kill -9: nothing of ours catches it."""


def files(directory: Path) -> Path:
    writer = PlantWriter(Plant(n_sensors=20, seed=5), str(directory))
    for _ in range(3):
        writer.write(60)
    return directory


def gauge_on(home: Path, source: Path) -> sg.Gauge:
    gauge = sg.connect(home, engine="local", shards=2, max_rows=1200)
    gauge.stream("plant", source=sg.files(source), time="ts", key="series")
    if not gauge._expected.queries:
        gauge.register(
            sg.Query("mean", "plant", sg.avg("value"), answer=sg.every("5 s")),
            sg.Query(
                "by",
                "plant",
                sg.var("value"),
                window=sg.Range("30 s", "10 s"),
                group_by="site",
                answer=sg.on_close(),
            ),
        )
    return gauge


def life(home: Path, source: Path) -> list[str]:
    """Everything that was answered, from a gauge that runs to the end."""
    gauge = gauge_on(home, source)
    while gauge.step():
        pass
    gauge.stop()
    return [repr(answer) for answer in as_answers(gauge.answers())]


def killing(real: Callable[..., Any], calls: int, *, after: bool) -> Callable[..., Any]:
    """The same function, dying at its n-th call, before or after its work."""
    left = [calls]

    def dying(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and not after:
            raise Killed
        result = real(*args, **options)
        if left[0] == 0:
            raise Killed
        return result

    return dying


POINTS = {
    "a control record is half written": (inbox, "write_json"),
    "a page is written": (Journal, "append"),
    "a snapshot is written": (Lander, "_write_snapshot"),
    "the inbox is cleared": (lander_module.inbox, "remove"),
    "a shard ran": (local_module.shard, "run"),
    "state is written": (shard_module, "write_whole"),
    "answers are written": (shard_module, "write_block"),
    "an epoch is committed": (local_module, "commit"),
    "old state is removed": (commit_module, "_forget_state"),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("call", [1, 2, 4])
def test_killed_and_started_again(
    point: str, call: int, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = files(tmp_path / "files")
    expected = life(tmp_path / "undisturbed", source)
    where, name = POINTS[point]
    monkeypatch.setattr(lander_module, "SNAPSHOT_EVERY", 2)
    monkeypatch.setattr(where, name, killing(getattr(where, name), call, after=after))
    home = tmp_path / "killed"
    try:
        life(home, source)
    except Killed:
        monkeypatch.undo()
        shard_module._RUNNING.clear()
    assert life(home, source) == expected


def test_a_half_written_file_is_never_seen(tmp_path: Path) -> None:
    source = files(tmp_path / "files")
    expected = life(tmp_path / "a", source)
    for directory in ("control", "journal", "commits", "registry"):
        (tmp_path / "b" / directory).mkdir(parents=True)
        (tmp_path / "b" / directory / ".000000000009.json.abc.tmp").write_text('{"number": 9')
    assert life(tmp_path / "b", source) == expected
