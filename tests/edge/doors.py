"""Doors of a test coordinator: HTTP on a free port, a Mosquitto of its own."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from streamgauge.edge.clock import wall_clock
from tests.edge.world import Desk
from tests.mosquitto_broker import USER, Mosquitto


class SafeDesk(Desk):
    """A coordinator that several threads may speak to."""

    def __init__(self) -> None:
        super().__init__(wall_clock)
        self.lock = threading.Lock()
        self.taken = 0

    def take(self, data: bytes) -> bytes:
        with self.lock:
            self.taken += 1
            return super().take(data)

    def values(self) -> list[float]:
        with self.lock:
            return [update.value for boot in self.boots.values() for update in boot.updates]


class HttpDoor:
    """A coordinator behind HTTP; `script` holds what it answers instead, in turn."""

    def __init__(self, desk: SafeDesk | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.desk = desk or SafeDesk()
        self.script: list[tuple[int, dict[str, str], bytes] | None] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.connections = 0
        self.closing = False
        door = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                door.connections += 1
                super().setup()

            def do_POST(self) -> None:
                door.answer(self)

            def log_message(self, *_args: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_args: None  # type: ignore[method-assign]
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        self.headers.append(dict(request.headers))
        self.paths.append(request.path)
        status, headers, said = 200, {}, b""
        # As a server does with a connection that was idle for long: without a word.
        request.close_connection = self.closing
        if self.script:
            step = self.script.pop(0)
            if step is None:
                request.close_connection = True
                return
            status, headers, said = step
        else:
            said = self.desk.take(body)
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(said)))
        request.end_headers()
        request.wfile.write(said)

    def __enter__(self) -> HttpDoor:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def refusal(status: int, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """An answer that is an error, as the coordinator words it."""
    body = {"code": "Refusal", "message": "not now", "detail": f"because {status}", "hint": "wait"}
    return status, headers, json.dumps(body).encode()


@contextmanager
def broker(directory: Path, port: int = 0, *, password: str | None = None) -> Iterator[int]:
    """A broker of its own on a port; on a free one when none is given."""
    with Mosquitto(directory, port, password=password) as found:
        yield found.port


class MqttDoor:
    """A coordinator behind a broker."""

    def __init__(self, port: int, stream: str, desk: SafeDesk, password: str | None = None) -> None:
        self.desk = desk
        self.port = port
        self.stream = stream
        self.client = paho.Client(CallbackAPIVersion.VERSION2)
        if password is not None:
            self.client.username_pw_set(USER, password)
        self._ready = threading.Event()
        self.client.on_connect = lambda client, *_more: client.subscribe(
            f"streamgauge/v1/{stream}/up/+", 1
        )
        self.client.on_subscribe = lambda *_more: self._ready.set()
        self.client.on_message = self._answer

    def _answer(self, client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        agent = message.topic.rpartition("/")[2]
        client.publish(self.down(agent), self.desk.take(message.payload), 1)

    def down(self, agent: str) -> str:
        return f"streamgauge/v1/{self.stream}/down/{agent}"

    def __enter__(self) -> MqttDoor:
        self.client.connect("127.0.0.1", self.port)
        self.client.loop_start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_error: object) -> None:
        self.client.disconnect()
        self.client.loop_stop()
