"""Sensors on batteries: lifetimes of their programs, and what a proxy saves for a mix of queries.

`measure()` is quick: ten simulated minutes of one sensor at 180 readings a second.
"""

from __future__ import annotations

import time
from typing import Any

from streamgauge.filters.energy import (
    AT_180_HERTZ,
    DAY,
    MOTE,
    RAW_CYCLES,
    SAMPLE_BITS,
    Battery,
    Work,
)
from streamgauge.filters.mote import Mote, Packet, Sample, Setting, Vehicle, hertz
from streamgauge.filters.proxy import SensorProxy, attend
from streamgauge.filters.regions import Region
from streamgauge.filters.vehicles import cover, traffic
from streamgauge.filters.vehicles import measure as measured
from streamgauge.kernel.time import MINUTE, SECOND

RATE = 180
# The table has no receiver; this is what one of the kind draws, taken for the second column.
RECEIVER = 13.5e-3
LISTENING = 0.03
PRINTED = {"raw": 13.0, "events": 1.1, "counts": 0.38}

# From minute to minute: how many queries ask what, at how many readings a second.
MIX = (
    (0, 2, "vehicle count", 20, RATE),
    (2, 2, "vehicle count", 20, RATE),
    (2, 2, "vehicles", 5, RATE),
    (4, 1, "vehicles", 5, RATE),
    (4, 1, "samples", 1, RATE),
    (4, 1, "avg", 3, 10),
    (5, 3, "avg", 3, 10),
)
MINUTES = 10


def measure() -> dict[str, Any]:
    """All figures of this section, as plain data."""
    return {
        "programs": programs(),
        "mix": mix(),
        "length": rates_for_length(),
        "routing": [routing(n) for n in (1, 50, 500)],
    }


def programs() -> list[dict[str, Any]]:
    """Power and lifetime of the three programs at 180 Hz, without and with a receiver."""
    heard = Battery(receiver=RECEIVER)
    found = []
    for program, work in AT_180_HERTZ.items():
        listening = work._replace(listening=LISTENING)
        parts = MOTE.energy(work)
        found.append(
            {
                "program": program,
                "printed_mw": PRINTED[program],
                "mw": 1_000 * parts.total,
                "radio_share": parts.radio / parts.total,
                "days": MOTE.lifetime(work) / DAY,
                "days_with_receiver": heard.lifetime(listening) / DAY,
            }
        )
    return found


def mix() -> dict[str, dict[str, float]]:
    """Messages and joules of ten minutes: no proxy, one shared raw stream, the proxy."""
    mote = _with_proxy()
    shared = Setting(1, "raw", hertz(RATE)).work()
    always = Work(*(part * 60 * MINUTES for part in shared))
    return {
        "each query by itself": _told(_by_itself()),
        "one raw stream for all": _told(always),
        "proxy": _told(mote.work, messages=mote.sent),
    }


def _by_itself() -> Work:
    """The sensor serves each query with readings of its own, and rests when there is none."""
    minutes = {minute for start, length, *_ in MIX for minute in range(start, start + length)}
    sent = sum(length * 60 * n * rate for _, length, _, n, rate in MIX)
    samples = len(minutes) * 60 * RATE
    return Work(samples, sent * RAW_CYCLES, sent * SAMPLE_BITS, 0.0, 60.0 * MINUTES)


def _with_proxy() -> Mote:
    road = traffic(300, seed=1, per_second=0.5)
    proxy, mote = SensorProxy("u"), Mote("u", cover(road))
    for minute in range(MINUTES):
        now = minute * MINUTE
        for row, (start, length, detail, n, rate) in enumerate(MIX):
            for number in range(n):
                name = f"{row}-{number}"
                if minute == start:
                    proxy.install(name, now=now, rate=rate, aggregate=detail, period=10 * SECOND)
                elif minute == start + length:
                    proxy.remove(name, now=now)
        for _ in attend(proxy, mote, now + MINUTE):
            pass
    return mote


def _told(work: Work, *, messages: float | None = None) -> dict[str, float]:
    sent = work.bits / SAMPLE_BITS if messages is None else messages
    return {"messages": sent, "bits": work.bits, "joules": MOTE.energy(work).total}


def rates_for_length() -> list[dict[str, float]]:
    """How wide the bar of a length is at 60 miles an hour, with the speed known and measured."""
    found = []
    for rate in (60, 180, 360, 720):
        period = -(-SECOND // rate)
        seen = measured(
            Vehicle(0, 170_450),
            Vehicle(113_640, 284_090),
            spacing=10.0,
            up_period=period,
            down_period=period,
        )
        known = 2.0 * 88.0 * period / SECOND
        wide = seen.length_high - seen.length_low
        found.append({"hertz": rate, "speed_known_ft": known, "speed_measured_ft": wide})
    return found


def routing(n: int, samples: int = 2_000) -> dict[str, float]:
    """Samples a second that a proxy routes to so many selections, each with its own threshold."""
    proxy = SensorProxy("u")
    for number in range(n):
        region = Region.above(float(number) / n)
        proxy.install(f"q{number}", now=0, rate=RATE, where=region)
    setting = proxy.wanted
    proxy.on_sample(Packet("u", 1, 0, 0), now=0)
    proxy.on_sample(Packet("u", 2, 0, setting.version), now=0)
    begin = time.perf_counter()
    for number in range(samples):
        at = number * SECOND // RATE + 1
        sample = Sample(at, (number * 37 % 101) / 101.0)
        proxy.on_sample(Packet("u", number + 3, at, setting.version, sample), now=at)
    seconds = time.perf_counter() - begin
    return {
        "queries": n,
        "samples_per_second": samples / seconds,
        "deliveries_per_second": proxy.account.delivered / seconds,
    }
