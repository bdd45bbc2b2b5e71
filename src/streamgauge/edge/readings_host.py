"""Readings of this machine: processor, memory, load, network; from /proc, else through psutil.

Keys are (host, what): `cpu` and `memory` in percent, `load` over one minute, and for each network
interface `<name>.in` and `<name>.out` in bytes a second, `<name>.packets_in` and `.packets_out`.
"""

from __future__ import annotations

import importlib
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from streamgauge.edge.link import Credentials
from streamgauge.edge.readings import Pace, Reading
from streamgauge.kernel.errors import MissingRuntime
from streamgauge.kernel.time import SECOND, duration

PROC = Path("/proc")


class HostReadings:
    """Vital signs of this machine, each period.

    Parameters
    ----------
    host
        First part of the keys.
    period
        Seconds between two readings; the coordinator may ask for another one.
    proc
        Where the kernel tells about itself.
    clock
        Seconds that only grow.
    """

    ends = False
    blind = False
    outages = 0

    def __init__(
        self,
        host: str,
        period: float = 1.0,
        *,
        proc: Path = PROC,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.period: float | None = period
        self.bad = 0
        self._host = host
        self._clock = clock
        self._pace = Pace(clock)
        if (proc / "stat").exists():
            self._counters: Callable[[], tuple[dict[str, float], dict[str, float]]] = ProcCounters(
                proc
            )
        else:
            self._counters = PsutilCounters(proc)
        self._before: tuple[float, dict[str, float]] | None = None

    def read(self, wait: float) -> list[Reading] | None:
        """Readings of a moment, when it is time."""
        if not self._pace.wait(self.period or 1.0, wait):
            return []
        now = self._clock()
        levels, counters = self._counters()
        if self._before is not None:
            levels |= rates(self._before[1], counters, now - self._before[0])
        self._before = (now, counters)
        return [((self._host, name), value, None) for name, value in levels.items()]

    def close(self) -> None:
        """Nothing is held."""


def rates(before: dict[str, float], now: dict[str, float], seconds: float) -> dict[str, float]:
    """Change per second of counters; the share of busy time in percent. Counters may begin anew.

    >>> rates({"eth0.in": 100.0, "busy": 1.0, "time": 2.0},
    ...       {"eth0.in": 300.0, "busy": 2.0, "time": 6.0}, 2.0)
    {'eth0.in': 100.0, 'cpu': 25.0}
    """
    if seconds <= 0.0:
        return {}
    found = {
        name: (now[name] - before[name]) / seconds
        for name in now
        if name in before and name not in ("busy", "time") and now[name] >= before[name]
    }
    passed = now["time"] - before["time"]
    if passed > 0.0:
        share = 100.0 * (now["busy"] - before["busy"]) / passed
        found["cpu"] = min(100.0, max(0.0, share))
    return found


class ProcCounters:
    """Levels and counters of a Linux kernel."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc

    def __call__(self) -> tuple[dict[str, float], dict[str, float]]:
        """Levels as they are, counters since the machine started."""
        ticks = [float(part) for part in self._text("stat").split("\n", 1)[0].split()[1:9]]
        idle = sum(ticks[3:5])
        counters = {"busy": sum(ticks) - idle, "time": sum(ticks)}
        for line in self._text("net/dev").splitlines()[2:]:
            name, _, rest = line.partition(":")
            parts = rest.split()
            if len(parts) >= 10:
                for what, place in (("in", 0), ("packets_in", 1), ("out", 8), ("packets_out", 9)):
                    counters[f"{name.strip()}.{what}"] = float(parts[place])
        memory = {
            line.split(":")[0]: float(line.split()[1])
            for line in self._text("meminfo").splitlines()
            if len(line.split()) >= 2
        }
        total = memory.get("MemTotal", 0.0)
        levels = {"load": float(self._text("loadavg").split()[0])}
        if total:
            free = memory.get("MemAvailable", memory.get("MemFree", 0.0))
            levels["memory"] = 100.0 * (1.0 - free / total)
        return levels, counters

    def _text(self, name: str) -> str:
        return (self._proc / name).read_text(encoding="ascii", errors="replace")


class PsutilCounters:
    """Levels and counters of any system that psutil knows."""

    def __init__(self, proc: Path) -> None:
        try:
            self._psutil = importlib.import_module("psutil")
        except ImportError:
            raise MissingRuntime(
                "this machine does not tell about itself",
                f"there is no {proc}, and psutil is not installed",
                "pip install psutil",
            ) from None

    def __call__(self) -> tuple[dict[str, float], dict[str, float]]:
        """Levels as they are, counters since the machine started."""
        times = self._psutil.cpu_times()
        whole = float(sum(times))
        counters = {"busy": whole - times.idle, "time": whole}
        for name, net in self._psutil.net_io_counters(pernic=True).items():
            counters[f"{name}.in"] = float(net.bytes_recv)
            counters[f"{name}.out"] = float(net.bytes_sent)
            counters[f"{name}.packets_in"] = float(net.packets_recv)
            counters[f"{name}.packets_out"] = float(net.packets_sent)
        memory = float(self._psutil.virtual_memory().percent)
        return {"load": os.getloadavg()[0], "memory": memory}, counters


def opened(rest: str, options: dict[str, str], credentials: Credentials) -> HostReadings:
    """Readings of this machine: `host`, `host?name=web1&every=5s`."""
    every = duration(options.pop("every", "1s")) / SECOND
    return HostReadings(options.pop("name", socket.gethostname()), every)
