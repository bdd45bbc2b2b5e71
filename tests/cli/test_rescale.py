"""rescale: another number of shards for a home, whether its job runs or not."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.log.commits import home_after

pytestmark = pytest.mark.slow


def test_a_home_is_rescaled(call, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    (rows / "0.csv").write_text("k,ts,x\na,2026-01-01T00:00:00Z,1\n")
    gauge = sg.connect(tmp_path / "home", engine="local", shards=2)
    schema = sg.Schema.of(k="string", ts="time", x="float")
    gauge.stream("rows", sg.files(rows, format="csv"), time="ts", key="k", schema=schema)
    gauge.sql("CREATE QUERY n AS SELECT k, COUNT(*) FROM rows [RANGE 5 SECONDS] GROUP BY k")
    gauge.step()
    said = call("rescale", "--shards", 5, "--home", tmp_path / "home")
    assert said.exit_code == 0
    inbox = "left in the inbox: no job is running on this home"
    assert said.stdout == f"rescale to 5 shards: {inbox}\n"
    gauge.step()
    assert home_after(gauge.home, gauge.home.committed()).shards == 5
    assert "groups over 5 shards" in call("explain", "n", "--home", tmp_path / "home").stdout
    with sg.connect(tmp_path / "home", engine="local") as running:
        running.start()
        said = call("rescale", "--shards", 1, "--wait", 60, "--home", tmp_path / "home")
        assert said.stdout == "rescale to 1 shards: in force since epoch 3\n"


@pytest.mark.parametrize("shards", ["0", "5000"])
def test_what_no_home_can_have_is_refused(call, tmp_path: Path, shards: str) -> None:
    sg.connect(tmp_path, engine="local", shards=2)
    said = call("rescale", "--shards", shards, "--home", tmp_path)
    assert said.exit_code == 2
    assert "a number from 1 to 4096 is needed" in said.stderr
