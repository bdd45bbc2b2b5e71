"""Twenty-five random kills of a Spark driver on one home."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from tests.chaos.killing import everything, finish, kill_after_epochs, plant_files

pytestmark = [pytest.mark.nightly, pytest.mark.jvm, pytest.mark.kills]


@pytest.mark.parametrize("exchange", ["", "exchange"], ids=["read", "sent"])
def test_spark_driver_killed_twenty_five_times(tmp_path: Path, exchange: str) -> None:
    files = plant_files(tmp_path / "files", n_files=90)
    finish(tmp_path / "undisturbed", files, "local", "", exchange)
    home = tmp_path / "home"
    for seed in range(25):
        kill_after_epochs(home, files, "spark", 4, seed, "local[2,4]", exchange)
    finish(home, files, "spark", "local[2,4]", exchange)
    assert everything(home) == everything(tmp_path / "undisturbed")
    journal = Journal(Home(str(home), 2))
    sent = [n for n in range(1, journal.last() + 1) if journal.page(n).scans]
    assert bool(sent) == bool(exchange)
