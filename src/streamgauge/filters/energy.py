"""Energy: what sampling, computing, sending and listening take from a sensor's battery.

The parameters are those of a small radio sensor [MF02, table 1]. Where the table says "current" of
processor and converter it gives watts, and they are taken as watts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

DAY = 86_400.0


class Energy(NamedTuple):
    """Joules by what took them; of one second of work they are watts.

    Examples
    --------
    >>> Energy(radio=1.0, idle=0.5).total
    1.5
    """

    radio: float = 0.0
    processor: float = 0.0
    converter: float = 0.0
    idle: float = 0.0
    receiver: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self)


class Work(NamedTuple):
    """What a sensor does, in a second or in all.

    Parameters
    ----------
    samples
        Readings.
    cycles
        Cycles of the processor.
    bits
        Bits sent.
    listening
        Seconds in which the receiver was on.
    seconds
        How long all of it took.

    Examples
    --------
    >>> one = Work(samples=180, cycles=180 * 510, bits=180 * 16)
    >>> one.and_then(one).bits, one.and_then(one).seconds
    (5760, 2.0)
    """

    samples: float = 0.0
    cycles: float = 0.0
    bits: float = 0.0
    listening: float = 0.0
    seconds: float = 1.0

    def and_then(self, more: Work) -> Work:
        """Both together."""
        return Work(
            self.samples + more.samples,
            self.cycles + more.cycles,
            self.bits + more.bits,
            self.listening + more.listening,
            self.seconds + more.seconds,
        )


@dataclass(frozen=True, slots=True)
class Battery:
    """A sensor's hardware: what a piece of work costs, and how much there is.

    Parameters
    ----------
    joules_per_bit
        Sending.
    active, idle
        Watts of the processor at work and asleep.
    hertz
        Cycles a second.
    converter, latch
        Watts of the converter, and seconds it takes for a reading.
    receiver
        Watts while it listens. The table has none and its totals leave it out, so it is 0 here.
    volts, ampere_hours
        What the battery is.

    Examples
    --------
    Three programs at 180 readings a second [MF02, section 5.2]: raw readings, an event for each
    vehicle (at most five a second), a count each second.

    >>> for program, work in AT_180_HERTZ.items():
    ...     watts, days = MOTE.energy(work).total, MOTE.lifetime(work) / DAY
    ...     print(f"{program}: {1000 * watts:.2f} mW, {days:.1f} days")
    raw: 13.00 mW, 1.6 days
    events: 1.10 mW, 18.9 days
    counts: 0.38 mW, 54.9 days
    """

    joules_per_bit: float = 4.31e-6
    active: float = 6e-3
    idle: float = 30e-6
    hertz: float = 1e6
    converter: float = 0.6e-3
    latch: float = 60e-6
    receiver: float = 0.0
    volts: float = 5.0
    ampere_hours: float = 0.1

    @property
    def joules(self) -> float:
        """What a full battery holds."""
        return self.volts * self.ampere_hours * 3600.0

    def energy(self, work: Work) -> Energy:
        """Joules that a piece of work takes."""
        return Energy(
            radio=self.joules_per_bit * work.bits,
            processor=self.active * work.cycles / self.hertz,
            converter=self.converter * self.latch * work.samples,
            idle=self.idle * work.seconds,
            receiver=self.receiver * work.listening,
        )

    def lifetime(self, work: Work) -> float:
        """Seconds that a full battery lasts when the work goes on like this."""
        return self.joules * work.seconds / self.energy(work).total


MOTE = Battery()

# Bits of what a sensor says, and cycles of its processor for each reading. The table has neither;
# with these the three printed totals come out, and they are payloads as the paper counts them.
SAMPLE_BITS = 16
VEHICLE_BITS = 32
COUNT_BITS = 16
PANE_BITS = 80
BEACON_BITS = 23
RAW_CYCLES = 510
OTHER_CYCLES = 254

AT_180_HERTZ = {
    "raw": Work(samples=180, cycles=180 * RAW_CYCLES, bits=180 * SAMPLE_BITS),
    "events": Work(samples=180, cycles=180 * OTHER_CYCLES, bits=5 * VEHICLE_BITS + BEACON_BITS),
    "counts": Work(samples=180, cycles=180 * OTHER_CYCLES, bits=COUNT_BITS),
}
