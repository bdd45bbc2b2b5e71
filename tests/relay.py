"""A relay on loopback that loses, doubles, reorders, delays and spoils what passes through it.

`HttpRelay` works on whole messages, so a fault hits one report or one reply. `TcpRelay` knows bytes
only; it serves for other protocols. Both listen on a free port and may be pointed at another
target at any time, so that what is behind them can be killed and come back elsewhere.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import numpy as np

PASS = "pass"
LOSE = "lose"  # the request never arrives, the connection is cut
UNANSWERED = "unanswered"  # the request arrives, its answer is lost
TWICE = "twice"  # the request arrives two times
LATER = "later"  # it arrives after the message that follows it; the sender sees a cut
DELAY = "delay"  # request and answer are late
SPOIL = "spoil"  # the request arrives unreadable
SPOIL_ANSWER = "spoil answer"
SWALLOW = "swallow"  # nothing arrives and nothing is said until the hole closes
FAULTS = (LOSE, UNANSWERED, TWICE, LATER, DELAY, SPOIL, SPOIL_ANSWER)

Target = tuple[str, int]


class Message(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def always(fate: str) -> Callable[[Message], str]:
    """Every message has one fate."""
    return lambda message: fate


def mixed(share: float, seed: int, faults: tuple[str, ...] = FAULTS) -> Callable[[Message], str]:
    """A share of the messages, drawn by `seed`, has a fault, each as likely as the others."""
    dice = np.random.default_rng(seed)
    lock = threading.Lock()

    def fate(message: Message) -> str:
        with lock:
            hit, which = dice.random() < share, int(dice.integers(len(faults)))
        return faults[which] if hit else PASS

    return fate


class HttpRelay:
    """Requests to a port of its own, passed on to `target` one by one with the fate they draw.

    Parameters
    ----------
    target
        Where requests go; may be set anew while it runs. None: nobody is there.
    seconds
        How long a delayed message is late.
    """

    def __init__(self, target: Target | None, *, seconds: float = 0.3) -> None:
        self.target = target
        self.seconds = seconds
        self.fate: Callable[[Message], str] = always(PASS)
        self.counts: Counter[str] = Counter()
        self.seen: list[Message] = []
        self._held: list[Message] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._live: set[socket.socket] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._exchange_class())
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """What an agent is told instead of the coordinator's address."""
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Close every connection that is open now."""
        with self._lock:
            live = list(self._live)
        for connection in live:
            _shut(connection)

    def close(self) -> None:
        """Stop listening, close everything and wait for the threads."""
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        # Closing waits for the threads of connections; one may have begun after a first cut.
        closing = threading.Thread(target=self._server.server_close)
        closing.start()
        while closing.is_alive():
            self.cut()
            closing.join(0.05)

    def __enter__(self) -> HttpRelay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def handle(self, message: Message) -> tuple[int, dict[str, str], bytes] | None:
        """What the sender gets; None: its connection is cut."""
        fate = self.fate(message)
        with self._lock:
            self.counts[fate] += 1
            self.seen.append(message)
            if fate == LATER:
                self._held.append(message)
                return None
        if fate == LOSE:
            return None
        if fate == SWALLOW:
            while not self._stopping.wait(0.05) and self.fate(message) == SWALLOW:
                pass
            return None
        if fate == DELAY:
            self._stopping.wait(self.seconds)
        if fate == SPOIL:
            message = message._replace(body=_spoiled(message.body))
        answer = self._pass_on(message)
        if fate == TWICE:
            answer = self._pass_on(message) or answer
        self._release()
        if answer is None or fate == UNANSWERED:
            return None
        if fate == DELAY:
            self._stopping.wait(self.seconds)
        status, headers, body = answer
        return status, headers, _spoiled(body) if fate == SPOIL_ANSWER else body

    def _release(self) -> None:
        """Let messages go that were held back for one to overtake them; nobody hears the answer."""
        with self._lock:
            held, self._held = self._held, []
        for message in held:
            self._pass_on(message)

    def _pass_on(self, message: Message) -> tuple[int, dict[str, str], bytes] | None:
        if self.target is None:
            return None
        connection = HTTPConnection(*self.target, timeout=30)
        try:
            connection.request(message.method, message.path, message.body, message.headers)
            answer = connection.getresponse()
            kept = {"Content-Type", "Retry-After"}
            headers = {name: text for name, text in answer.getheaders() if name.title() in kept}
            return answer.status, headers, answer.read()
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()

    def _exchange_class(self) -> type[BaseHTTPRequestHandler]:
        relay = self

        class Exchange(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                with relay._lock:
                    relay._live.add(self.connection)

            def finish(self) -> None:
                with relay._lock:
                    relay._live.discard(self.connection)
                with contextlib.suppress(OSError):
                    super().finish()

            def handle(self) -> None:
                try:
                    super().handle()
                except OSError:
                    self.close_connection = True

            def _any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                dropped = {"host", "connection", "content-length"}
                headers = {n: t for n, t in self.headers.items() if n.lower() not in dropped}
                answer = relay.handle(Message(self.command, self.path, headers, body))
                if answer is None:
                    self.close_connection = True
                    _shut(self.connection)
                    return
                status, headers, body = answer
                self.send_response(status)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = _any  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Exchange


class TcpRelay:
    """Connections to a port of its own, passed on to `target` byte by byte.

    `hole` swallows all bytes while it is set; `cut` closes all connections. While `target` is None
    new connections are closed at once.
    """

    def __init__(self, target: Target | None) -> None:
        self.target = target
        self.hole = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._live: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._begin(self._accept)

    def cut(self) -> None:
        """Close every connection that is open now."""
        with self._lock:
            live = list(self._live)
        for connection in live:
            _shut(connection)

    def close(self) -> None:
        """Stop listening, close everything and wait for the threads."""
        self._stopping.set()
        _shut(self._listener)
        while True:
            self.cut()
            with self._lock:
                running = [thread for thread in self._threads if thread.is_alive()]
            if not running:
                break
            running[0].join(0.1)
        self._listener.close()

    def __enter__(self) -> TcpRelay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args)
        with self._lock:
            self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._begin(self._serve, near)

    def _serve(self, near: socket.socket) -> None:
        with near:
            try:
                if self.target is None:
                    return
                with socket.create_connection(self.target, timeout=10) as far:
                    far.settimeout(None)
                    with self._lock:
                        self._live |= {near, far}
                    back = threading.Thread(target=self._pump, args=(far, near))
                    back.start()
                    self._pump(near, far)
                    back.join()
            except OSError:
                return
            finally:
                with self._lock:
                    self._live -= {near}
                    self._live = {one for one in self._live if one.fileno() >= 0}

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                if not self.hole.is_set():
                    target.sendall(data)
        except OSError:
            pass
        finally:
            _shut(source)
            _shut(target)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _spoiled(body: bytes) -> bytes:
    """Bytes that no reader takes for the message they were: cut short, one of them no text."""
    return body[: len(body) // 2] + b"\xff"
