"""Gauge: what a user holds, to declare streams, register queries, run the job and read answers.

Every change goes through the inbox of the home, so other processes may hold what one of them runs.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamgauge.contracts.answer import Answer
from streamgauge.contracts.row_change import RowChange
from streamgauge.engine.arrivals import Arrivals
from streamgauge.engine.catalog import expected_registry, follow_decided
from streamgauge.engine.engine import Engine
from streamgauge.engine.feeds import Feeds
from streamgauge.engine.job import MAX_ROWS, Job
from streamgauge.engine.local import LocalEngine
from streamgauge.engine.refreshing import Refreshing
from streamgauge.engine.spark.engine import SparkEngine
from streamgauge.execute.declare import embedded, summary_of
from streamgauge.execute.script import Script, parse_query
from streamgauge.execute.show import explained
from streamgauge.execute.tables import Tables
from streamgauge.execute.trial import Trial
from streamgauge.kernel.allowed import Allowed
from streamgauge.kernel.errors import BindError, EngineFailure, StreamgaugeError
from streamgauge.kernel.roots import Roots
from streamgauge.kernel.time import DurationLike, InstantLike, duration, instant
from streamgauge.language.statements import (
    Change,
    CreateFunction,
    CreateSink,
    CreateView,
    CreateWindow,
    Statement,
)
from streamgauge.log.home import QUERY_TIMEOUT, Home
from streamgauge.log.journal import Journal
from streamgauge.log.lock import holding
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Standing
from streamgauge.plan.sink import Destination
from streamgauge.plan.view import View
from streamgauge.plan.windowless import stored_form
from streamgauge.reading import POLL_SECONDS, Reader
from streamgauge.results.agents import forget_agent
from streamgauge.sinks.running import Sinks
from streamgauge.sources.declare import Source
from streamgauge.sources.learn import as_learned, check_first_times, schema_of
from streamgauge.sources.table import KINDS as SOURCE_KINDS
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.windows.window import Window

_MASTER = re.compile(r"(spark|k8s|sc)://|local\[|yarn$")
Leave = Callable[[Trial, Home], tuple[str, ...]]


class StandingQuery:
    """A handle on one registered query."""

    def __init__(self, gauge: Gauge, name: str) -> None:
        self.gauge, self.name = gauge, name

    @property
    def standing(self) -> Standing:
        """The query as registered: number, version, status."""
        return self.gauge.registry().query(self.name)

    @property
    def status(self) -> str:
        """Whether it is running, paused or suspended."""
        return self.standing.status

    def answer(self) -> Answer | None:
        """Its newest answer; None before the first. For a grouped query, of the first group."""
        return next(iter(self.gauge.latest(self.name)), None)

    def answers(self, since_epoch: int = 0) -> pa.Table:
        """All its answers after an epoch; of a view, the rows that came and went."""
        read = self.gauge.row_changes if self._of_rows else self.gauge.answers
        return read(self.name, since_epoch=since_epoch)

    def rows(self) -> pa.Table:
        """The rows it holds now, when it answers rows."""
        return self.gauge.rows(self.name)

    def subscribe(self, timeout: float | None = None) -> Iterator[Answer | RowChange]:
        """Its answers as they come; of a view, the rows that come and go."""
        if self._of_rows:
            yield from self.gauge.subscribe_rows(self.name, timeout=timeout)
        else:
            yield from self.gauge.subscribe(self.name, timeout=timeout)

    @property
    def _of_rows(self) -> bool:
        return isinstance(self.gauge.trial().registry.query(self.name).asked, View)

    def explain(self) -> str:
        """Its plan."""
        return self.gauge.explain(self.name)

    def pause(self) -> None:
        """Stop checking it; keep what it remembers."""
        self.gauge.pause(self.name)

    def resume(self) -> None:
        """Check it again; one that is suspended catches up first."""
        self.gauge.resume(self.name)

    def drop(self) -> None:
        """Forget it."""
        self.gauge.drop(self.name)

    def __repr__(self) -> str:
        return f"StandingQuery({self.name!r})"


class Gauge(Tables, Reader):
    """Standing queries on one home. Made by `connect`.

    Examples
    --------
    >>> import tempfile, streamgauge as sg
    >>> gauge = sg.connect(tempfile.mkdtemp(), engine="local")
    >>> gauge.stream("plant", source=sg.plant(n_sensors=4), key="series", time="ts")
    >>> _ = gauge.register(sg.Query("heat", "plant", sg.avg("value"), window=sg.Latest()))
    >>> print(gauge.explain("heat"))
    heat version 1, running, from the next epoch
    Answer on change                      owed exact
      Latest avg(value) of all series     spends 0, shard 0 of 1, not shared
        Scan plant (series, ts, value)    plant, tick 1 s, late rows dropped
    error by cause: late rows
    kept back 0 of the error: nothing here is approximate
    """

    def __init__(self, home: Home, job: Job) -> None:
        super().__init__(home)
        self._job, self._lock = job, ExitStack()
        self._engine: Engine | None = None
        self._feeds = Feeds(home, lambda: self._session, job.checkpoint)
        self._sinks, self._refreshing = Sinks(home), Refreshing(home, self.session)
        self._seen, self._expected = Journal(home).last(), expected_registry(home)

    def stream(
        self,
        name: str,
        source: Source,
        *,
        time: str | None = None,
        key: str | tuple[str, ...] | list[str] = (),
        schema: Schema | None = None,
        tick: DurationLike = "1 s",
        expected_gap: DurationLike | None = None,
        late: Late | None = None,
        keep: DurationLike = "1 hour",
        future: DurationLike | None = "1 day",
        changes: str | None = None,
        capacity: int | None = None,
        width: str | None = None,
        idle: DurationLike | None = None,
    ) -> None:
        """Declare a stream; declaring the same again changes nothing."""
        usual = SOURCE_KINDS[source.kind].usual
        if usual and schema is None:
            time, key, width = time or usual[0], key or usual[1], width or usual[2]
        if time is None:
            hint = "write time='ts', the column that says when a row happened"
            raise BindError(f"stream {name!r} has no event time", "no time column was named", hint)
        columns, known = schema or schema_of(source), self._expected.streams.get(name)
        if known is None:
            check_first_times(name, source, time, columns)
        declared = Stream(
            name=name,
            schema=columns,
            time=time,
            key=(key,) if isinstance(key, str) else tuple(key),
            source=source.as_pairs(),
            tick=duration(tick),
            expected_gap=None if expected_gap is None else duration(expected_gap),
            late=late or Late.drop(),
            keep=duration(keep),
            future=None if future is None else duration(future),
            changes=changes,
            capacity=capacity,
            width=width,
            idle=None if idle is None else duration(idle),
        )
        declared = declared if schema else as_learned(declared, known)
        if source.frame is not None:
            self._feeds.frames[name] = source.frame
        if known != declared:
            self._submit({"do": "stream", "stream": declared.as_dict()})
        elif self._engine is not None and self._engine.running:
            self._feeds.start([declared])

    def drop_stream(self, name: str) -> None:
        """Forget a stream that no query reads."""
        self._submit({"do": "drop stream", "name": name})

    def create_window(self, name: str, window: Window) -> None:
        """Name a window, to be shared by queries and resized for all of them at once."""
        self._execute(CreateWindow(name, window))

    def resize_window(self, name: str, window: Window) -> None:
        """Change a named window; its queries go on as a new version."""
        self._execute(CreateWindow(name, window, resize=True))

    def drop_window(self, name: str) -> None:
        """Forget a named window that no query uses."""
        self._submit({"do": "drop window", "name": name})

    def register(self, *queries: Query) -> list[StandingQuery]:
        """Register queries, all or none; they take effect together at the next epoch."""
        self._submit({"do": "register", "queries": stored_form(queries, self._expected)})
        return [StandingQuery(self, query.name) for query in queries]

    def alter(self, *queries: Query) -> None:
        """Replace registered queries of the same names by new versions."""
        self._submit({"do": "alter", "queries": stored_form(queries, self._expected)})

    def pause(self, *names: str) -> None:
        """Stop checking queries; they keep what they remember."""
        self._submit({"do": "pause", "names": list(names)})

    def resume(self, *names: str) -> None:
        """Check paused queries again; those that are suspended catch up first."""
        self._submit({"do": "resume", "names": list(names)})

    def drop(self, *names: str) -> None:
        """Forget queries."""
        self._submit({"do": "drop", "names": list(names)})

    def rescale(self, shards: int) -> None:
        """Run on another number of shards from the next epoch on; answers stay as they are."""
        self._submit({"do": "rescale", "shards": shards})

    def advance(self, stream: str, to: InstantLike) -> None:
        """Say that no row before an instant is to come, so that waiting checks are answered."""
        self._expected.stream(stream)
        self._submit({"do": "advance", "stream": stream, "instant": instant(to)})

    def create_function(
        self, name: str, target: str, returns: str = "float", aggregate: bool = False
    ) -> None:
        """Name a Python function, `module:function`, that `allow_functions` of connect lists."""
        self._execute(CreateFunction(name, target, returns, aggregate))

    def function(
        self, name: str, run: Callable[..., Any], returns: str = "float", aggregate: bool = False
    ) -> None:
        """Let queries call a callable of this program, in this process; local engine only."""
        said = embedded(self.home, self._job.kind, name, run)
        self._execute(replace(said, returns=returns, aggregate=aggregate))

    def drop_function(self, name: str) -> None:
        """Forget a function that no query calls."""
        self._execute(Change("drop", "function", (name,)))

    def create_view(self, name: str, text: str) -> None:
        """Name a query, so that other queries read its rows."""
        self._execute(CreateView(name, parse_query(text)))

    def drop_view(self, name: str) -> None:
        """Forget the name of a query; what was made from it goes on."""
        self._execute(Change("drop", "view", (name,)))

    def summary(
        self, name: str, stream: str, column: str, *, granularity: DurationLike, **options: Any
    ) -> None:
        """Summarise a column so that its promising regions are known; options as in `Summary`."""
        self._execute(summary_of(name, stream, column, granularity, **options))

    def create_sink(
        self, name: str, to: Destination, queries: Iterable[str] = (), *, history: bool = False
    ) -> None:
        """Deliver the answers of some queries, or of all, to Kafka or PostgreSQL, each once."""
        self._execute(CreateSink(name, tuple(queries), to.said, to.login_said, history))

    def drop_sink(self, name: str) -> None:
        """Deliver no more; what is delivered stays where it is."""
        self._execute(Change("drop", "sink", (name,)))

    def sql(
        self, text: str, name: str | None = None
    ) -> StandingQuery | list[StandingQuery] | pa.Table | str | None:
        """Run statements of the language, all or none.

        Gives the queries that were registered, one or a list; else what the last statement shows.
        A SELECT without a name is called after its text, or `name`.
        """
        trial = self.trial()
        outcomes = Script(self, trial).run(text, name)
        self.take(trial)
        asked = [query for outcome in outcomes for query in outcome.queries]
        if asked:
            handles = [StandingQuery(self, query) for query in asked]
            return handles if len(handles) > 1 else handles[0]
        return outcomes[-1].shown if outcomes else None

    def _execute(self, said: Statement) -> None:
        Script(self, trial := self.trial()).execute(said)
        self.take(trial)

    def _submit(self, record: dict[str, Any]) -> None:
        """Check a change against what is expected to hold, then leave it in the inbox."""
        (trial := self.trial()).apply(record)
        self.take(trial)

    def trial(self) -> Trial:
        """A copy of what will hold once the inbox is empty, to try changes on."""
        self._expected, self._seen = follow_decided(self.home, self._expected, self._seen)
        return Trial(self._expected)

    def take(self, trial: Trial, leave: Leave = Trial.leave) -> tuple[str, ...]:
        """Leave what a trial changed in the inbox; return the names of its records."""
        records = trial.records if self.running else []
        fed = [Stream.from_dict(r["stream"]) for r in records if r["do"] == "stream"]
        for stream in fed:
            self._feeds.refuse(stream)
        left = leave(trial, self.home)
        self._expected = trial.registry
        self._feeds.start(fed)
        return left

    @property
    def running(self) -> bool:
        """Whether this process runs the job."""
        return self._engine is not None and self._engine.running

    def start(self) -> Gauge:
        """Start the job; it goes on where it stopped."""
        if self.running:
            return self
        self._engine = self._engine or self._job.engine(self.home)
        self._lock.enter_context(holding(self.home.root))
        self._closing.clear()
        try:
            self._engine.start()
        except StreamgaugeError:
            self._lock.close()
            raise
        try:
            self._feeds.begin(self._expected.streams)
        except StreamgaugeError:
            self.stop()
            raise
        self._sinks.start(declared=bool(self._expected.sinks))
        self._refreshing.start(self._expected.tables)
        return self

    @property
    def _session(self) -> Any:
        return self._engine.session if isinstance(self._engine, SparkEngine) else None

    def session(self) -> Any:
        """The Spark session of this gauge, which databases are read with; opened on first use."""
        if self._engine is None and self._job.kind == "spark":
            self._engine = self._job.engine(self.home)
        return self._session or super().session()

    def forget_agent(self, stream: str, agent: str) -> None:
        """Wait no longer for an agent that is gone for good; its objects leave the answers."""
        forget_agent(self.home, stream, agent)

    def stop(self) -> None:
        """Stop the job after the epoch in work; nothing is lost."""
        self._refreshing.stop()
        self._feeds.stop()
        if self._engine is not None:
            self._engine.stop()
        self._sinks.stop()
        self._lock.close()
        self._closing.set()
        for watcher in self._watchers:
            watcher.join()
        self._watchers.clear()

    def step(self) -> bool:
        """Turn one epoch by hand; for the local engine, in tests and in a debugger."""
        self._engine = self._engine or self._job.engine(self.home)
        if not isinstance(self._engine, LocalEngine):
            raise BindError(
                "only the local engine steps by hand", "this gauge runs on Spark", "use start()"
            )
        return self._engine.step()

    def drain(self, timeout: float = 300.0) -> int:
        """Wait until all that is there now is answered; return the epoch."""
        if self._engine is None:
            raise EngineFailure(
                "this gauge does not run", "drain waits for the job", "call start() first"
            )
        deadline = time.monotonic() + timeout
        goals = self._feeds.goals()
        while not self._feeds.reached(goals):
            self._wait(deadline, timeout)
        there = Arrivals(self.home, self._expected.streams.values())
        while (committed := there.answered()) is None:
            self._wait(deadline, timeout)
        return committed

    def check(self) -> None:
        """Raise what ended the job, or the reading of a source, if something did."""
        failure = self._engine.failure() if self._engine else None
        self._feeds.check()
        if failure is not None:
            raise EngineFailure(
                "the job stopped",
                failure.strip()[:2000],
                "mend the cause and start again: it goes on from the last committed epoch",
            )

    def _wait(self, deadline: float, timeout: float) -> None:
        """One turn of waiting for the job; raise when it failed or took too long."""
        self.check()
        if time.monotonic() > deadline:
            raise EngineFailure(
                f"not done within {timeout:g} s",
                f"committed epoch {self.home.committed()} of {Journal(self.home).last()}",
                "wait longer, or look at gauge.progress()",
            )
        self._closing.wait(POLL_SECONDS)

    def explain(self, name: str) -> str:
        """The plan of a query."""
        known, expected = self.registry(), self._expected
        standing, asked = known.queries.get(name), expected.query(name)
        plan = known if standing is not None and standing.version == asked.version else expected
        return explained(plan, name, shards=self.home.shards, epoch=self.home.committed())

    def __enter__(self) -> Gauge:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()


def connect(
    home: str | Path = "gauge-home",
    *,
    engine: str = "spark",
    master: str | None = None,
    shards: int | None = None,
    max_rows: int = MAX_ROWS,
    settings: dict[str, str] | None = None,
    checkpoint: str | None = None,
    keep_answers: DurationLike | None = None,
    allow_functions: Iterable[str] | Allowed = (),
    data_roots: Iterable[str | Path] | Roots = (),
    exchange: bool | None = None,
    memory: int | str | None = None,
    query_timeout: DurationLike = QUERY_TIMEOUT,
) -> Gauge:
    """Open a gauge on a home directory, made if it is not there.

    Parameters
    ----------
    home
        Directory that all workers see. Or a Spark master: the home is then gauge-home.
    engine
        spark, or local: the same work in one thread without a JVM.
    master
        Spark master; all local cores when None.
    shards
        Shares of the work of a new home, see `rescale`. Default: one per core; 1 on one thread.
    max_rows
        Rows a stream may put into one epoch.
    settings
        Further Spark settings.
    checkpoint
        Path or address of Spark's checkpoint. Default: in the home.
    keep_answers
        How long the running job keeps answers and journal pages. Default: for ever.
    allow_functions
        Modules, or `module:function`, that CREATE FUNCTION may name; an `Allowed` has limits too.
    data_roots
        Directories that clients may name files in. Default: none.
    exchange
        Whether rows are read once and sent to their shards. Default: where that costs less.
    memory
        What state may take on a machine, in bytes or as "8g". Default: half of what it has.
    query_timeout
        How long a query may work on one epoch before it is suspended, in seconds or as "10 min".
    """
    home, master = ("gauge-home", str(home)) if _MASTER.match(str(home)) else (home, master)
    job = Job(engine, master, max_rows, settings, checkpoint, keep_answers, exchange)
    shards = shards or (os.cpu_count() or 1 if engine == "spark" else 1)
    opens = partial(Home.open, home, shards=shards, allowed=Allowed.of(allow_functions))
    return Gauge(opens(roots=Roots.of(data_roots), memory=memory, query_timeout=query_timeout), job)
