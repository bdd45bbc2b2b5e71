"""The auditor on real homes: turns, shadows that come and go, budget, crashes, what is reported."""

from __future__ import annotations

import json
import math
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

import streamgauge as sg
from streamgauge.audit import auditor as auditing
from streamgauge.audit.auditor import BARE, auditable
from streamgauge.audit.compare import Found, Unit
from streamgauge.audit.evidence import Renewed
from streamgauge.audit.ledger import Ledger
from streamgauge.audit.report import read
from streamgauge.audit.shadow import LIFE
from streamgauge.cli.app import main
from streamgauge.cli.vitals import Vitals
from streamgauge.kernel.errors import BindError, EngineFailure, QueryNotFound, StateTooOld
from streamgauge.kernel.files import read_json
from streamgauge.plan.registry import Standing
from streamgauge.plan.shadows import is_shadow
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.audit.walking import Walk, narrow_bars

pytestmark = pytest.mark.slow

KEPT = json.dumps(["exact", {}, 1])
SKETCH = json.dumps(["hll", {"lg_k": 12, "delta": 0.1}, 1])
OWED = sg.Contract.absolute(4.0, confidence=0.9)


def mean(name: str, series: str = "s0", **more: object) -> sg.Query:
    return sg.Query(name, "plant", sg.avg("v"), series=(series,), contract=OWED, **more)  # type: ignore[arg-type]


def shadows(walk: Walk) -> set[str]:
    return {name for name in walk.gauge.registry().queries if is_shadow(name)}


@pytest.fixture
def walk(tmp_path: Path) -> Walk:
    return Walk(tmp_path, 3, series=4, ticks=32)


def test_every_query_gets_its_turn(walk: Walk) -> None:
    names = {f"q{i}" for i in range(5)}
    walk.gauge.register(*(mean(name) for name in sorted(names)))
    with walk.audited(2, stay=3) as auditor:
        seen = []
        while auditor.cycle == 0 and len(seen) < 40:
            walk.turn(auditor, 1)
            seen.append(frozenset(auditor.audits))
        assert {name for round_ in seen for name in round_} == names
        assert max(map(len, seen)) == 2
        assert frozenset() in seen
        auditor.stop()
        walk.gauge.step()
        assert not shadows(walk)
        assert walk.gauge.refusals() == []


def test_a_query_that_changes_takes_its_shadows_along(walk: Walk) -> None:
    walk.gauge.register(mean("keep"), mean("drop"), mean("alter"))
    with walk.audited(stay=100) as auditor:
        walk.turn(auditor, BARE + 2)
        assert len(shadows(walk)) == 6
        walk.gauge.drop("drop")
        walk.gauge.alter(mean("alter", "s1"))
        walk.turn(auditor, 1)
        assert shadows(walk) == {"audit:keep", "audit ticks:keep"}
        assert set(auditor.audits) == {"keep"}
        walk.gauge.pause("keep")
        walk.turn(auditor, 1)
        before = auditor.ledger.entries["keep 1"].comparisons
        walk.turn(auditor, 2)
        assert auditor.ledger.entries["keep 1"].comparisons == before


def test_names_of_shadows_are_refused(walk: Walk) -> None:
    with pytest.raises(BindError, match="cannot be the name of a query"):
        walk.gauge.register(mean("audit:heat"))
    with pytest.raises(BindError, match="cannot be the name of a query"):
        walk.gauge.sql('CREATE QUERY "audit ticks:x" AS SELECT COUNT(*) FROM plant [NOW]')


def test_listings_leave_shadows_out(walk: Walk, tmp_path: Path) -> None:
    walk.gauge.register(mean("heat"))
    with walk.audited(stay=100) as auditor:
        walk.turn(auditor, BARE + 1)
        assert shadows(walk)
        with pytest.raises(BindError, match="cannot watch a shadow"):
            sg.connect(tmp_path / "home", engine="local").sql(
                'CREATE ALERT a ON "audit:heat" WHEN CERTAINLY ABOVE 1 '
                "DELIVER TO MAIL 'out' FOR 'ops@example.org'"
            )
        assert walk.gauge.sql("SHOW QUERIES")["name"].to_pylist() == ["heat"]  # type: ignore[index,union-attr]
        said = CliRunner().invoke(main, ["ls", "--home", str(tmp_path / "home"), "--json"])
        assert [query["name"] for query in json.loads(said.output)["queries"]] == ["heat"]
        asked = set(walk.gauge.sql("SHOW ANSWERS")["query"].to_pylist())  # type: ignore[index,union-attr]
        assert asked == {"heat"}
        with pytest.raises(QueryNotFound) as refused:
            walk.gauge.registry().query("cold")
        assert refused.value.detail == "there are heat"
        vitals = Vitals(walk.gauge)
        vitals.epoch = 0
        assert vitals.read()
        assert vitals.queries == 1


def test_what_is_not_audited_says_why(walk: Walk) -> None:
    minute, near = sg.Range("1 minute"), sg.Contract.relative(0.1, confidence=0.9)
    walk.gauge.sql("CREATE QUERY rows AS SELECT s, v FROM plant [RANGE 1 MINUTE] WHERE v > 100")
    registry = walk.gauge.trial().registry
    asked = {
        "windows of time": (
            sg.Query("exact", "plant", sg.avg("v"), window=minute, contract=near),
            "",
        ),
        "sketches over windows": (sg.Query("kept", "plant", sg.distinct("s"), window=minute), KEPT),
    }
    sketch = sg.Query("sketch", "plant", sg.distinct("s"), window=minute, contract=near)
    standing = [
        *(Standing(0, q, model=model, technique=known) for known, (q, model) in asked.items()),
        Standing(0, sketch, model=SKETCH, technique="sketches over windows"),
        Standing(0, mean("mean"), technique="deferral"),
    ]
    for one in standing:
        registry.queries[one.name] = one
    able, reasons = auditable(registry)
    assert set(able) == {"sketch", "mean"}
    assert able["sketch"].luck == LIFE
    assert list(reasons) == ["rows"]


def test_a_crash_keeps_the_evidence_and_shadows_left_behind_go(walk: Walk) -> None:
    walk.gauge.register(mean("heat"))
    with walk.audited(stay=100) as first:
        walk.turn(first, BARE + 8)
        entry = first.ledger.entries["heat 1"]
        assert entry.comparisons > 100
        with pytest.raises(EngineFailure, match="another process has audit"):
            sg.Auditor(walk.gauge).open()
    with walk.audited(stay=100) as second:
        assert second.place == first.place
        assert second.ledger.as_dict() == first.ledger.as_dict()
        walk.gauge.step()
        assert not shadows(walk)
        walk.turn(second, BARE + 8)
        assert second.ledger.entries["heat 1"].comparisons > entry.comparisons


def test_half_as_many_run_when_the_job_takes_too_long(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk.gauge.register(*(mean(f"q{i}") for i in range(4)))
    heavy = [True]

    def told(path: Path) -> object:
        laden = heavy[0] and bool(auditor.audits)
        return {**read_json(path), "seconds": 2.0 if laden else 1.0, "rows": 100}

    with walk.audited(4, stay=BARE + 2, share=0.5) as auditor:
        monkeypatch.setattr(auditing, "read_json", told)
        walk.turn(auditor, 2 * BARE + 3)
        assert auditor.allowed == 2
        heavy[0] = False
        walk.turn(auditor, 2 * BARE + 3)
        assert auditor.allowed == 3


def test_a_broken_bar_raises_one_alarm_and_is_reported(
    walk: Walk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow_bars(monkeypatch, times=20.0)
    walk.gauge.register(mean("heat"), sg.Query("cold", "plant", sg.avg("v"), window=sg.Latest()))
    with walk.audited(stay=100) as auditor:
        walk.turn(auditor, 30)
        (alarm,) = auditor.alarms
        assert alarm.query == "heat"
        assert "10% is allowed" in alarm.text
        report = read(walk.gauge.home)
        assert report.alarms == (alarm,)
        (heat,) = report.queries
        assert heat.alarm == alarm
        assert heat.now
        assert heat.promised == pytest.approx(0.9)
        assert heat.held.low <= heat.held.value < heat.held.high < 0.9  # type: ignore[operator]
        assert report.held.value == pytest.approx(heat.held.value)
        home = str(tmp_path / "home")
        shown = CliRunner().invoke(main, ["audit", "--home", home], terminal_width=200)
        assert "alarm at" in shown.output
        assert "1 queries audited, 0 wait, 0 cannot be" in shown.output
        told = json.loads(CliRunner().invoke(main, ["audit", "--home", home, "--json"]).output)
        assert told["alarms"][0]["query"] == "heat"
        assert told == json.loads(json.dumps(report.as_dict()))
    with Server(walk.gauge, Settings.of("http://127.0.0.1:0")) as server:
        served = httpx.get(f"{server.address}/v1/audit", verify=False).json()
        one = httpx.get(f"{server.address}/v1/queries/heat/audit", verify=False).json()
        other = httpx.get(f"{server.address}/v1/queries/cold/audit", verify=False).json()
        figures = httpx.get(f"{server.address}/metrics", verify=False).text
    assert served == told
    assert one == {"name": "heat", "audited": told["queries"][0], "reason": None}
    assert other == {"name": "cold", "audited": None, "reason": "its answers are exact"}
    assert 'streamgauge_query_audit_alarm{query="heat",version="1"} 1.0' in figures
    assert "audit:" not in figures


def test_a_home_without_an_auditor_says_so(walk: Walk, tmp_path: Path) -> None:
    walk.gauge.step()
    report = read(walk.gauge.home)
    assert not report.begun
    assert report.held.value is None
    said = CliRunner().invoke(main, ["audit", "--home", str(tmp_path / "home")])
    assert "no auditor has run" in said.output


def test_rounds_and_families_alarm_together() -> None:
    ledger = Ledger(1e-4)
    for round_ in range(12):
        entries = [ledger.entry(f"q{i}", 1, "renewed", "plant") for i in range(4)]
        for entry in entries:
            entry.take(Found(units=[Unit(0.5, 0.1)] * 10))
        ledger.end_round()
        # Each by itself is far from its limit when all together are not.
        ledger.entries.clear()
        if ledger.alarming(epoch=round_, at=0):
            break
    assert [alarm.id for alarm in ledger.alarms] == ["rounds"]
    for number in range(6):
        luck = ledger.entry(f"d{number}", 1, LIFE, f"column {number}")
        luck.take(Found(units=[Unit(1.0, 0.05)] * 64))
    ledger.alarming(epoch=20, at=0)
    assert [alarm.id for alarm in ledger.alarms] == ["rounds", "families"]
    again = Ledger.from_dict(json.loads(json.dumps(ledger.as_dict())))
    assert again == ledger
    assert again.alarming(epoch=21, at=0) == []


def test_a_bar_that_cannot_fail_is_refuted_at_once() -> None:
    ledger = Ledger(1e-4)
    ledger.entry("sure", 1, "sure", "plant").take(Found(comparisons=1000, misses=1, sure_misses=1))
    (alarm,) = ledger.alarming(epoch=1, at=0)
    assert alarm.text == "1 of 1,000 bars that cannot fail missed the truth"
    assert ledger.entries["sure 1"].log10 == math.inf


@pytest.mark.parametrize(
    "wrong", [{"at_once": 0}, {"stay": 0}, {"share": 0.0}, {"false_alarm": 1.0}]
)
def test_what_makes_no_sense_is_refused(walk: Walk, wrong: dict[str, float]) -> None:
    with pytest.raises(BindError, match="an auditor needs"):
        sg.Auditor(walk.gauge, **wrong)  # type: ignore[arg-type]


def test_a_query_that_takes_the_name_of_another_has_an_entry_of_its_own(walk: Walk) -> None:
    walk.gauge.register(mean("heat"))
    with walk.audited(stay=100) as auditor:
        walk.turn(auditor, BARE + 2)
        (old,) = auditor.ledger.entries.values()
        walk.gauge.drop("heat")
        near = sg.Contract.relative(0.1, confidence=0.9)
        often = {"window": sg.Range("8 s"), "answer": sg.every("8 s")}
        walk.gauge.register(sg.Query("heat", "plant", sg.distinct("v"), contract=near, **often))  # type: ignore[arg-type]
        walk.turn(auditor, BARE + 2)
        first, second = auditor.ledger.entries.values()
        assert first is old
        assert (first.luck, second.luck) == ("renewed", LIFE)
        assert (first.number, second.number) == (1, 2)
        assert first.id != second.id
        assert read(walk.gauge.home).query("heat").luck == LIFE  # type: ignore[union-attr]


def test_a_paused_query_is_not_compared_with_what_was_before(walk: Walk) -> None:
    walk.gauge.register(mean("heat"))
    with walk.audited(stay=100) as auditor:
        walk.turn(auditor, BARE + 2)
        walk.gauge.pause("heat")
        walk.turn(auditor, 1)
        bars = auditor.audits["heat"].bars
        assert not bars._truth


def test_what_cannot_be_read_says_what_to_do(walk: Walk, tmp_path: Path) -> None:
    kept = tmp_path / "home" / auditing.FOLDER / "state.json"
    kept.parent.mkdir()
    for text in ('{"epoch": 3, "sta', '{"epoch": 3, "state": {}}'):
        kept.write_text(text)
        with pytest.raises(StateTooOld, match="what audit of this home has saved"):
            sg.Auditor(walk.gauge).open()
        with pytest.raises(StateTooOld, match="what audit of this home has saved"):
            read(walk.gauge.home)


def test_an_epoch_that_is_taken_again_is_compared_once(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk.gauge.register(mean("heat"))
    with walk.audited(stay=4) as auditor:
        walk.turn(auditor, BARE + 3)
        entry, place = auditor.ledger.entries["heat 1"], auditor.place
        walk.turn(None, 1)
        with monkeypatch.context() as full:
            full.setattr(auditing.inbox, "submit", no_room)
            with pytest.raises(EngineFailure):
                auditor.step()
        before = entry.comparisons
        assert auditor.place == place
        while auditor.step():
            pass
        assert entry.comparisons == before
        assert not auditor.audits


def no_room(_home: object, _record: object) -> None:
    raise EngineFailure("the disk is full", "a record", "free some space")


def test_a_round_is_counted_once() -> None:
    """A round that found nothing adds nothing, whatever the round before it found."""
    ledger = Ledger(1e-4)
    entry = ledger.entry("q", 1, "renewed", "plant")
    entry.take(Found(units=[Unit(0.9, 0.1)] * 3))
    ledger.end_round()
    found = [list(sums) for sums in ledger.since]
    assert entry.here == Renewed(0.0)
    entry.take(Found(units=[Unit(0.0, 0.1)]))
    ledger.end_round()
    assert all(after[1] <= before[1] for before, after in zip(found, ledger.since, strict=False))
