"""A watcher in a process of its own that kills itself at a chosen moment.

Moments are counted: the n-th time a file is made durable, the n-th time a receiver has replied, a
message has been written, or a transaction is about to be or has been committed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka

import streamgauge as sg
from streamgauge.alerts import mail_sender, report, webhook_sender
from streamgauge.alerts.watcher import Watcher
from streamgauge.checks.waiting import wait_until
from streamgauge.results.change_log import epochs_after


class Fuse:
    """Kills the process when it has burned down."""

    def __init__(self, left: int) -> None:
        self.left = left

    def burn(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def after(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def done(*args: Any, **more: Any) -> Any:
            given = act(*args, **more)
            self.burn()
            return given

        return done

    def before(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def doing(*args: Any, **more: Any) -> Any:
            self.burn()
            return act(*args, **more)

        return doing


class Producer:
    """Kafka's producer with a fuse at its commits."""

    fuse: Fuse
    when: str

    def __init__(self, settings: dict[str, Any]) -> None:
        self.own = _REAL(settings)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.own, name)
        if name == "commit_transaction":
            return self.fuse.before(found) if self.when == "before" else self.fuse.after(found)
        return found


_REAL = confluent_kafka.Producer


def watch(home: str, moment: str, n: int) -> None:
    """Watch a home until all is delivered, or until the moment comes."""
    fuse = Fuse(n)
    if moment == "durable":
        os.fsync = fuse.after(os.fsync)
    elif moment == "replied":
        sender = webhook_sender.WebhookSender
        sender.send = fuse.after(sender.send)  # type: ignore[method-assign]
    elif moment == "written":
        mailer: Any = mail_sender
        mailer.write_whole = fuse.after(mailer.write_whole)
    elif moment.endswith("commit"):
        Producer.fuse, Producer.when = fuse, moment.partition(" ")[0]
        clients: Any = confluent_kafka
        clients.Producer = Producer
    gauge = sg.connect(Path(home), engine="local")
    with Watcher(gauge, first_wait=0.02, allow_webhooks=["127.0.0.0/8"]):
        wait_until(lambda: settled(gauge), 60, what="all deliveries")


def settled(gauge: sg.Gauge) -> bool:
    """Whether all committed epochs are judged and nothing waits."""
    told = report.read(gauge.home)
    return told.epoch is not None and not epochs_after(gauge.home, told.epoch) and not told.waiting
