"""Kafka: each crossing is one record, written once whatever dies.

The record and the place of the delivery in its lane are in the topic together or not at all.
"""

from __future__ import annotations

import hashlib
import json

from streamgauge.alerts.outbox import Delivery
from streamgauge.alerts.undelivered import Undelivered
from streamgauge.kernel.errors import SourceFailure
from streamgauge.plan.alert import Target
from streamgauge.sinks.transactions import FAILURES, Record, TransactionalTopic
from streamgauge.targets.target_kind import AlertSite


class KafkaSender:
    """Writes crossings to one topic.

    Parameters
    ----------
    target
        Brokers, topic and login.
    origin
        What tells the watcher of this home from others: a part of the transactional id.
    """

    def __init__(self, target: Target, origin: str) -> None:
        digest = hashlib.sha256(target.key.encode()).hexdigest()[:16]
        identity = f"streamgauge-alerts-{origin}-{digest}"
        self.written = TransactionalTopic(
            target.address, target.detail, identity, login=target.login
        )
        self._place = 0

    def send(self, delivery: Delivery) -> None:
        """Write the record and its place in one transaction, unless they are there already."""
        crossing = delivery.crossing
        try:
            if not self.written.connected:
                self._place = self.written.connect() or 0
            if delivery.place > self._place:
                value = json.dumps(crossing.as_dict()).encode()
                headers = [("id", crossing.id.encode())]
                record = Record(crossing.alert.encode(), value, headers)
                self.written.write([record], delivery.place)
                self._place = delivery.place
        except SourceFailure as error:
            raise Undelivered(f"{error.what}: {error.detail}") from error
        except FAILURES as error:
            # What became of the transaction is found out when the next attempt connects.
            self.close()
            raise Undelivered(f"Kafka: {error.args[0].str()}") from error

    def close(self) -> None:
        """Leave the broker."""
        self.written.close()


def sender(target: Target, site: AlertSite) -> KafkaSender:
    """Who writes to a topic."""
    return KafkaSender(target, site.origin)
