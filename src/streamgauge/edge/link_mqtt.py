"""Reports over MQTT: `streamgauge/v1/<stream>/up/<agent>`, replies on `.../down/<agent>`.

QoS 1 both ways: a broker may deliver twice, which numbers and versions make harmless.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from streamgauge.edge.link import Credentials, LinkDown, LinkRefused
from streamgauge.edge.mailbox import Mailbox
from streamgauge.edge.mqtt_client import KEEPALIVE, QOS, BrokerAddress, check_installed
from streamgauge.edge.signing import signed
from streamgauge.kernel.errors import BindError


class MqttLink:
    """A connection to a broker that is made anew when it is lost.

    Parameters
    ----------
    url
        `mqtt://host:port` or `mqtts://host:port`; user and password may stand in it.
    stream, agent
        Names in the topics.
    credentials
        User, password and certificates, and the token that reports are signed with.
    wake
        Called when a reply comes that nobody waits for.
    """

    def __init__(
        self,
        url: str,
        stream: str,
        agent: str,
        credentials: Credentials,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._stream, self._token = stream, credentials.token
        check_topic_part(stream)
        check_topic_part(agent)
        self.up = f"streamgauge/v1/{stream}/up/{agent}"
        self.down = f"streamgauge/v1/{stream}/down/{agent}"
        self.broker = Broker(url, f"streamgauge-{stream}-{agent}", credentials)
        self._mail = Mailbox(wake)

    def exchange(self, report: bytes, timeout: float) -> bytes:
        """Publish a report and wait for the reply that echoes it."""
        deadline = time.monotonic() + timeout
        client = self.broker.client
        if client is None or not client.is_connected():
            client = self.broker.connect(self.down, self._take, timeout)
        self._mail.expect(report)
        client.publish(self.up, signed(report, self._token, self._stream), QOS)
        reply = self._mail.wait(deadline, client.is_connected)
        if reply is None:
            lost = not client.is_connected()
            if lost:
                self.close()
            raise LinkDown(
                "the broker closed the connection" if lost else "no reply came through the broker",
                f"{self.broker.url}, topic {self.down}, {timeout:g} s",
                "check that the gauge runs with this broker, and who may publish there",
            )
        return reply

    def pushed(self) -> list[bytes]:
        """Replies that came unasked since this was last called."""
        return self._mail.unasked()

    def close(self) -> None:
        """Leave the broker."""
        self.broker.close()

    def _take(self, _topic: str, payload: bytes) -> None:
        self._mail.put(payload)


class Broker:
    """A client of an MQTT broker with one subscription; shared by reports and by readings.

    Parameters
    ----------
    url
        Address of the broker.
    name
        How the broker knows this client. The same name twice makes the broker drop the first.
    credentials
        User, password and certificates; user and password in the address win.
    """

    def __init__(self, url: str, name: str, credentials: Credentials) -> None:
        check_installed()
        self.address = BrokerAddress.of(url, credentials)
        self.url = self.address.shown
        self.name = name
        self.client: Any = None

    def connect(self, topic: str, take: Callable[[str, bytes], None], timeout: float) -> Any:
        """Connect, subscribe, and return when the broker has confirmed it."""
        self.close()
        client = self.address.client(self.name, reconnect_on_failure=False)
        client.connect_timeout = max(timeout, 0.1)
        heard: dict[str, Any] = {}
        ready = threading.Event()

        def on_connect(_client: Any, _data: Any, _flags: Any, code: Any, _more: Any) -> None:
            heard["code"] = code
            if code.is_failure:
                ready.set()
            else:
                client.subscribe(topic, QOS)

        def on_subscribe(_client: Any, _data: Any, _id: Any, codes: Any, _more: Any) -> None:
            heard["subscribed"] = codes
            ready.set()

        def on_message(_client: Any, _data: Any, message: Any) -> None:
            take(message.topic, message.payload)

        client.on_connect, client.on_subscribe = on_connect, on_subscribe
        client.on_message = on_message
        self.client = client
        try:
            client.connect(self.address.host, self.address.port, KEEPALIVE)
        except (OSError, ValueError) as error:
            self.close()
            raise self._down(str(error)) from error
        client.loop_start()
        in_time = ready.wait(timeout)
        codes = [heard["code"], *heard.get("subscribed", ())] if "code" in heard else []
        refused = [str(code) for code in codes if code.is_failure]
        if refused or not in_time:
            self.close()
            if refused:
                raise LinkRefused(
                    "the broker refuses this client",
                    f"{self.url}: {', '.join(refused)}; user {self.address.user!r}, topic {topic}",
                    "check user, password and what the broker lets this user publish and read",
                )
            raise self._down(f"no answer within {timeout:g} s")
        return client

    def close(self) -> None:
        """Leave the broker, if connected."""
        client, self.client = self.client, None
        if client is not None:
            client.on_connect = client.on_subscribe = client.on_message = None
            with contextlib.suppress(OSError, ValueError):
                client.disconnect()
            client.loop_stop()

    def _down(self, detail: str) -> LinkDown:
        return LinkDown(
            "the broker was not reached",
            f"{self.url}: {detail}",
            "check the address and that the broker runs; it is tried again",
        )


def connect(
    url: str, stream: str, agent: str, credentials: Credentials, wake: Callable[[], None]
) -> MqttLink:
    """The link for an mqtt or mqtts address."""
    return MqttLink(url, stream, agent, credentials, wake)


def check_topic_part(name: str) -> None:
    """Refuse a name that cannot be one level of a topic.

    >>> check_topic_part("pump/3")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: a name that cannot be part of a topic
      detail: 'pump/3'
      hint: leave out / + and #
    """
    if not name or set(name) & set("/+#\0"):
        raise BindError("a name that cannot be part of a topic", repr(name), "leave out / + and #")
