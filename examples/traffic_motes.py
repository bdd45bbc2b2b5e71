"""Sensors in a road: what queries ask decides what the sensors do, and how long they last.

Two battery sensors lie ten feet apart in one lane. For two minutes a city asks only how many
vehicles pass. Then speeds are asked for too, and for a few seconds somebody looks at raw readings.
At last the sensors must last a month, which speeds do not allow, and the query is told so.

Run it with `python examples/traffic_motes.py`. It needs no Java and leaves nothing behind.
"""

from __future__ import annotations

from streamgauge.filters.energy import DAY, MOTE
from streamgauge.filters.mote import Mote, Vehicle
from streamgauge.filters.proxy import SensorProxy, attend
from streamgauge.filters.routing import Figure
from streamgauge.filters.vehicles import Measured, Pairing, cover, traffic
from streamgauge.kernel.time import MINUTE, SECOND

RATE = 180
FEET = 10.0
PERIOD = -(-SECOND // RATE) + 1


class Road:
    """Two sensors with their proxies, and what is made of their records."""

    def __init__(self) -> None:
        passages = traffic(200, seed=3, per_second=0.4, spacing=FEET)
        self.proxies = [SensorProxy(name) for name in ("up", "down")]
        self.motes = [Mote("up", cover(passages)), Mote("down", cover(passages, offset=FEET))]
        self.pairing = Pairing(FEET, up_period=PERIOD, down_period=PERIOD)
        self.now = 0

    def ask(self, query: str, aggregate: str) -> None:
        """Install a query on both sensors."""
        for proxy in self.proxies:
            proxy.install(query, now=self.now, rate=RATE, aggregate=aggregate, period=MINUTE)

    def forget(self, query: str) -> None:
        """Take a query away again."""
        for proxy in self.proxies:
            proxy.remove(query, now=self.now)

    def run(self, seconds: int) -> tuple[list[Figure], list[Measured]]:
        """Counts of the first sensor and vehicles that both have seen."""
        self.now += seconds * SECOND
        add = (self.pairing.upstream, self.pairing.downstream)
        counts, vehicles = [], []
        for side, (proxy, mote) in enumerate(zip(self.proxies, self.motes, strict=True)):
            for what, _ in attend(proxy, mote, self.now):
                if isinstance(what, Figure) and side == 0:
                    counts.append(what)
                elif isinstance(what, Vehicle) and (seen := add[side]("lane 1", what)):
                    vehicles.append(seen)
        return counts, vehicles

    def tell(self, what: str) -> None:
        """Print what the first sensor does, and what that means for its battery."""
        proxy, mote = self.proxies[0], self.motes[0]
        days = MOTE.lifetime(mote.setting.work()) / DAY
        sent = f"{proxy.account.packets:,} packets so far"
        print(f"{what}\n  sensor: {mote.setting}, {days:.1f} days on a battery, {sent}")
        for notice in proxy.notices():
            print(f"  {notice.query} {notice.state}: {notice.why}")


def main() -> None:
    """Ask more and more, then less."""
    road = Road()
    road.ask("flow", "vehicle count")
    counts, _ = road.run(125)
    road.tell("how many vehicles pass?")
    for count in counts:
        print(f"  minute {count.start // MINUTE}: {count.value:g} vehicles")

    road.ask("speed", "vehicles")
    _, vehicles = road.run(30)
    road.tell("how fast, and how long are they?")
    for seen in vehicles[:4]:
        speed = f"{seen.speed:.1f} ft/s in [{seen.speed_low:.1f}, {seen.speed_high:.1f}]"
        length = f"{seen.length:.1f} ft in [{seen.length_low:.1f}, {seen.length_high:.1f}]"
        print(f"  at {seen.at / SECOND:.2f} s: {speed}, {length}")

    road.ask("voltage", "samples")
    road.run(5)
    road.tell("what do the raw readings look like?")
    road.forget("voltage")
    road.run(5)
    road.tell("enough of that")

    for proxy in road.proxies:
        proxy.keep_alive(road.now + 30 * 86_400 * SECOND, now=road.now)
    road.run(5)
    road.tell("the batteries must last for a month")
    for query in ("flow", "speed"):
        road.forget(query)
    road.run(60)
    road.tell("nobody asks")


if __name__ == "__main__":
    main()
