"""Late rows and dead letters: one CSV file under three policies.

Run it with `python examples/late_rows.py`. It needs no Java and leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamgauge as sg

# Two rows come late: one of 00:00:30 behind one of 00:00:50, one of 00:00:40 behind 00:01:30.
# Three rows cannot be used: no number, a field missing, no key.
READINGS = """\
ts,meter,kwh
2026-03-01T00:00:01Z,m1,5
2026-03-01T00:00:20Z,m2,7
2026-03-01T00:00:50Z,m1,6
2026-03-01T00:00:30Z,m2,4
2026-03-01T00:01:10Z,m1,broken
2026-03-01T00:01:20Z,m2
2026-03-01T00:01:30Z,m2,8
2026-03-01T00:00:40Z,m1,3
2026-03-01T00:02:00Z,,9
2026-03-01T00:02:10Z,m1,5
"""
SCHEMA = sg.Schema.of(ts="time", meter="string", kwh="float")
USED = sg.Query(
    "used", "meters", sg.total("kwh"), window=sg.Range("1 minute"), answer=sg.every("1 minute")
)


def show(title: str, late: sg.Late, folder: Path) -> None:
    """Print all answers under one policy."""
    with sg.connect(folder / late.policy, engine="local") as gauge:
        source = sg.files(folder / "meters", format="csv")
        gauge.stream("meters", source=source, key="meter", time="ts", schema=SCHEMA, late=late)
        gauge.register(USED)
        gauge.start()
        gauge.drain()
        # No row before 00:03:10 is still to come, so 00:02:00 is answered under every policy.
        gauge.advance("meters", "2026-03-01T00:03:10Z")
        gauge.drain()
        print(title)
        for answer in gauge.subscribe(since_epoch=0, timeout=0):
            print(f"  {answer}" + (f", revision {answer.revision}" if answer.revision else ""))


def show_dead(folder: Path) -> None:
    """Print the rows that no policy can use; they are the same in all three homes."""
    gauge = sg.connect(folder / "drop", engine="local")
    print("dead letters:")
    for letter in gauge.dead_letters("meters").to_pylist():
        print(f"  {Path(letter['origin']).name}: {letter['reason']}  <-  {letter['row']}")


def main() -> None:
    """Read the same file three times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "meters").mkdir()
        (folder / "meters" / "march.csv").write_text(READINGS)
        show("late rows are dropped, and charged where they can be:", sg.Late.drop(), folder)
        show("late rows are waited for, one minute:", sg.Late.allow("1 minute"), folder)
        show("late rows revise answers, one minute back:", sg.Late.revise("1 minute"), folder)
        show_dead(folder)


if __name__ == "__main__":
    main()
