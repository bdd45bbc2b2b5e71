"""A building: how warm each floor is within half a degree, and what a silent sensor does to that.

Twelve rooms on three floors are measured every ten seconds for three hours. In the second hour the
sensor of one room falls silent for forty minutes: the answers of its floor go on from where the
room was, with bars that grow, and are as before when it is back.

Run it with `python examples/building.py`. It needs no Java and leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg

ROOMS = 12
STEPS = 3 * 360
BEGIN = 1_767_261_600_000_000  # 2026-01-01T10:00:00Z
SILENT, BACK = 360, 600  # from 11:00 to 11:40

STATEMENTS = """
CREATE STREAM building FROM FILES '{place}' FORMAT parquet
    KEY room TIME ts TICK 10 SECONDS GAP 5 MINUTES;

CREATE QUERY warmth AS
SELECT floor, AVG(temp) FROM building [PARTITION BY room ROWS 1]
GROUP BY floor WITHIN 0.5 CONFIDENCE 0.9;

CREATE QUERY warmest AS
SELECT MAX(level) FROM (SELECT AVG(temp) AS level FROM building [PARTITION BY room ROWS 1])
    [RANGE 30 MINUTES] WITHIN 0.5 CONFIDENCE 0.9;

ADVANCE STREAM building TO '2026-01-01T13:00:01Z';
"""


def readings() -> pa.Table:
    """Temperatures in order of time; room 5, on the second floor, is silent for a while."""
    dice = np.random.default_rng(5)
    hours = np.arange(1, STEPS + 1) / 360.0
    noise = np.cumsum(0.06 * dice.standard_normal((ROOMS, STEPS)), axis=1)
    temps = 20.0 + 2.0 * np.sin(hours) + dice.uniform(-1.0, 1.0, (ROOMS, 1)) + noise
    step, room = (axis.ravel() for axis in np.indices((STEPS, ROOMS)))
    heard = ~((room == 5) & (step >= SILENT) & (step < BACK))
    step, room = step[heard], room[heard]
    return pa.table(
        {
            "ts": pa.array(BEGIN + 10_000_000 * (step + 1), pa.timestamp("us", tz="UTC")),
            "room": pa.array([f"room-{number:02d}" for number in room.tolist()]),
            "floor": pa.array(room // 4 + 1),
            "temp": np.round(temps[room, step], 2),
        }
    )


def told(answer: sg.Answer) -> str:
    """When, what, and how far the bar reaches."""
    moment = datetime.fromtimestamp(answer.as_of / 1e6, UTC)
    reach = (answer.high - answer.low) / 2.0
    return f"  {moment:%H:%M:%S}  {answer.value:5.2f} +- {reach:.2f}  {answer.basis}"


def main() -> None:
    """Ask, run, and print the second floor around the silence."""
    with tempfile.TemporaryDirectory() as place:
        rows = Path(place) / "building"
        rows.mkdir()
        pq.write_table(readings(), rows / "morning.parquet")
        with sg.connect(Path(place) / "home", engine="local") as gauge:
            gauge.sql(STATEMENTS.format(place=rows))
            gauge.start()
            gauge.drain()
            print("the second floor around the silence of one of its four rooms, 11:00 to 11:40:")
            for answer in gauge.subscribe("warmth", since_epoch=0, timeout=0):
                step = (answer.as_of - BEGIN) // 10_000_000
                if answer.group == (2,) and SILENT - 120 <= step <= BACK + 120:
                    print(told(answer))
            print("\nthe newest answers:")
            for answer in gauge.latest():
                print(f"  {answer}")
            print("\nhow they were brought up to date:")
            for cell in gauge.deferrals().to_pylist():
                made = f"{cell['evaluations']} evaluations in {cell['checks']:,} ticks"
                print(f"  {cell['query']}{cell['group']} by {cell['regime']}: {made}")


if __name__ == "__main__":
    main()
