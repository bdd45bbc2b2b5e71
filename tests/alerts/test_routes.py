"""Alerts over HTTP: created by admins, shown to readers, without the secrets of their targets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from streamgauge.alerts.watcher import Watcher
from streamgauge.checks.waiting import wait_until
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.alerts.world import Plant
from tests.owner import as_owner

pytestmark = pytest.mark.slow
HOT = {
    "name": "hot",
    "query": "heat",
    "when": "certainly above",
    "level": 100,
    "clear": 90,
    "targets": [{"kind": "webhook", "address": "http://127.0.0.1:9/T0/s3cret"}],
}
TOKENS = "reader-0123 reader wall\nauthor-0123 author desk\nadmin-01234 admin root\n"


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Plant]:
    made = Plant(tmp_path)
    made.read(10, 10)
    yield made
    made.gauge.stop()


@pytest.fixture
def client(plant: Plant) -> Iterator[httpx.Client]:
    with (
        Server(plant.gauge, Settings.of("http://127.0.0.1:0")) as server,
        httpx.Client(base_url=server.address, headers=as_owner(server), verify=False) as made,
    ):
        yield made


def test_an_alert_is_created_raised_shown_and_dropped(client: httpx.Client, plant: Plant) -> None:
    with Watcher(plant.gauge, first_wait=30.0, allow_webhooks=["127.0.0.0/8"]):
        made = client.post("/v1/alerts", json=HOT)
        assert (made.status_code, made.json()["status"]) == (201, "waiting")
        plant.read(120, 120)
        shown = wait_until(lambda: settled(client), 60, what="a delivery that waits")
        assert shown is not None
        assert (shown["raised"], shown["watched"], shown["total"]) == (1, True, 1)
        (alert,) = shown["alerts"]
        assert alert["status"] == "in force"
        assert alert["condition"] == "certainly above 100, cleared below 90"
        assert alert["targets"] == ["webhook http://127.0.0.1:9"]
        assert alert["states"][0]["answer"]["value"] == 120.0
        assert alert["latest"][0]["query"] == "heat"
        assert "s3cret" not in str(shown)
        assert client.get("/v1/alerts/hot").json()["name"] == "hot"
        assert client.post("/v1/alerts", json=HOT).status_code == 409
        assert client.post("/v1/alerts", json={**HOT, "level": 95, "replace": True}).is_success
        assert client.delete("/v1/alerts/hot").status_code == 204
        assert client.get("/v1/alerts/hot").status_code == 404
        assert client.delete("/v1/alerts/hot").status_code == 404


def settled(client: httpx.Client) -> dict[str, Any] | None:
    shown: dict[str, Any] = client.get("/v1/alerts").json()
    return shown if shown["raised"] and shown["waiting"] else None


@pytest.mark.parametrize(
    "change",
    [
        {"level": None},
        {"clear": 101},
        {"query": None},
        {"when": "interrupted"},
        {"when": "alarm"},
        {"group": ["north"]},
        {"targets": []},
        {"targets": [{"kind": "webhook", "address": "file:///etc/passwd"}]},
        {"targets": [{"kind": "mail", "address": "out"}]},
        {"name": "two\nlines"},
        {"name": "\ud800"},
        {"query": "nobody"},
        {"more": 1},
    ],
)
def test_what_does_not_fit_is_a_problem(client: httpx.Client, change: dict[str, Any]) -> None:
    body = json.dumps({**HOT, **change})
    response = client.post("/v1/alerts", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in (404, 422), response.text
    assert {"title", "detail", "hint"} <= response.json().keys()


def test_only_admins_create_and_drop(plant: Plant, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKENS)
    tokens.chmod(0o600)
    text = "CREATE ALERT a ON heat WHEN INTERRUPTED DELIVER TO WEBHOOK 'http://127.0.0.1:9'"
    with (
        Server(plant.gauge, Settings.of("http://127.0.0.1:0", tokens=tokens)) as server,
        httpx.Client(base_url=server.address, headers=as_owner(server), verify=False) as client,
    ):

        def as_(token: str, method: str, path: str, body: Any = None) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            return client.request(method, path, json=body, headers=headers).status_code

        for token in ("reader-0123", "author-0123"):
            assert as_(token, "POST", "/v1/alerts", HOT) == 403
            assert as_(token, "POST", "/v1/statements", {"text": text}) == 403
            assert as_(token, "POST", "/v1/statements", {"text": "DROP ALERT hot"}) == 403
            assert as_(token, "DELETE", "/v1/alerts/hot") == 403
            assert as_(token, "GET", "/v1/alerts") == 200
        assert as_("admin-01234", "POST", "/v1/alerts", HOT) == 201
        assert client.get("/v1/alerts").status_code == 401
