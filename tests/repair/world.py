"""A small data directory with a file of every kind, and ways to damage one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg
from streamgauge.alerts import report as alerts
from streamgauge.alerts.watcher import Watcher
from streamgauge.audit import report as audit
from streamgauge.control.ledger import Ledger
from streamgauge.engine import shard
from streamgauge.engine.lander import Lander
from streamgauge.log import batches
from streamgauge.log.compaction import Small, put_together, remove_small
from streamgauge.log.feeding import Feeding, note_feeding
from streamgauge.log.messages import SCHEMA, Messages
from streamgauge.log.spool import Spool
from streamgauge.log.tables import note_reading
from streamgauge.results.follower import Follower
from streamgauge.server.bodies import Body
from streamgauge.server.owner_token import owner_token
from streamgauge.server.spool import PushSpool
from streamgauge.sinks import report as sinks
from streamgauge.sinks.delivery import Delivery, Known

START = 1_767_225_600
STATEMENTS = """
CREATE TABLE sites FROM '{root}/sites.csv';
CREATE SUMMARY of_values ON plant(value) WITH GRANULARITY 1 SECOND AND COLLAPSE(2, 4);
CREATE QUERY heat AS SELECT SUM(value) FROM plant [PARTITION BY series ROWS 1] ON CHANGE;
CREATE QUERY means AS SELECT series, AVG(value) FROM plant [RANGE 3 SECONDS] GROUP BY series
  EVERY 1 SECOND;
CREATE QUERY kinds AS SELECT APPROX_COUNT_DISTINCT(series) FROM plant [RANGE 3 SECONDS]
  EVERY 1 SECOND WITHIN 5 PERCENT CONFIDENCE 95%;
CREATE QUERY about AS SELECT AVG(value) FROM plant [PARTITION BY series ROWS 1]
  WITHIN 0.5 CONFIDENCE 0.9;
CREATE QUERY hot AS SELECT plant.series, plant.value, sites.site
  FROM plant [RANGE 3 SECONDS], sites WHERE plant.series = sites.series AND plant.value > 11;
CREATE QUERY pushed_sum AS SELECT SUM(value) FROM pushed [RANGE 3 SECONDS] EVERY 1 SECOND;
CREATE QUERY ordered AS SELECT COUNT(*) FROM orders [RANGE 3 SECONDS] EVERY 1 SECOND;
CREATE ALERT hot_plant ON heat WHEN CERTAINLY ABOVE 20
  DELIVER TO MAIL '{root}/mail' FOR 'ops@example.org'
"""


class World:
    """The data directory `root/home` and the source that feeds it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.source = root / "source"
        self.pristine = root / "pristine"
        self.second = 0

    def make(self) -> World:
        """Run for some epochs, with everything beside the job that writes files."""
        self.source.mkdir(parents=True)
        (self.root / "sites.csv").write_text("series,site\na,north\nb,south\n")
        schema = sg.Schema.of(ts="time", series="string", value="float")
        gauge = sg.connect(self.home, engine="local", shards=2)
        gauge.stream("plant", sg.files(self.source, "csv"), time="ts", key="series", schema=schema)
        gauge.stream("pushed", sg.push(), time="ts", key="series", schema=schema)
        gauge.stream("orders", sg.kafka("nowhere:9092", "orders"), time="ts", schema=schema)
        gauge.sql(STATEMENTS.format(root=self.root))
        gauge.create_sink("out", sg.to_postgres("postgresql://nobody@127.0.0.1:9/none", "t"))
        watcher = Watcher(gauge)
        watcher.open()
        auditor = sg.Auditor(gauge, at_once=1)
        auditor.open()
        with PushSpool(gauge.home, gauge.trial().registry.stream("pushed")) as spool:
            for turn in range(4):
                self.feed(turn)
                body = f'{{"ts": "{self._at(0)}", "series": "p", "value": {turn}}}\n{{"value": 1}}'
                spool.push(Body(body.encode(), key=f"k{turn}")).result()
                self._batch(gauge, turn)
                while gauge.step():
                    pass
                for follower in (watcher, auditor):
                    while follower.step():
                        pass
        watcher.save()
        watcher.close()
        auditor.close()
        self._beside(gauge)
        while gauge.step():
            pass
        gauge.pause("ordered")
        shutil.copytree(self.home, self.pristine)
        return self

    def _at(self, more: int) -> str:
        return f"2026-01-01T00:00:{self.second + more:02d}Z"

    def feed(self, turn: int) -> None:
        """One more file of rows, one of which cannot be used."""
        self.second += 2
        rows = [f"{self._at(k)},{'ab'[k]},{10 + turn + k}" for k in range(2)]
        text = "\n".join(["ts,series,value", *rows, f"{self._at(0)},a,much", ""])
        (self.source / f"{turn:03d}.csv").write_text(text)

    def _batch(self, gauge: sg.Gauge, number: int) -> None:
        """Rows of a topic, as a reader of Kafka would leave them."""
        table = pa.table(
            {
                "ts": pa.array([(START + self.second) * 10**6], pa.timestamp("us", tz="UTC")),
                "series": ["o"],
                "value": [1.0],
            }
        )
        directory = gauge.home.incoming("orders")
        directory.mkdir(parents=True, exist_ok=True)
        part = directory / "_part.parquet"
        pq.write_table(table, part)
        batch = batches.Batch(number, "orders", {0: number + 1}, {"p0.parquet": "0"})
        batches.put_batch(directory, batch, {part: "p0.parquet"})

    def _beside(self, gauge: sg.Gauge) -> None:
        """What processes beside the job leave that cannot be run here."""
        home = gauge.home
        registry = gauge.registry()
        known = Known(registry.sinks["out"], registry.queries, home.committed())
        delivery = Delivery(home, known)
        delivery.open()
        delivery.close()
        note_feeding(home, "plant", Feeding("failed", "gone", 0))
        note_reading(home, "sites", {"failures": 0})
        Ledger(home, "statements").meet("cluster", 3)
        owner_token(home.root)
        for name in ("edge/motes/spool", "pushed/other"):
            (home.root / name).mkdir(parents=True)
            spool = Spool(home.root / name)
            spool.begin({"serial": 0, "receipts": []})
            for record in (b"R first", b"R second", b"R third"):
                spool.commit(spool.append(record))
            spool.close()
        messages = Messages(home.root / "mqtt/rooms/messages", limit=1 << 20, window=10)
        one = ("room/1", b"20.5", 0, 1, False, 4, 7, 1234)
        row = dict(zip(SCHEMA.names, one, strict=True))
        for _ in range(3):
            messages.append(pa.RecordBatch.from_pylist([row], SCHEMA))
        messages.close()
        lander = Lander(home, max_rows=1000)
        lander.save_snapshot()
        held = list(lander.finished("pushed"))[:2]
        files = [Small(path, page, high) for page, path, high in held]
        assert put_together(home, "pushed", files) is not None
        remove_small(home, [small.path for small in files])

    def restore(self) -> None:
        """Make the data directory what it was; most of it still is."""
        for path in sorted(self.home.rglob("*"), reverse=True):
            kept = self.pristine / path.relative_to(self.home)
            if path.is_symlink() or path.is_file():
                if not kept.exists() or not _same(path, kept):
                    path.unlink()
            elif not kept.exists():
                shutil.rmtree(path, ignore_errors=True)
        for kept in sorted(self.pristine.rglob("*")):
            path = self.home / kept.relative_to(self.pristine)
            if kept.is_dir():
                path.mkdir(exist_ok=True)
            elif not path.exists():
                shutil.copy2(kept, path)
        for extra in self.source.glob("9*.csv"):
            extra.unlink()
        self.forget()

    def forget(self) -> None:
        for path in (self.home, self.home / "repairing"):
            for key in [key for key in shard._RUNNING if key[0] == str(path)]:
                del shard._RUNNING[key]

    def files(self) -> list[str]:
        """Every file but locks, which say nothing."""
        found = (path for path in self.pristine.rglob("*") if path.is_file())
        names = sorted(path.relative_to(self.pristine).as_posix() for path in found)
        return [name for name in names if not name.endswith(".lock")]

    def reads(self) -> Iterator[Callable[[], object]]:
        """All that a user can read or run."""
        gauge: list[sg.Gauge] = []

        def opened() -> sg.Gauge:
            if not gauge:
                gauge.append(sg.connect(self.home, engine="local"))
            return gauge[0]

        yield opened
        yield lambda: opened().latest()
        yield lambda: opened().answers().to_pylist()
        yield lambda: opened().rows("hot").to_pylist()
        yield lambda: opened().row_changes("hot").to_pylist()
        yield lambda: opened().progress()
        yield lambda: opened().refusals()
        yield lambda: opened().deferrals()
        yield lambda: opened().agents()
        yield lambda: opened().dead_letters("plant").to_pylist()
        yield lambda: opened().sql("SHOW STREAMS")
        yield lambda: opened().sql("SHOW TABLES")
        yield lambda: opened().sql("SHOW QUERIES")
        yield lambda: sinks.read(opened().home, opened().registry().sinks)
        yield lambda: alerts.read(opened().home)
        yield lambda: audit.read(opened().home)
        yield lambda: Ledger(opened().home, "statements").missing()
        yield lambda: Messages(self.home / "mqtt/rooms/messages", limit=1 << 20, window=10).close()
        yield lambda: list(Spool(self.home / "pushed/other").records())
        yield lambda: Spool(self.home / "pushed/other").snapshot()
        yield self.push
        yield lambda: self.follow(Watcher(opened()))
        yield lambda: self.follow(sg.Auditor(opened(), at_once=1))

    def follow(self, follower: Follower) -> None:
        try:
            follower.open()
            follower.step()
        finally:
            follower.close()

    def push(self) -> None:
        gauge = sg.connect(self.home, engine="local")
        with PushSpool(gauge.home, gauge.trial().registry.stream("pushed")):
            pass

    def run(self, gauge: sg.Gauge | None = None) -> list[str]:
        """Answer one more file; all answers there are then."""
        gauge = gauge or sg.connect(self.home, engine="local")
        self.second = 20
        self.feed(900)
        while gauge.step():
            pass
        rows = gauge.row_changes("hot").to_pylist()
        return [str(answer) for answer in gauge.answers().to_pylist()] + [str(row) for row in rows]


def _same(one: Path, other: Path) -> bool:
    a, b = one.stat(), other.stat()
    return (a.st_size, a.st_mtime_ns) == (b.st_size, b.st_mtime_ns)


def empty(data: bytes) -> bytes:
    return b""


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped_at(data: bytes, place: int, bits: int) -> bytes:
    return data[:place] + bytes(byte ^ bits for byte in data[place : place + 1]) + data[place + 1 :]


def flipped(data: bytes) -> bytes:
    return _flipped_at(data, len(data) // 2, 0x15)


def flipped_early(data: bytes) -> bytes:
    return _flipped_at(data, len(data) // 3, 1)


def an_object(data: bytes) -> bytes:
    return b"{}"


def a_list(data: bytes) -> bytes:
    return b"[]"


def garbage(data: bytes) -> bytes:
    return b"\xff\xfe\x80" * 30


def absent(data: bytes) -> bytes | None:
    return None


Damage = Callable[[bytes], bytes | None]
DAMAGES: list[Damage] = [
    empty, half, flipped, flipped_early, an_object, a_list, garbage, absent,
]  # fmt: skip
