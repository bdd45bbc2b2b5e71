"""The watcher on real homes: what it raises, clears, delivers and gives up."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.alerts import report, webhook_sender
from streamgauge.alerts.crossing import Crossing
from streamgauge.alerts.mail_sender import message
from streamgauge.alerts.outbox import Delivery, Outbox, acknowledged
from streamgauge.alerts.public_address import networks
from streamgauge.alerts.undelivered import Undelivered
from streamgauge.alerts.watcher import Watcher, watched
from streamgauge.alerts.webhook_sender import WebhookSender
from streamgauge.audit.auditor import FOLDER as AUDITED
from streamgauge.audit.ledger import Alarm, Ledger
from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.errors import BindError, EngineFailure
from streamgauge.kernel.files import write_json
from streamgauge.log.home import Home
from streamgauge.plan.alert import Target
from streamgauge.results import follower
from streamgauge.results.change_log import epochs_after
from tests.alerts.world import Plant, Receiver

pytestmark = pytest.mark.slow


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Plant]:
    made = Plant(tmp_path)
    made.read(10)
    yield made
    made.gauge.stop()


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    return tmp_path / "mail"


def catch_up(watcher: Watcher) -> None:
    """Judge all that is committed; nothing is sent by this."""
    while watcher.step():
        pass
    watcher.rest()


def to(mail: Path) -> str:
    return f"DELIVER TO MAIL '{mail}' FOR 'ops@example.org'"


@pytest.fixture
def watcher(plant: Plant) -> Iterator[Watcher]:
    made = Watcher(plant.gauge, first_wait=0.01, allow_webhooks=["127.0.0.0/8"])
    made.open()
    yield made
    made.stop()


def told(plant: Plant, alert: str) -> list[tuple[int, str]]:
    return [(crossing.n, crossing.state) for crossing in report.read(plant.gauge.home).of(alert)]


class Counting(follower.Follower):
    """A follower that keeps the numbers of epochs, unless it cannot."""

    def __init__(self, home: Home) -> None:
        super().__init__(home, "counting")
        self.taken: list[int] = []
        self.full = False

    def restore(self, state: dict[str, Any]) -> None:
        self.taken = state["taken"]

    def saved(self) -> dict[str, Any]:
        return {"taken": self.taken}

    def take(self, epoch: int) -> None:
        if self.full:
            raise OSError("no space left")
        self.taken.append(epoch)


def test_an_epoch_that_could_not_be_taken_in_is_taken_in_after_a_restart(plant: Plant) -> None:
    first = Counting(plant.gauge.home)
    first.open()
    plant.read(20)
    assert first.step()
    plant.read(30)
    first.full = True
    with pytest.raises(OSError, match="no space"):
        first.step()
    first.close()
    second = Counting(plant.gauge.home)
    second.open()
    assert second.step()
    assert not second.step()
    second.close()
    assert second.taken == epochs_after(plant.gauge.home, 0)[-2:]


def test_a_crossing_is_told_with_the_answer_and_its_bar(
    plant: Plant, watcher: Watcher, mail: Path
) -> None:
    plant.gauge.sql(f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 CLEAR BELOW 90 {to(mail)}")
    plant.read(120, 95, 101, 80, 80)
    catch_up(watcher)
    assert told(plant, "hot") == [(2, "cleared")]
    wait_until(lambda: len(list(mail.glob("*.eml"))) == 2, 60, what="two messages")
    (first,) = mail.glob("*-1.eml")
    message = message_from_bytes(first.read_bytes())
    assert message["Subject"] == "hot raised: heat certainly above 100, cleared below 90"
    assert message["To"] == "ops@example.org"
    body = str(message.get_payload())
    said = json.loads(body[body.index("{") :])
    assert (said["alert"], said["state"], said["n"]) == ("hot", "raised", 1)
    assert (said["answer"]["value"], said["answer"]["low"]) == (120.0, 120.0)
    assert said["id"] == first.stem
    assert Crossing.from_dict(said).as_dict() == said


def test_groups_are_raised_for_themselves(plant: Plant, watcher: Watcher, mail: Path) -> None:
    plant.gauge.sql(f"CREATE ALERT site ON sites WHEN CERTAINLY ABOVE 100 {to(mail)}")
    plant.gauge.sql(f"CREATE ALERT one ON sites GROUP ('west') WHEN CERTAINLY ABOVE 100 {to(mail)}")
    plant.read(120)
    plant.read(130, site="south")
    plant.read(10, 10)
    catch_up(watcher)
    found = {
        crossing.group: crossing.state for crossing in report.read(plant.gauge.home).of("site")
    }
    assert found["north",] == "cleared"
    assert ("south",) in found
    assert report.read(plant.gauge.home).of("one") == ()


def test_an_answer_that_stands_already_raises_a_new_alert(
    plant: Plant, watcher: Watcher, mail: Path
) -> None:
    plant.read(150, 150)
    catch_up(watcher)
    plant.gauge.sql(f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 {to(mail)}")
    plant.step()
    catch_up(watcher)
    assert told(plant, "hot") == [(1, "raised")]
    plant.gauge.sql(f"CREATE OR REPLACE ALERT hot ON heat WHEN CERTAINLY ABOVE 200 {to(mail)}")
    plant.step()
    catch_up(watcher)
    assert told(plant, "hot") == [(2, "cleared")]


def test_the_same_answers_give_the_same_crossings(plant: Plant, watcher: Watcher) -> None:
    plant.gauge.sql(f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 {to(Path('/nowhere'))}")
    plant.read(10)
    catch_up(watcher)
    before, place = json.loads(json.dumps(watcher.saved())), watcher.place
    plant.read(120, 80, 130, 70, 70)
    catch_up(watcher)
    again = Watcher(plant.gauge, allow_webhooks=["127.0.0.0/8"])
    again.restore(before)
    again.place = place
    while again.place < watcher.place:
        again.place += 1
        again.take(again.place)
    assert again.states == watcher.states
    assert watcher.states["hot"][""].n == 4


def test_an_altered_query_keeps_the_state_of_its_alert(
    plant: Plant, watcher: Watcher, mail: Path
) -> None:
    plant.gauge.sql(f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 {to(mail)}")
    plant.read(120, 120)
    plant.gauge.sql(
        "ALTER QUERY heat AS SELECT MAX(value) FROM plant [PARTITION BY series ROWS 1] ON CHANGE"
    )
    plant.read(130, 130)
    catch_up(watcher)
    assert told(plant, "hot") == [(1, "raised")]


def test_groups_that_are_gone_are_cleared(plant: Plant, watcher: Watcher, mail: Path) -> None:
    plant.gauge.sql(f"CREATE ALERT site ON sites WHEN CERTAINLY ABOVE 100 {to(mail)}")
    plant.read(120, 120)
    catch_up(watcher)
    plant.gauge.sql(
        "ALTER QUERY sites AS SELECT AVG(value) FROM plant [RANGE 1 SECOND] EVERY 1 SECOND"
    )
    plant.read(120, 120)
    catch_up(watcher)
    found = {c.group: (c.state, c.because) for c in report.read(plant.gauge.home).of("site")}
    assert found == {("north",): ("cleared", "no longer watched"), (): ("raised", "")}


def test_a_webhook_is_tried_until_it_says_yes_and_holds_nobody_up(plant: Plant, mail: Path) -> None:
    with (
        Receiver(500, 302, 204) as slow,
        Watcher(plant.gauge, first_wait=0.01, allow_webhooks=["127.0.0.0/8"]),
    ):
        plant.gauge.sql(
            f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 "
            f"DELIVER TO WEBHOOK '{slow.url}' AND TO MAIL '{mail}' FOR 'ops@example.org'"
        )
        plant.read(120, 80, 80)
        wait_until(lambda: len(slow.ids()) == 2, 60, what="both crossings")
        wait_until(lambda: len(list(mail.glob("*.eml"))) == 2, 60, what="both messages")
        assert [body["state"] for _, body in slow.got] == ["raised"] * 3 + ["cleared"]
        wait_until(lambda: not report.read(plant.gauge.home).waiting, 60, what="an empty outbox")


def test_what_waits_is_told_with_the_reason_and_goes_with_its_alert(
    plant: Plant, tmp_path: Path
) -> None:
    with (
        Receiver(503) as broken,
        Watcher(plant.gauge, first_wait=0.01, allow_webhooks=["127.0.0.0/8"]),
    ):
        secret = f"{broken.url}?key=s3cret"
        plant.gauge.sql(
            f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 DELIVER TO WEBHOOK '{secret}'"
        )
        plant.read(120, 120)

        def failing() -> report.Waiting | None:
            found = report.read(plant.gauge.home).targets
            return found[0] if found and found[0].tries else None

        waiting = wait_until(failing, 60, what="a failure")
        assert waiting is not None
        assert (waiting.waiting, waiting.reason) == (1, "the receiver said 503")
        assert "s3cret" not in str(waiting.as_dict())
        plant.gauge.sql("DROP ALERT hot")
        plant.step()
        wait_until(lambda: not report.read(plant.gauge.home).waiting, 60, what="nothing waiting")


def test_an_alert_made_again_has_other_ids(plant: Plant, watcher: Watcher, mail: Path) -> None:
    make = f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 {to(mail)}"
    plant.gauge.sql(make)
    plant.read(120, 120)
    catch_up(watcher)
    (first,) = report.read(plant.gauge.home).of("hot")
    plant.gauge.sql("DROP ALERT hot")
    plant.step()
    catch_up(watcher)
    plant.gauge.sql(make)
    plant.step()
    catch_up(watcher)
    (second,) = report.read(plant.gauge.home).of("hot")
    assert (first.n, second.n) == (1, 1)
    assert first.id != second.id


def test_alarms_of_the_auditor_are_raised_once(plant: Plant, watcher: Watcher, mail: Path) -> None:
    plant.gauge.sql(f"CREATE ALERT audits ON AUDIT WHEN ALARM {to(mail)}")
    plant.step()
    ledger = Ledger(0.01)
    ledger.alarms.append(Alarm("heat 1", "heat", 3, 0, "heat misses more than it owes"))
    folder = plant.gauge.home.root / AUDITED
    for _ in range(2):
        write_json(folder / "state.json", {"epoch": 3, "state": {"ledger": ledger.as_dict()}})
        catch_up(watcher)
    (found,) = report.read(plant.gauge.home).of("audits")
    assert (found.n, found.group, found.because) == (1, ("heat",), "heat misses more than it owes")


def test_one_watcher_on_a_home(plant: Plant, watcher: Watcher) -> None:
    assert watched(plant.gauge.home)
    with pytest.raises(EngineFailure, match="another process has alerts"):
        Watcher(plant.gauge, allow_webhooks=["127.0.0.0/8"]).open()


def test_late_rows_do_not_turn_what_later_answers_have_settled(tmp_path: Path, mail: Path) -> None:
    source = tmp_path / "late"
    source.mkdir()
    gauge = sg.connect(tmp_path / "revising", engine="local")
    gauge.sql(
        f"CREATE STREAM rows (ts TIME, series STRING, value FLOAT) FROM FILES '{source}' "
        "KEY series TIME ts FORMAT csv LATE REVISE 1 MINUTE;"
        "CREATE QUERY load AS SELECT SUM(value) FROM rows [RANGE 1 SECOND] EVERY 1 SECOND;"
        f"CREATE ALERT high ON load WHEN CERTAINLY ABOVE 100 {to(mail)}"
    )
    watcher = Watcher(gauge, allow_webhooks=["127.0.0.0/8"])
    watcher.open()

    def rows(name: str, *seconds_and_values: tuple[int, float]) -> None:
        lines = [f"2026-01-01T00:00:{at:02d}Z,a,{value}" for at, value in seconds_and_values]
        (source / f"{name}.csv").write_text("\n".join(["ts,series,value", *lines, ""]))
        while gauge.step():
            pass
        catch_up(watcher)

    rows("a", (1, 10), (2, 20), (3, 30), (4, 40))
    rows("b", (1, 500), (5, 50))
    newest = gauge.answers("load").to_pylist()
    watcher.stop()
    gauge.stop()
    assert any(answer["revision"] and answer["value"] > 100 for answer in newest)
    assert report.read(gauge.home).of("high") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE ALERT a ON nobody WHEN INTERRUPTED", "no query named 'nobody'"),
        ("CREATE ALERT a ON heat GROUP ('x') WHEN INTERRUPTED", "a group of 1 values"),
        ("CREATE ALERT hot ON heat WHEN INTERRUPTED", "exists already"),
        ("DROP QUERY heat", "is watched"),
        ("ALTER QUERY heat AS SELECT value FROM plant [NOW] WHERE value > 3", "cannot watch rows"),
        ("DROP ALERT nobody", "no alert named 'nobody'"),
    ],
)
def test_what_does_not_fit_is_refused(plant: Plant, mail: Path, text: str, said: str) -> None:
    plant.gauge.sql(f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 {to(mail)}")
    where = f" {to(mail)}" if text.startswith("CREATE") else ""
    with pytest.raises((BindError, LookupError), match=said):
        plant.gauge.sql(text + where)


@pytest.mark.parametrize(
    "target",
    [
        "WEBHOOK 'file:///etc/passwd'",
        "WEBHOOK 'ftp://host/x'",
        "WEBHOOK 'https://'",
        "WEBHOOK 'https://host:99999/'",
        "MAIL 'out' FOR 'nobody'",
        "KAFKA 'nowhere' TOPIC 'alerts'",
        "KAFKA 'host:9092' TOPIC 'two words'",
    ],
)
def test_targets_that_cannot_be_are_refused(plant: Plant, target: str) -> None:
    with pytest.raises(BindError):
        plant.gauge.sql(f"CREATE ALERT a ON heat WHEN INTERRUPTED DELIVER TO {target}")


def test_alerts_are_shown_and_described(plant: Plant, mail: Path) -> None:
    plant.gauge.sql(
        "CREATE ALERT hot ON heat WHEN POSSIBLY BELOW -3 DELIVER TO WEBHOOK 'https://u@host/T0/{env:KEY}'"
    )

    def shown(text: str) -> list[dict[str, object]]:
        table: Any = plant.gauge.sql(text)
        found: list[dict[str, object]] = table.to_pylist()
        return found

    (row,) = shown("SHOW ALERTS")
    assert row == shown("DESCRIBE hot")[0]
    assert row == {
        "name": "hot", "on": "heat", "group": "", "when": "possibly below -3",
        "delivers": "webhook https://host", "version": 1,
    }  # fmt: skip


def test_a_disk_that_takes_nothing_for_a_while_stops_no_lane(plant: Plant, tmp_path: Path) -> None:
    noted = tmp_path / "home" / "alerts" / "acknowledged.jsonl"
    with (
        Receiver() as receiver,
        Watcher(plant.gauge, first_wait=0.01, allow_webhooks=["127.0.0.0/8"]) as watcher,
    ):
        plant.gauge.sql(
            f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 DELIVER TO WEBHOOK '{receiver.url}'"
        )
        plant.step()
        noted.mkdir()
        plant.read(120, 120)
        wait_until(lambda: len(receiver.got) == 1, 60, what="the first")
        noted.rmdir()
        plant.read(80, 80)
        wait_until(lambda: len(receiver.got) == 2, 60, what="the second")
        assert watcher.finish()
    assert len(receiver.ids()) == 2


def test_a_line_that_was_cut_short_spoils_no_other(tmp_path: Path) -> None:
    box = Outbox(tmp_path)
    crossing = Crossing("a-1", "a", 1, "q", (), "above", "raised", 1, "2026-01-01T00:00:00Z")
    target = Target("webhook", "http://[::1]/hook")
    box.put(crossing, [target])
    noted = tmp_path / "acknowledged.jsonl"
    noted.write_text('["webhook http://[::1]/hook ", 12')
    box.done(target.key, Delivery(1, crossing))
    assert acknowledged(noted) == [(target.key, 1)]


def test_a_group_of_several_lines_is_a_subject_of_one() -> None:
    two = Crossing("a-1", "a", 1, "q", ("x\ny",), "above 1", "raised", 1, "2026-01-01T00:00:00Z")
    subject = message_from_bytes(message(two, "o@example.org"))["Subject"]
    assert subject == "a raised: q[x y] above 1"


def test_what_was_not_saved_is_saved_without_another_answer(
    plant: Plant, watcher: Watcher, mail: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant.gauge.sql(f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 {to(mail)}")
    plant.read(120, 120)
    with monkeypatch.context() as full:
        full.setattr(follower, "write_json", no_room)
        with pytest.raises(EngineFailure):
            catch_up(watcher)
    catch_up(watcher)
    assert told(plant, "hot") == [(1, "raised")]
    plant.gauge.sql("DROP ALERT hot")
    plant.step()
    catch_up(watcher)
    assert report.read(plant.gauge.home).standing == 0


def no_room(_path: Path, _value: object) -> None:
    raise EngineFailure("the disk is full", "state.json", "free some space")


@pytest.mark.parametrize(("written", "kept"), [("120", (120.0,)), ("120.0", (120.0,))])
def test_a_group_is_named_as_its_answers_are(
    plant: Plant, mail: Path, written: str, kept: tuple[float]
) -> None:
    plant.gauge.sql(
        "CREATE QUERY values AS SELECT value, COUNT(*) FROM plant [RANGE 1 SECOND] "
        "GROUP BY value EVERY 1 SECOND"
    )
    above = f"WHEN CERTAINLY ABOVE 0 {to(mail)}"
    plant.gauge.sql(f"CREATE ALERT one ON values GROUP ({written}) {above}")
    plant.step()
    assert plant.gauge.registry().alerts["one"].alert.group == kept
    with pytest.raises(BindError, match="'hot' is no group"):
        plant.gauge.sql(f"CREATE ALERT two ON values GROUP ('hot') {above}")


def test_a_receiver_that_speaks_a_letter_at_a_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_sender, "LONGEST_SECONDS", 0.3)
    gone = threading.Event()

    def drip(door: socket.socket) -> None:
        held, _ = door.accept()
        with held, suppress(OSError):
            held.sendall(b"HTTP/1.1 ")
            while not gone.wait(0.05):
                held.sendall(b"x")

    crossing = Crossing("a-1", "a", 1, "q", (), "above", "raised", 1, "2026-01-01T00:00:00Z")
    with socket.create_server(("127.0.0.1", 0)) as door:
        dripping = threading.Thread(target=drip, args=(door,), daemon=True)
        dripping.start()
        sender = WebhookSender(
            Target("webhook", f"http://127.0.0.1:{door.getsockname()[1]}/"),
            networks(["127.0.0.0/8"]),
        )
        with pytest.raises(Undelivered):
            sender.send(Delivery(1, crossing))
        gone.set()
        dripping.join(20)


def test_a_directory_that_cannot_be_is_told_without_its_place(
    plant: Plant, watcher: Watcher
) -> None:
    there = to(Path("/proc/nobody/home"))
    plant.gauge.sql(f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 {there}")
    plant.read(120, 120)
    catch_up(watcher)
    (lane,) = watcher.outbox.lanes.values()
    wait_until(lambda: lane.tries > 0, 60, what="an attempt")
    assert lane.reason == "No such file or directory"
