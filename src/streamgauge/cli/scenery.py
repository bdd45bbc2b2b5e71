"""What moves in the demo besides the plant: pumps with agents beside them, and shops that order."""

from __future__ import annotations

import json
import math
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streamgauge.edge.agent import Agent
from streamgauge.edge.clock import wall_clock
from streamgauge.edge.dice import Dice
from streamgauge.edge.readings import Pace, Reading
from streamgauge.gauge import Gauge
from streamgauge.kernel.time import SECOND
from streamgauge.streams.schema import TYPES

PUMPS = ("north", "east", "south", "west")
VALVES = 6
READ_SECONDS = 0.1
SWING_SECONDS = 90.0
# Orders a second, and how often they are sent.
ORDERS = 300
PUSH_SECONDS = 0.25
SHOPS = tuple(f"shop-{number}" for number in range(7))
ITEMS = 100
TIMEOUT = 10.0
ARROW = "application/vnd.apache.arrow.stream"


class Client:
    """Asks the server as anybody would, over HTTP.

    Parameters
    ----------
    address
        Where it is; may be told later.
    token
        What it shows; may be told later.
    """

    def __init__(self, address: str = "", token: str | None = None) -> None:
        self.address = address
        self.token = token
        # A proxy that the machine may have leads away from it, not to it.
        self._direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def send(self, path: str, body: bytes, kind: str, key: str | None = None) -> None:
        """Send a body; a refusal is an OSError."""
        headers = {"Content-Type": kind} | ({"Idempotency-Key": key} if key else {})
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        # The address is that of the demo's own server.
        asked = urllib.request.Request(f"{self.address}/v1{path}", body, headers)  # noqa: S310
        with self._direct.open(asked, timeout=TIMEOUT) as reply:
            reply.read()

    def run(self, statements: str) -> None:
        """Run statements of the language."""
        self.send("/statements", json.dumps({"text": statements}).encode(), "application/json")


class Valves:
    """Readings of one pump: what flows through its valves, up and down with a little noise."""

    ends = False
    blind = False
    outages = 0
    bad = 0

    def __init__(self, pump: str) -> None:
        self.period: float | None = READ_SECONDS
        self._names = [f"{pump}/valve-{number}" for number in range(VALVES)]
        self._dice = Dice(pump)
        self._phases = [math.tau * self._dice.uniform() for _ in self._names]
        self._pace = Pace(time.monotonic)

    def read(self, wait: float) -> list[Reading] | None:
        """The next readings, when it is time."""
        if not self._pace.wait(self.period or READ_SECONDS, wait):
            return []
        turn = math.tau * time.monotonic() / SWING_SECONDS
        return [
            (name, 20.0 + 4.0 * math.sin(turn + phase) + 0.05 * self._dice.normal(), None)
            for name, phase in zip(self._names, self._phases, strict=True)
        ]

    def close(self) -> None:
        """Nothing is held."""


class Pumps:
    """An agent beside each pump, in threads of this process.

    Parameters
    ----------
    gauge
        A gauge that runs: its coordinator is where the agents report.
    """

    stream = "pumps"

    def __init__(self, gauge: Gauge) -> None:
        self._home: Path = gauge.home.root
        self._valves = {pump: Valves(pump) for pump in PUMPS}
        self._running: dict[str, tuple[Agent, threading.Thread]] = {}

    def __enter__(self) -> Pumps:
        for pump in PUMPS:
            self.plug(pump)
        return self

    def __exit__(self, *_error: object) -> None:
        for agent, _ in self._running.values():
            agent.halt()
        for pump in list(self._running):
            self.unplug(pump)

    def plug(self, pump: str) -> None:
        """Start the agent of a pump, if it does not run."""
        if pump in self._running:
            return
        address = (self._home / "edge" / self.stream / "address").read_text().strip()
        state = self._home / "agents" / pump
        agent = Agent(address, self.stream, pump, state=state, beat="500 ms")
        readings = self._valves[pump]
        thread = threading.Thread(target=agent.run, args=(readings,), name=pump, daemon=True)
        thread.start()
        self._running[pump] = (agent, thread)

    def unplug(self, pump: str) -> None:
        """Stop the agent of a pump: from now on nobody hears of its valves."""
        agent, thread = self._running.pop(pump)
        agent.halt()
        thread.join()
        agent.stop(grace=0.5)


class Orders:
    """Orders of some shops, pushed to the server as they are made.

    Parameters
    ----------
    client
        The server.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        # So many times as many orders come as on a usual day.
        self.times = 1
        self.trouble: str | None = None
        self._dice = np.random.default_rng(4)
        self._halt = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orders", daemon=True)

    def __enter__(self) -> Orders:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._halt.set()
        self._thread.join()

    def _run(self) -> None:
        since = wall_clock()
        while not self._halt.wait(PUSH_SECONDS):
            now = wall_clock()
            body = self._made(since, now)
            try:
                self.client.send("/streams/orders/rows", body, ARROW, key=f"orders-{now}")
                self.trouble = None
            except OSError as error:
                # Orders that nobody took are made again with the next.
                self.trouble = str(error)
                continue
            since = now

    def _made(self, since: int, now: int) -> bytes:
        n = max(1, min(now - since, 2 * SECOND) * ORDERS * self.times // SECOND)
        shops = self._dice.integers(0, len(SHOPS), n).astype(np.int32)
        columns: dict[str, Any] = {
            "shop": pa.DictionaryArray.from_arrays(shops, pa.array(SHOPS)).cast(pa.string()),
            "ts": pa.array(np.sort(self._dice.integers(since, now, n))).cast(TYPES["time"]),
            "item": self._dice.integers(0, ITEMS, n),
            "amount": np.round(5.0 * np.exp(0.8 * self._dice.normal(size=n)), 2),
        }
        table = pa.table(columns)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        given: bytes = sink.getvalue().to_pybytes()
        return given
