"""The auditor catches bars that are three times too narrow, and leaves those alone that hold.

False alarms: replicated auditors, each at a rate that would never be used (`LOOSE`), raise at most
as many as the cut-off of the binomial law at 1e-6 (`checks.trials.ALPHA`). Their streams are tight:
misses come exactly as often as they may. Never change a seed or a tolerance to make a test pass.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from streamgauge.audit.compare import WHOLE_TICKS, Found, Unit
from streamgauge.audit.evidence import LIFE_UNITS, share_bar
from streamgauge.audit.ledger import BY_FAMILIES, BY_QUERY, BY_ROUNDS, Ledger
from streamgauge.audit.shadow import LIFE, RENEWED
from streamgauge.checks.trials import ALPHA, cutoff
from streamgauge.drift.cells import TIMER, WATCH
from tests.audit.walking import Walk, deferred, narrow_bars, sampled, sketches
from tests.drift.test_timer import walked

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("STREAMGAUGE_SEED", "1000"))
LOOSE = 0.2
OWED = 0.1
BRIEF = {"stay": 1000, "false_alarm": 1e-4}


ASKED = {
    deferred: ({"timer", "watch"}, 0, 26),
    sketches: ({None}, 10, 15),
    sampled: ({"coins"}, 0, 20),
}


@pytest.mark.parametrize("ask", ASKED, ids=lambda ask: ask.__name__)
def test_bars_three_times_too_narrow_are_caught(
    ask: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught, items, pages = ASKED[ask]  # type: ignore[index]
    narrow_bars(monkeypatch, 3.0)
    walk = Walk(tmp_path, SEED, items=items)
    ask(walk)  # type: ignore[operator]
    with walk.audited(max(items, 8), **BRIEF) as auditor:  # type: ignore[arg-type]
        walk.turn(auditor, pages)
        assert {alarm.query for alarm in auditor.alarms} == caught


@pytest.mark.parametrize("ask", ASKED, ids=lambda ask: ask.__name__)
def test_bars_that_hold_are_left_alone(ask: object, tmp_path: Path) -> None:
    """At a rate of one false alarm in a million."""
    _, items, _ = ASKED[ask]  # type: ignore[index]
    walk = Walk(tmp_path, SEED + 1, items=items)
    ask(walk)  # type: ignore[operator]
    with walk.audited(max(items, 8), stay=1000, false_alarm=ALPHA) as auditor:
        walk.turn(auditor, 12)
        assert not auditor.alarms
        assert all(entry.comparisons for entry in auditor.ledger.entries.values())


def alarms(ledger: Ledger) -> bool:
    return bool(ledger.alarming(epoch=1, at=0))


def test_false_alarms_of_queries_are_as_rare_as_stated() -> None:
    rng, raised, auditors = np.random.default_rng([SEED, 1]), 0, 150
    for _ in range(auditors):
        ledger = Ledger(LOOSE)
        entry = ledger.entry("tight", 1, RENEWED, "plant")
        for missed in rng.random(200) < OWED:
            entry.take(Found(units=[Unit(float(missed), OWED)]))
            if alarms(ledger):
                raised += 1
                break
    assert raised <= cutoff(auditors, BY_QUERY * LOOSE)


def test_false_alarms_of_rounds_are_as_rare_as_stated() -> None:
    """Four queries that miss together: their mean has the evidence of one."""
    rng, raised, auditors = np.random.default_rng([SEED, 2]), 0, 150
    for _ in range(auditors):
        ledger = Ledger(LOOSE)
        for round_ in range(15):
            entries = [ledger.entry(f"q{i}", round_, RENEWED, "plant") for i in range(4)]
            for missed in rng.random(8) < OWED:
                for entry in entries:
                    entry.take(Found(units=[Unit(float(missed), OWED)]))
            ledger.end_round()
            ledger.entries.clear()
            if alarms(ledger):
                raised += 1
                break
    assert raised <= cutoff(auditors, BY_ROUNDS * LOOSE)


def test_false_alarms_of_sketches_are_as_rare_as_stated() -> None:
    """Each sketch misses always or never, as often as it may; two of a family have one luck."""
    rng, raised, auditors = np.random.default_rng([SEED, 3]), 0, 120
    for _ in range(auditors):
        ledger = Ledger(LOOSE)
        for family in range(20):
            unlucky = rng.random() < OWED
            for twin in range(2):
                entry = ledger.entry(f"{family} {twin}", 1, LIFE, str(family))
                entry.take(Found(units=[Unit(float(unlucky), OWED)] * LIFE_UNITS))
            if any(alarm.query is None for alarm in ledger.alarming(epoch=1, at=0)):
                raised += 1
                break
    assert raised <= cutoff(auditors, BY_FAMILIES * LOOSE)


@pytest.mark.parametrize("regime", [TIMER, WATCH], ids=["timer", "watch"])
def test_deferred_cells_on_their_tight_stream_are_left_alone(regime: int) -> None:
    """Motions without drift, on which a wait misses just as often as it may; a ledger a cell."""
    rng = np.random.default_rng([SEED, regime])
    cells = 60
    path = np.cumsum(rng.normal(size=(6_000, cells)), axis=0)
    run = walked(path, 6.0, 1.0 - OWED, regime=regime)
    raised = 0
    for cell in range(cells):
        ledger = Ledger(LOOSE)
        entry = ledger.entry("cell", 1, RENEWED, "plant")
        starts = np.flatnonzero(run.evaluated[:, cell])
        missed = np.add.reduceat(~run.inside[:, cell], starts)[:-1]
        for n, ticks in zip(missed.tolist(), np.diff(starts).tolist(), strict=True):
            weight = min(1.0, ticks / WHOLE_TICKS)
            entry.take(Found(units=[Unit(n / ticks, OWED, weight)]))
            if alarms(ledger):
                raised += 1
                break
    assert raised <= cutoff(cells, BY_QUERY * LOOSE)


def test_bars_around_shares_hold_at_all_times() -> None:
    rng, left, walks = np.random.default_rng([SEED, 4]), 0, 100
    for _ in range(walks):
        missed = np.cumsum(rng.random(400) < OWED)
        looks = range(1, 400, 5)
        bars = ((n + 1, share_bar(n + 1, float(missed[n]), LOOSE)) for n in looks)
        left += any(not low <= OWED <= high for _, (low, high) in bars)
    assert left <= cutoff(walks, LOOSE)
