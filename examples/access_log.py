"""A day of a web server, played again in a moment: how much, how many failures, who asks most.

Run it with `python examples/access_log.py`. It needs no Java and leaves nothing behind. The log is
made up here; name a directory of your own in FROM FILES and it works the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import streamgauge as sg

MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
PATHS = ("/", "/news", "/login", "/pictures/7.png", "/search?q=gauge")
DECLARED = """
CREATE STREAM requests FROM FILES '{logs}' FORMAT access_log TIME ts KEY host TICK 1 MINUTE;
CREATE QUERY traffic AS
    SELECT COUNT(*) FROM requests [RANGE 6 HOURS] EVERY 6 HOURS;
CREATE QUERY failures AS
    SELECT COUNT(*) FROM requests [RANGE 6 HOURS] WHERE status >= 500 EVERY 6 HOURS;
CREATE QUERY megabytes AS
    SELECT SUM(bytes / 1e6) FROM requests [RANGE 6 HOURS] EVERY 6 HOURS
"""


def made_up() -> Iterator[str]:
    """Lines of the combined format; from noon on one request in twelve fails. Two are broken."""
    for number in range(4_320):
        at = MIDNIGHT + timedelta(seconds=20 * number)
        status = 503 if at.hour >= 12 and number % 12 == 0 else 200
        request = f"GET {PATHS[number % len(PATHS)]} HTTP/1.1"
        who = f"192.0.2.{number % 40 + 1} - -"
        size = 700 * (number % 9 + 1)
        yield f'{who} [{at:%d/%b/%Y:%H:%M:%S} +0000] "{request}" {status} {size} "-" "example/1.0"'
    yield "this line was cut by a full di"
    yield '192.0.2.1 - - [32/Mar/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "example/1.0"'


def main() -> None:
    """Answer a whole log, then say what could not be read of it."""
    with tempfile.TemporaryDirectory() as name:
        logs = Path(name) / "logs"
        logs.mkdir()
        (logs / "access.log.1").write_text("\n".join(made_up()), encoding="utf-8")
        gauge = sg.connect(Path(name) / "home", engine="local")
        gauge.sql(DECLARED.format(logs=logs))
        gauge.advance("requests", MIDNIGHT + timedelta(days=1, minutes=1))
        while gauge.step():
            pass
        for query in ("traffic", "failures", "megabytes"):
            for answer in gauge.answers(query).to_pylist():
                print(f"{answer['as_of']:%d %b %H:%M} {query:>10} {answer['value']:8.2f}")
        for letter in gauge.dead_letters("requests").to_pylist():
            print(f"line {letter['origin'].rsplit(':', 1)[1]}: {letter['reason']}")
        gauge.stop()


if __name__ == "__main__":
    main()
