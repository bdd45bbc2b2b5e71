"""What a home has taken of a control topic, whatever dies between two steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.control.control_topic import ControlTopic
from streamgauge.control.ledger import Ledger
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import BindError, EngineFailure, StateTooOld
from streamgauge.kernel.files import read_json
from streamgauge.log import inbox
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal

pytest.importorskip("confluent_kafka")
ADDRESS = "kafka://127.0.0.1:1/statements"
STREAM = "CREATE STREAM plant FROM PLANT (4, 1, 60) KEY series TIME ts"
QUERY = "CREATE QUERY q AS SELECT AVG(value) FROM plant EVERY 1 MINUTE"
# Two kinds of records, so that something can come between them.
BOTH = f"{STREAM}; CREATE WINDOW few AS [ROWS 3]; {QUERY};".encode()


class Died(BaseException):
    """Stands for the end of the process."""


def topic(home: Path) -> ControlTopic:
    gauge = sg.connect(home, engine="local")
    found = ControlTopic(gauge, ADDRESS)
    found.ledger.meet("cluster", 0)
    return found


def dies_at(monkeypatch: pytest.MonkeyPatch, turn: int) -> None:
    """Let the process end before it leaves its n-th record."""
    turns = iter(range(turn + 1))
    real = inbox.submit

    def submit(home: Home, record: dict[str, Any], name: str | None = None) -> str:
        if next(turns) == turn:
            raise Died
        return real(home, record, name)

    monkeypatch.setattr(inbox, "submit", submit)


def landed(gauge: Gauge) -> list[str]:
    """What the journal has taken, in order."""
    while gauge.step():
        pass

    changes = []
    for path in sorted(gauge.home.journal.glob("*.json")):
        changes += read_json(path)["changes"]
    return [change["do"] for change in changes]


@pytest.mark.parametrize("landing", [False, True], ids=["in the inbox", "in the journal"])
@pytest.mark.parametrize("turn", [0, 1, 2])
def test_a_record_is_left_once_wherever_it_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turn: int, landing: bool
) -> None:
    first = topic(tmp_path)
    dies_at(monkeypatch, turn)
    with pytest.raises(Died):
        first.take(0, BOTH)
    monkeypatch.undo()
    if landing:
        landed(sg.connect(tmp_path, engine="local"))
    again = topic(tmp_path)
    assert again.ledger.next == 1, "the record is taken"
    again._recover()
    assert again.ledger.missing() == []
    again._recover()
    assert landed(again.gauge) == ["stream", "window", "register"]
    assert list(again.gauge.registry().queries) == ["q"]
    # The gauge that recovered knows what it left, and can go on from there.
    told = again.take(1, b"DROP QUERY q")
    assert told["ok"]
    assert told["did"] == ["dropped q"]


def test_a_record_that_does_not_fit_changes_nothing_and_is_told(tmp_path: Path) -> None:
    found = topic(tmp_path)
    told = found.take(0, f"{STREAM}; CREATE QUERY q AS SELECT AVG(valve) FROM plant".encode())
    assert (told["ok"], told["offset"], found.ledger.next) == (False, 0, 1)
    assert "valve" in told["what"]
    assert told["hint"]
    assert found.take(1, None)["did"] == []
    for offset, value in ((2, b"\xff"), (3, b"SELEKT")):
        assert not found.take(offset, value)["ok"]
    assert landed(found.gauge) == []
    assert found.take(4, BOTH)["ok"]
    assert landed(found.gauge) == ["stream", "window", "register"]
    assert (found.taken, found.refused) == (2, 3)


def test_a_disk_that_fails_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = topic(tmp_path)

    def full(**_said: object) -> None:
        raise EngineFailure("the disk is full", "0 bytes", "free some space")

    monkeypatch.setattr(found.ledger, "_write", full)
    with pytest.raises(EngineFailure):
        found.take(0, BOTH)
    assert Ledger(found.gauge.home, "statements").next == 0


def test_another_cluster_is_refused(tmp_path: Path) -> None:
    found = topic(tmp_path)
    found.take(0, BOTH)
    with pytest.raises(StateTooOld, match="another cluster"):
        found.ledger.meet("other", 0)


@pytest.mark.parametrize("address", ["http://h/t", "kafka://h", "kafka:///t", "kafka://h/a/b"])
def test_addresses_that_name_no_topic_are_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(BindError, match="no control topic"):
        ControlTopic(sg.connect(tmp_path, engine="local"), address)


def test_what_the_newest_page_took_is_not_missing(tmp_path: Path) -> None:
    first = topic(tmp_path)
    first.take(0, BOTH)
    gauge = sg.connect(tmp_path, engine="local")
    gauge.step()
    journal = Journal(gauge.home)
    assert journal.page(journal.last()).inbox, "the newest page is the one that took them"
    assert topic(tmp_path).ledger.missing() == []
