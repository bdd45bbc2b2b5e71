"""Spool: rows that clients push, on disk before they are acknowledged, then files of their stream.

One thread takes what has come, reads it, and writes it as one record of a log, with one flush for
all requests in it. Another turns records into parquet files among the stream's incoming files.
Before a file is written the log says which requests make it up. Whatever dies in between, reading
the log again gives the same files under the same names, and no file is taken twice.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from streamgauge.coordinator.agents import Refusal
from streamgauge.edge.clock import wall_clock
from streamgauge.kernel.errors import EngineFailure, StreamgaugeError
from streamgauge.kernel.files import number_name, reading, sync_directory
from streamgauge.kernel.time import Instant
from streamgauge.log.dead_letters import bury
from streamgauge.log.home import Home
from streamgauge.log.lock import holding
from streamgauge.log.segments import write_parquet
from streamgauge.log.spool import Spool
from streamgauge.server.bodies import Body, BodyReader
from streamgauge.server.receipts import Receipt, Receipts
from streamgauge.server.records import Group, read_record
from streamgauge.server.uptake import Uptake
from streamgauge.streams.stream import Stream

# Bytes that wait for the job before more are refused, and when clients may come again.
LIMIT_BYTES = 256 << 20
RETRY_SECONDS = 5.0
# Requests that share one record at most: what one flush holds up.
GROUP_BYTES = 16 << 20
# The log begins anew when it is this long.
LOG_BYTES = 64 << 20
# A file is written when the job has taken the one before, or when rows have waited this long.
WAIT_SECONDS = 1.0
# Files are this far apart: each costs the job an epoch.
APART_SECONDS = 0.1
PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a spool holds.

    Parameters
    ----------
    waiting
        Bytes that may wait for the job.
    log
        Bytes of the log, after which it begins anew.
    keys
        Repeatable requests that are remembered, the newest.
    wait
        Seconds that rows wait for the job to take the file before theirs.
    """

    waiting: int = LIMIT_BYTES
    log: int = LOG_BYTES
    keys: int = 100_000
    wait: float = WAIT_SECONDS


@dataclass(slots=True)
class _Parcel:
    """A request on its way to the disk."""

    body: Body
    future: Future[Receipt]


_Told = tuple[_Parcel, Receipt | StreamgaugeError]


class PushSpool:
    r"""Takes what is pushed to one stream.

    Parameters
    ----------
    home
        The home whose job reads the rows.
    stream
        The stream, whose source is of kind push.
    limits
        How much it holds.
    clock
        When bodies arrive.

    Examples
    --------
    >>> import tempfile
    >>> from streamgauge.streams.schema import Schema
    >>> home = Home.open(tempfile.mkdtemp(), shards=1)
    >>> stream = Stream("s", Schema.of(ts="time", v="float"), "ts", (), (("kind", "push"),))
    >>> with PushSpool(home, stream) as spool:
    ...     spool.push(Body(b'{"ts": 1, "v": 2.5}\n{"v": 3}')).result()
    Receipt(rows=1, rejected=1, serial=1)
    >>> sorted(path.name for path in home.incoming("s").iterdir())
    ['000000000001.parquet']
    """

    def __init__(
        self,
        home: Home,
        stream: Stream,
        limits: Limits | None = None,
        clock: Callable[[], Instant] = wall_clock,
    ) -> None:
        self.home = home
        self.stream = stream
        self.limits = limits or Limits()
        self.directory = spool_directory(home, stream.name)
        self._clock = clock
        self._held = ExitStack()
        self._log = Spool(self.directory)
        self._receipts = Receipts(self.limits.keys)
        self._reader = BodyReader(stream)
        self._uptake = Uptake(home, stream.name)
        self._changed = threading.Condition()
        self._queue: deque[_Parcel] = deque()
        self._on_the_way: dict[str, _Parcel] = {}
        self._queued_bytes = 0
        self._unsettled_bytes = 0
        self._pending: list[Group] = []
        self._landing: list[Group] = []
        self._marked = False
        # Held while a record is added, so that the log can begin anew between two.
        self._writing = threading.Lock()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._stopped: str | None = "it is not open"
        self._broken: str | None = None
        self.serial = 0
        self.failure: str | None = None

    def __enter__(self) -> PushSpool:
        self.open()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def open(self) -> None:
        """Go on where the last one stopped: what it had acknowledged becomes files."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            try:
                held.enter_context(holding(self.directory))
            except EngineFailure as error:
                raise EngineFailure(
                    f"another server takes the rows of stream {self.stream.name!r}",
                    error.detail,
                    "push to that one, or stop it",
                ) from None
            self._recover()
            self._held = held.pop_all()
        self._stopped = None
        for work, name in ((self._write, "push"), (self._land, "landing")):
            thread = threading.Thread(
                target=work, name=f"streamgauge-{name}-{self.stream.name}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """Take no more; what was acknowledged becomes files."""
        with self._changed:
            self._stopped = self._stopped or "it is closing"
            self._closing.set()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        self._log.close()
        self._held.close()

    @property
    def behind(self) -> int:
        """Bytes that the job has not taken yet."""
        return self._queued_bytes + self._unsettled_bytes + self._uptake.bytes

    @property
    def closed(self) -> bool:
        """Whether it takes no more."""
        return self._stopped is not None

    @property
    def unsettled(self) -> bool:
        """Whether something acknowledged is in no file yet."""
        with self._changed:
            return bool(self._pending or self._landing)

    @property
    def flushes(self) -> int:
        """How often the disk was asked to keep something."""
        return self._log.flushes

    def push(self, body: Body) -> Future[Receipt]:
        """Take a request; the future is done when its rows are on disk.

        A request that comes again with its key gets the receipt of the first, and lands nothing.
        """
        with self._changed:
            if body.key is not None:
                known = self._known(body.key, body)
                if known is not None:
                    return known
            if self._stopped is not None:
                raise self._refused_as_stopped()
            if self.behind + len(body.data) > self.limits.waiting:
                raise self._refused_as_full(self.behind)
            parcel = _Parcel(body, Future())
            # A client that goes away must not take back what others may ask for again.
            parcel.future.set_running_or_notify_cancel()
            if body.key is not None:
                self._on_the_way[body.key] = parcel
            self._queue.append(parcel)
            self._queued_bytes += len(body.data)
            self._changed.notify_all()
            return parcel.future

    def _known(self, key: str, body: Body) -> Future[Receipt] | None:
        moving, kept = self._on_the_way.get(key), self._receipts.find(key)
        if moving is None and kept is None:
            return None
        # Digests are worked out where they are needed: most keys are new.
        same = moving.body == body if moving is not None else kept and kept[0] == body.digest
        if not same:
            raise Refusal(
                "this idempotency key was used for another body",
                f"key {key!r} of stream {self.stream.name!r}",
                "use a new key for each request, and the old one only to repeat it",
                status=422,
            )
        if moving is not None:
            return moving.future
        assert kept is not None
        done: Future[Receipt] = Future()
        done.set_result(kept[1])
        return done

    def _refused_as_full(self, behind: int) -> Refusal:
        return Refusal(
            f"stream {self.stream.name!r} takes no more for now",
            f"{behind:,} bytes wait for the job, which may be {self.limits.waiting:,}",
            "come again later; start the job if it does not run",
            status=503,
            retry=RETRY_SECONDS,
        )

    def _refused_as_stopped(self) -> Refusal:
        return Refusal(
            f"stream {self.stream.name!r} takes no rows",
            f"its spool does not work: {self._stopped}",
            "come again when the server was started anew",
            status=503,
            retry=RETRY_SECONDS,
        )

    # Writing

    def _write(self) -> None:
        parcels: list[_Parcel] = []
        try:
            while parcels := self._next_parcels():
                self._take(parcels)
        finally:
            # Nobody may wait for what no longer comes.
            with self._changed:
                self._stopped = self._stopped or "its writer ended"
                left = [*parcels, *self._queue]
                self._queue.clear()
                self._on_the_way.clear()
            for parcel in left:
                if not parcel.future.done():
                    parcel.future.set_exception(self._refused_as_stopped())

    def _next_parcels(self) -> list[_Parcel]:
        """All that has come while the last were written; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing.is_set())
            taken: list[_Parcel] = []
            size = 0
            while self._queue and size <= GROUP_BYTES:
                taken.append(self._queue.popleft())
                size += len(taken[-1].body.data)
            return taken

    def _take(self, parcels: list[_Parcel]) -> None:
        """Read requests, write them down, then tell who waits."""
        first = self.serial + 1
        self.serial += len(parcels)
        numbered = [(first + at, parcel.body) for at, parcel in enumerate(parcels)]
        try:
            reading = self._reader.read(numbered, self._clock())
            told: list[_Told] = [
                (parcel, one.refusal or Receipt(one.rows, one.rejected, serial))
                for (serial, _), parcel, one in zip(numbered, parcels, reading.taken, strict=True)
            ]
            kept = [
                (parcel.body.key, parcel.body.digest, said)
                for parcel, said in told
                if parcel.body.key is not None and isinstance(said, Receipt)
            ]
            group = Group(self.serial, reading.table, reading.letters, tuple(kept))
            with self._writing:
                if self._broken is not None:
                    raise self._refused_as_stopped()
                self._log.commit(self._log.append(group.encode()))
                with self._changed:
                    self._pending.append(group)
                    self._unsettled_bytes += group.size
                    for key, digest, receipt in kept:
                        self._receipts.keep(key, digest, receipt)
        except (StreamgaugeError, OSError, pa.ArrowException) as error:
            told = [(parcel, _failed(error)) for parcel in parcels]
        self._tell(told)

    def _tell(self, told: list[_Told]) -> None:
        with self._changed:
            for parcel, _ in told:
                self._queued_bytes -= len(parcel.body.data)
                if parcel.body.key is not None:
                    self._on_the_way.pop(parcel.body.key, None)
            self._changed.notify_all()
        for parcel, said in told:
            if isinstance(said, Receipt):
                parcel.future.set_result(said)
            else:
                parcel.future.set_exception(said)

    # Landing

    def _land(self) -> None:
        since: float | None = None
        landed = 0.0
        while not self._closing.wait(PAUSE_SECONDS):
            try:
                self._uptake.look()
                since = (since or time.monotonic()) if self.unsettled else None
                now = time.monotonic()
                if since is None or now - landed < min(APART_SECONDS, self.limits.wait):
                    continue
                if self._uptake.idle or now - since >= self.limits.wait:
                    self._land_pending()
                    since, landed = None, time.monotonic()
                if self._log.size > self.limits.log:
                    self._begin_anew()
                self.failure = None
            except (StreamgaugeError, OSError, pa.ArrowException) as error:
                # Acknowledged rows are in the log: this is tried again until it works.
                self.failure = str(error)
        self._threads[0].join()
        try:
            self._begin_anew()
        except (StreamgaugeError, OSError, pa.ArrowException) as error:
            self.failure = str(error)

    def _land_pending(self) -> None:
        """Make files of what is pending; the log knows beforehand which."""
        if not self._landing:
            with self._changed:
                if not self._pending:
                    return
                self._landing, self._pending = self._pending, []
            self._marked = False
        if not self._marked:
            # A file that the log does not know of would be made again, with other rows in it.
            self._log.commit(self._log.append(Group.mark(self._landing[-1].serial)))
            self._marked = True
        self._make_files(self._landing)
        with self._changed:
            self._unsettled_bytes -= sum(group.size for group in self._landing)
            self._landing = []

    def _begin_anew(self) -> None:
        """Let go of what the log holds of rows that are in files."""
        with self._writing:
            while self._landing or self._pending:
                self._land_pending()
            try:
                self._log.begin({"serial": self.serial, "receipts": self._receipts.as_list()})
            except OSError as error:
                # Which part of the log counts is unknown now, so nothing may be added to it.
                self._broken = f"its log could not begin anew: {error}"
                self._stopped = self._stopped or self._broken
                raise

    def _make_files(self, groups: list[Group]) -> None:
        """Write groups as files, those of one schema together, and their dead letters."""
        for _, alike in groupby(groups, key=lambda group: group.table.schema):
            run = list(alike)
            serial = run[-1].serial
            letters = pa.concat_tables([group.letters for group in run], promote_options="default")
            if letters.num_rows:
                bury(self.home, self.stream.name, f"push-{number_name(serial, '')}", letters)
                sync_directory(self.home.dead(self.stream.name))
            table = pa.concat_tables([group.table for group in run])
            path = self.home.incoming(self.stream.name) / number_name(serial, ".parquet")
            if table.num_rows and not self._uptake.has(path):
                if not path.exists():
                    write_parquet(path, table)
                    sync_directory(path.parent)
                self._uptake.expect(path)

    # Recovering

    def _recover(self) -> None:
        """Read the log: make the files that are missing, and begin anew."""
        state = self._log.snapshot() or {"serial": 0, "receipts": []}
        with reading(self.directory, f"the snapshot of rows pushed to {self.stream.name!r}"):
            self.serial = int(state["serial"])
            self._receipts.restore(state["receipts"])
        self._uptake.begin()
        groups: list[Group] = []
        for record in self._log.records():
            found = read_record(record)
            if isinstance(found, Group):
                groups.append(found)
                self.serial = found.serial
                for key, digest, receipt in found.receipts:
                    self._receipts.keep(key, digest, receipt)
                continue
            self._make_files([group for group in groups if group.serial <= found])
            groups = [group for group in groups if group.serial > found]
        self._make_files(groups)
        self._uptake.settle()
        self._log.begin({"serial": self.serial, "receipts": self._receipts.as_list()})


def spool_directory(home: Home, stream: str) -> Path:
    """Where the log of a stream's pushed rows is."""
    return home.root / "pushed" / stream


def _failed(error: Exception) -> StreamgaugeError:
    return EngineFailure(
        "the rows could not be written",
        error.detail if isinstance(error, StreamgaugeError) else str(error),
        "mend the disk and send them again: nothing of them was taken",
    )
