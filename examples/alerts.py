"""An alert that goes by bars: raised once, cleared once, however the value trembles.

Run it with `python examples/alerts.py`. It needs no Java and leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from email import message_from_bytes
from pathlib import Path

import streamgauge as sg

READINGS = (96, 99, 104, 99, 101, 97, 94, 96, 96)
DECLARED = """
CREATE STREAM ovens (ts TIME, oven STRING, heat FLOAT) FROM FILES '{source}'
    KEY oven TIME ts FORMAT csv;
CREATE QUERY heat AS SELECT MAX(heat) FROM ovens [PARTITION BY oven ROWS 1] ON CHANGE;
CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 CLEAR BELOW 95
    DELIVER TO MAIL '{mail}' FOR 'ops@example.org'
"""


def watch(folder: Path, source: Path, mail: Path) -> None:
    """Answer all readings, judge the answers, deliver what they cross."""
    gauge = sg.connect(folder / "home", engine="local")
    gauge.sql(DECLARED.format(source=source, mail=mail))
    watcher = sg.Watcher(gauge)
    watcher.open()
    lines = [f"2026-01-01T00:00:{n:02d}Z,oven,{value}" for n, value in enumerate(READINGS, 1)]
    (source / "readings.csv").write_text("\n".join(["ts,oven,heat", *lines, ""]))
    while gauge.step():
        pass
    while watcher.step():
        pass
    watcher.finish()
    watcher.stop()
    gauge.stop()


def main() -> None:
    """Watch an oven, then read the mail."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, mail = folder / "readings", folder / "mail"
        source.mkdir()
        watch(folder, source, mail)
        messages = [message_from_bytes(path.read_bytes()) for path in mail.glob("*.eml")]
    print("readings", *READINGS)
    for message in sorted(messages, key=lambda message: message["Date"]):
        print(message["Date"], "|", message["Subject"])


if __name__ == "__main__":
    main()
