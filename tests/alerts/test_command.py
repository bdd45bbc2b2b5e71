"""The command `alerts`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamgauge.alerts.watcher import Watcher
from streamgauge.cli.app import main
from tests.alerts.world import Plant

pytestmark = pytest.mark.slow


def said(home: Path, *options: str) -> str:
    done = CliRunner().invoke(main, ["alerts", "--home", str(home), *options])
    assert done.exit_code == 0, done.output
    return done.output


def test_alerts_are_listed_with_what_is_raised(tmp_path: Path) -> None:
    plant = Plant(tmp_path)
    plant.read(10)
    home = plant.gauge.home.root
    assert said(home) == "0 alerts, 0 raised, 0 delivered, 0 waiting, nobody watches\n"
    watcher = Watcher(plant.gauge, allow_webhooks=["127.0.0.0/8"])
    watcher.open()
    mail = f"DELIVER TO MAIL '{tmp_path / 'mail'}' FOR 'ops@example.org'"
    plant.gauge.sql(
        f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 {mail};"
        f"CREATE ALERT cold ON sites WHEN POSSIBLY BELOW 0 {mail}"
    )
    plant.read(120, 120)
    while watcher.step():
        pass
    watcher.stop()
    told = json.loads(said(home, "--json"))
    cold, hot = told["alerts"]
    assert (cold["states"], hot["states"][0]["state"], told["watched"]) == ([], "raised", False)
    assert [alert["name"] for alert in json.loads(said(home, "--json", "--raised"))["alerts"]] == [
        "hot"
    ]
    text = said(home)
    assert "calm" in text
    assert "2 alerts, 1 raised" in text
    plant.gauge.stop()
