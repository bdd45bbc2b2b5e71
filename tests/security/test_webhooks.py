"""Attacks by webhook: the job must not reach what only its own network reaches."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from streamgauge.alerts.public_address import checked_addresses, may_reach, networks
from streamgauge.alerts.undelivered import Undelivered
from streamgauge.alerts.webhook_sender import WebhookSender
from streamgauge.plan.alert import Target

INSIDE = (
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "224.0.0.1", "::1", "::", "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1",
    "64:ff9b::7f00:1", "2002:7f00:1::",
)  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_of_the_own_network_are_refused(address: str) -> None:
    assert not may_reach(address, ())


def test_a_network_that_is_allowed() -> None:
    assert may_reach("127.0.0.1", networks(["127.0.0.0/8"]))
    assert not may_reach("10.0.0.1", networks(["127.0.0.0/8"]))


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolved(*_asked: Any, **_more: Any) -> list[Any]:
        places = ("93.184.216.34", "169.254.169.254")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, 80)) for place in places]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    with pytest.raises(Undelivered, match=r"169\.254\.169\.254.*--allow-webhooks"):
        checked_addresses("metadata.example", 80, ())


def test_a_name_that_changes_its_address_leads_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter(("93.184.216.34", "127.0.0.1"))
    reached = []

    def resolved(_host: str, port: int, *_asked: Any, **_more: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def connect(where: tuple[str, int], *_more: Any) -> socket.socket:
        reached.append(where)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setattr(socket, "create_connection", connect)
    connection = WebhookSender(Target("webhook", "http://rebinding.example/x"))._connection()
    with pytest.raises(ConnectionRefusedError):
        connection.connect()
    assert reached == [("93.184.216.34", 80)]
