"""A plant whose readings a test writes, and receivers that count what reaches them."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import streamgauge as sg

QUERY = """CREATE QUERY heat AS SELECT SUM(value) FROM plant [PARTITION BY series ROWS 1] ON CHANGE;
CREATE QUERY sites AS SELECT site, AVG(value) FROM plant [RANGE 1 SECOND] GROUP BY site
  EVERY 1 SECOND"""


class Plant:
    """A home fed with readings second by second."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "source"
        self.source.mkdir()
        self.second = 0
        self.gauge = sg.connect(folder / "home", engine="local")
        schema = sg.Schema.of(ts="time", series="string", site="string", value="float")
        source = sg.files(self.source, "csv")
        self.gauge.stream("plant", source, time="ts", key="series", schema=schema)
        self.gauge.sql(QUERY)

    def read(self, *values: float, site: str = "north") -> None:
        """One reading a second, each answered in an epoch of its own."""
        for value in values:
            self.second += 1
            minute, second = divmod(self.second, 60)
            row = f"2026-01-01T00:{minute:02d}:{second:02d}Z,a,{site},{value}\n"
            path = self.source / f"{self.second:06d}.csv"
            # Names with a dot in front are not taken for files of the stream.
            partial = path.with_name(f".{path.name}")
            partial.write_text(f"ts,series,site,value\n{row}")
            partial.rename(path)
            self.step()

    def step(self) -> None:
        """Answer all that is there."""
        while self.gauge.step():
            pass


class Receiver:
    """A real receiver on loopback; `replies` are the codes it gives, the last one for good."""

    def __init__(self, *replies: int) -> None:
        self.replies = list(replies) or [200]
        self.got: list[tuple[str, dict[str, Any]]] = []
        self.paths: list[str] = []
        receiver = self

        class Door(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.paths.append(self.path)
                receiver.got.append((self.headers["Idempotency-Key"], json.loads(body)))
                code = receiver.replies[0]
                if len(receiver.replies) > 1:
                    receiver.replies.pop(0)
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def ids(self) -> list[str]:
        """Ids in the order they first came, as a receiver that honours the key sees them."""
        return list(dict.fromkeys(key for key, _ in self.got))

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()
