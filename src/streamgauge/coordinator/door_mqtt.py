"""The broker's door: reports from `streamgauge/v1/<stream>/up/+`, replies to `.../down/<agent>`.

A report that is refused is not answered; its agent sends it again. With a file of tokens reports
are signed; without one, who may publish for which agent is the broker's to say.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

from streamgauge.coordinator.door_http import Desk, carried
from streamgauge.coordinator.options import Address, Options
from streamgauge.coordinator.tokens import NO_TOKENS, Tokens
from streamgauge.edge.link import Credentials
from streamgauge.edge.mqtt_client import KEEPALIVE, QOS, BrokerAddress
from streamgauge.edge.protocol import Report
from streamgauge.kernel.errors import SourceFailure, StreamgaugeError

WORKERS = 8
RECONNECT_SECONDS = (1, 5)


class MqttDoor:
    """A client of an MQTT broker that comes back when the broker does.

    Parameters
    ----------
    desk
        Who takes the reports.
    options
        The broker, and the files for TLS.
    tokens
        What reports must be signed with.
    """

    def __init__(self, desk: Desk, options: Options, tokens: Tokens = NO_TOKENS) -> None:
        assert options.broker is not None, "a broker's door needs a broker"
        self.desk = desk
        self.tokens = tokens
        self.broker = options.broker
        self.topic = f"streamgauge/v1/{desk.stream.name}"
        self.refused = 0
        self.ready = threading.Event()
        self._client = _client(self.broker, options)
        self._client.on_connect = self._connected
        self._client.on_disconnect = self._disconnected
        self._client.on_subscribe = self._subscribed
        self._client.on_message = self._heard
        self._pool: ThreadPoolExecutor | None = None

    def start(self) -> None:
        """Connect, now or when the broker is there; `ready` is set while subscribed."""
        name = f"streamgauge-broker-{self.desk.stream.name}"
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix=name)
        self._client.connect_async(self.broker.host, self.broker.port, KEEPALIVE)
        self._client.loop_start()

    def stop(self) -> None:
        """Leave the broker; reports in work are finished."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()
        self._client.disconnect()
        self._client.loop_stop()

    def _connected(self, client: Any, _data: Any, _flags: Any, code: Any, _more: Any) -> None:
        if not code.is_failure:
            client.subscribe(f"{self.topic}/up/+", QOS)

    def _subscribed(self, *_said: Any) -> None:
        self.ready.set()

    def _disconnected(self, *_said: Any) -> None:
        self.ready.clear()

    def _heard(self, _client: Any, _data: Any, message: Any) -> None:
        pool = self._pool
        if pool is not None:
            pool.submit(self._answer, message.topic.rpartition("/")[2], message.payload)

    def _answer(self, agent: str, payload: bytes) -> None:
        try:
            report, claims = carried(self.tokens, payload, self.desk.stream.name)
            if Report.decode(report).agent != agent:
                raise SourceFailure(
                    "a report under another agent's topic",
                    f"the topic names {agent!r}",
                    "publish to the topic of the agent itself",
                )
            reply = self.desk.take(report, claims)
        except StreamgaugeError:
            self.refused += 1
            return
        self._client.publish(f"{self.topic}/down/{agent}", reply.encode(), QOS)


def _client(broker: Address, options: Options) -> Any:
    user, password = (
        None if said is None else unquote(said) for said in (broker.user, broker.password)
    )
    given = Credentials(None, user, password, options.ca, options.cert, options.key)
    # One name for each home would let two coordinators drop each other; the broker gives one.
    client = BrokerAddress(broker.scheme == "mqtts", broker.host, broker.port, given).client()
    client.reconnect_delay_set(*RECONNECT_SECONDS)
    return client
