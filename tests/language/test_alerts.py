"""Alerts in the language: written, read back, and what has no meaning."""

from __future__ import annotations

import pytest

from streamgauge.kernel.errors import ParseError
from streamgauge.language.parse import parse
from streamgauge.language.render import render
from streamgauge.language.statements import Change, CreateAlert, Show
from streamgauge.plan.alert import Alert, StandingAlert, Target
from streamgauge.plan.registry import Registry

KAFKA = "DELIVER TO KAFKA 'h:9092' TOPIC 't'"
MAIL = "DELIVER TO MAIL 'out' FOR 'ops@example.org'"
OUT = (("mail", "out", "ops@example.org", ()),)
TWO = (("webhook", "https://x/y", "", ()), ("kafka", "h:9092", "t", ()))
SAFE = (("kafka", "h:9092", "t", (("user", "ann"), ("password_env", "P"), ("ca", "ca.pem"))),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"create alert hot on heat when certainly above 100 clear below 95.5 {MAIL}",
            CreateAlert("hot", "heat", "certainly above", 100.0, 95.5, targets=OUT),
        ),
        (
            f"CREATE OR REPLACE ALERT a ON q GROUP ('x', -2, NULL) WHEN POSSIBLY BELOW -3 {MAIL}",
            CreateAlert(
                "a", "q", "possibly below", -3.0, group=("x", -2, None), targets=OUT, replace=True
            ),
        ),
        (
            "CREATE ALERT a ON AUDIT WHEN ALARM DELIVER TO WEBHOOK 'https://x/y' "
            "AND TO KAFKA 'h:9092' TOPIC 't'",
            CreateAlert("a", "", "alarm", targets=TWO),
        ),
        (
            "CREATE ALERT a ON q WHEN INTERRUPTED DELIVER TO KAFKA 'h:9092' TOPIC 't' USER 'ann' "
            f"PASSWORD ENV 'P' CA 'ca.pem' AND {MAIL[8:]}",
            CreateAlert("a", "q", "interrupted", targets=SAFE + OUT),
        ),
        (
            f'CREATE ALERT a ON "audit" WHEN CONTRACT BROKEN {MAIL}',
            CreateAlert("a", "audit", "contract broken", targets=OUT),
        ),
        (
            f"CREATE ALERT alert ON q WHEN INTERRUPTED {MAIL}",
            CreateAlert("alert", "q", "interrupted", targets=OUT),
        ),
        ("DROP ALERT a, b", Change("drop", "alert", ("a", "b"))),
        ("SHOW ALERTS", Show("alerts")),
    ],
)
def test_what_is_written_is_read_and_rendered(text: str, said: object) -> None:
    found = parse(text)
    assert found == said
    assert parse(render(found)) == found


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"CREATE ALERT a ON q WHEN CERTAINLY ABOVE 3 CLEAR ABOVE 2 {MAIL}", "CLEAR ABOVE 2"),
        (f"CREATE ALERT a ON q WHEN CERTAINLY ABOVE 3 CLEAR BELOW 4 {MAIL}", "CLEAR BELOW 4"),
        (f"CREATE ALERT a ON q WHEN ALARM {MAIL}", "ALARM is what the auditor raises"),
        (f"CREATE ALERT a ON AUDIT WHEN INTERRUPTED {MAIL}", "ALARM is what the auditor raises"),
        (f"CREATE ALERT a ON q WHEN ABOVE 3 {MAIL}", "unexpected 'ABOVE'"),
        (f"CREATE ALERT a ON q WHEN INTERRUPTED {MAIL} AND {MAIL[8:]}", "written twice"),
        (f"CREATE ALERT a ON q WHEN INTERRUPTED {KAFKA} CA 'a' CA 'b'", "written twice"),
        ("CREATE ALERT a ON q WHEN INTERRUPTED", "unexpected end"),
    ],
)
def test_what_has_no_meaning_is_refused_in_place(text: str, what: str) -> None:
    with pytest.raises(ParseError, match=what) as caught:
        parse(text)
    assert "line 1" in caught.value.detail


def test_alerts_are_in_the_snapshot_of_a_registry() -> None:
    alert = Alert("honest", "", "alarm", targets=(Target("mail", "/out", "ops@example.org"),))
    registry = Registry()
    record = {"do": "alert", "alert": alert.as_dict()}
    assert registry.apply([record], epoch=3) == []
    assert registry.apply([record], epoch=5) == []
    assert registry.alerts["honest"] == StandingAlert(alert, 2, 5, 3)
    assert Registry.from_dict(registry.as_dict()).alerts == registry.alerts
    assert registry.apply([{"do": "drop alert", "name": "honest"}], epoch=6) == []
    assert "alerts" not in registry.as_dict()
