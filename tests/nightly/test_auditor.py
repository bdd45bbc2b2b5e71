"""The auditor over a night: silent while promises are kept, and awake when one breaks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.audit.report import read
from tests.audit.walking import Walk, deferred, narrow_bars, sampled, sketches

pytestmark = pytest.mark.nightly

SEED = int(os.environ.get("STREAMGAUGE_SEED", "1000"))
PAGES = 800


@pytest.mark.timeout(3600)
def test_a_night_without_alarm_then_a_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """False alarms: one night in ten thousand."""
    walk = Walk(tmp_path, SEED, items=6)
    for ask in (deferred, sketches, sampled):
        ask(walk)
    minute, often = sg.Range("1 minute"), sg.every("5 s")
    near = sg.Contract.relative(0.2, confidence=0.95)
    within = sg.Contract.absolute(6.0, confidence=0.95)
    walk.gauge.register(
        sg.Query("groups", "plant", sg.avg("v"), group_by=("s",), contract=within),
        sg.Query("slid", "plant", sg.distinct("u0"), window=minute, answer=often, contract=near),
    )
    with walk.audited(4, stay=40, false_alarm=1e-4) as auditor:
        walk.turn(auditor, PAGES)
        report = read(walk.gauge.home)
        assert not report.alarms
        assert report.rounds > 10
        assert report.waiting == 0
        assert all(each.held.low <= each.promised + 0.05 for each in report.queries)
        narrow_bars(monkeypatch, 3.0)
        walk.turn(auditor, PAGES // 2)
        assert {"timer", "watch", "coins"} <= {alarm.query for alarm in auditor.alarms}
