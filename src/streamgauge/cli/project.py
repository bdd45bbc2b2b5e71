"""Project: streams, windows and queries declared in a file, brought to a gauge."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streamgauge.cli.forms import query_of, window_of
from streamgauge.cli.included import found_files, included
from streamgauge.cli.rehearsal import Rehearsal
from streamgauge.cli.table import Table, unknown
from streamgauge.execute.outcome import Outcome
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.time import DurationLike, duration
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.sources.declare import Source
from streamgauge.sources.learn import schema_of
from streamgauge.sources.places import local_path
from streamgauge.sources.source_kind import SourceKind
from streamgauge.sources.table import DECLARED
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.windows.window import Window

FILE = "streamgauge.toml"
KEYS = ("gauge", "spark", "streams", "windows", "queries", "include")
GAUGE_KEYS = (
    "home", "engine", "master", "max_rows", "shards", "checkpoint", "keep_answers",
    "allow_functions", "data_roots", "memory", "query_timeout",
)  # fmt: skip
STREAM_KEYS = (
    "source", "time", "key", "schema", "tick", "expected_gap", "late", "keep", "future",
    "capacity", "width", "idle",
)  # fmt: skip
SOURCE_KEYS = {name: kind.keys for name, kind in DECLARED.items()}


@dataclass(frozen=True, slots=True)
class DeclaredStream:
    """A stream as a project file declares it."""

    name: str
    source: Source
    time: str
    key: tuple[str, ...]
    schema: Schema | None
    tick: DurationLike
    expected_gap: DurationLike | None
    late: Late
    keep: DurationLike
    future: DurationLike | None
    capacity: int | None = None
    width: str | None = None
    idle: DurationLike | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """What a project file says; `path` is the file."""

    path: Path
    home: Path | None
    engine: str | None
    master: str | None
    max_rows: int | None
    shards: int | None
    settings: dict[str, str]
    streams: tuple[DeclaredStream, ...]
    windows: dict[str, Window]
    queries: tuple[Query, ...]
    scripts: tuple[Path, ...] = ()
    checkpoint: str | None = None
    keep_answers: str | None = None
    memory: str | None = None
    query_timeout: str | None = None
    functions: tuple[str, ...] = ()
    data_roots: tuple[str, ...] = ()

    def said(self, **options: str | None) -> Project:
        """The same with what was said on the command line, which wins."""
        given: dict[str, Any] = {name: value for name, value in options.items() if value}
        return replace(self, **given)


NO_PROJECT = Project(Path(), None, None, None, None, None, {}, (), {}, ())


@dataclass(frozen=True, slots=True)
class Brought:
    """What bringing a project to a gauge changed."""

    registered: int = 0
    altered: int = 0
    dropped: int = 0
    left: int = 0
    unchanged: int = 0

    def __str__(self) -> str:
        parts = [
            f"{count:,} {word}"
            for word, count in (
                ("registered", self.registered),
                ("altered", self.altered),
                ("dropped", self.dropped),
                ("unchanged", self.unchanged),
                ("not in the file, left alone", self.left),
            )
            if count
        ]
        return "queries: " + (", ".join(parts) or "none")


def load_project(path: Path) -> Project:
    """Read a project file, or the `streamgauge.toml` of a directory."""
    path = path / FILE if path.is_dir() else path
    table = Table(read_toml(path), str(path), KEYS)
    gauge = Table(table.data.get("gauge", {}), "[gauge]", GAUGE_KEYS)
    home, root = gauge.text("home"), path.absolute().parent
    queries = [*queries_of(table.data.get("queries", []))]
    more = [path for name in table.texts("include") or () for path in found_files(root, name)]
    for path in more:
        queries += included(path) if path.suffix == ".py" else ()
    return Project(
        path=path,
        home=None if home is None else root / home,
        engine=gauge.text("engine"),
        master=gauge.text("master"),
        max_rows=gauge.positive("max_rows"),
        shards=gauge.positive("shards"),
        settings=_settings(table.data.get("spark", {})),
        streams=tuple(_stream_of(n, d, root) for n, d in _entries(table, "streams")),
        windows={n: window_of(d, f"windows.{n}") for n, d in _entries(table, "windows")},
        queries=tuple(queries),
        scripts=tuple(path for path in more if path.suffix == ".sql"),
        checkpoint=gauge.text("checkpoint"),
        keep_answers=gauge.text("keep_answers"),
        memory=gauge.text("memory"),
        query_timeout=gauge.text("query_timeout"),
        functions=gauge.texts("allow_functions") or (),
        data_roots=tuple(str(root / name) for name in gauge.texts("data_roots") or ()),
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file; say where it is wrong."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceFailure(
            f"cannot read {path}", error.strerror or str(error), "check the name of the file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BindError(f"{path} is not TOML", str(error), "mend the file at that place") from None


def queries_of(data: Any) -> list[Query]:
    """The queries of a list of tables."""
    if not isinstance(data, list):
        raise BindError(
            "queries must be a list of tables", f"got {data!r}", "write [[queries]] over each one"
        )
    return [query_of(item, f"queries[{place}]") for place, item in enumerate(data)]


def _entries(table: Table, key: str) -> Iterable[tuple[str, Any]]:
    found = table.data.get(key, {})
    if not isinstance(found, dict):
        raise table.wrong(key, f"tables, [{key}.NAME]")
    return found.items()


def _settings(data: Any) -> dict[str, str]:
    """Spark settings: quoted names, or tables of tables as TOML reads bare dots."""
    if not isinstance(data, dict):
        raise BindError(
            "[spark] must be a table",
            f"got {data!r}",
            'write "spark.driver.memory" = "2g" below [spark]',
        )
    settings: dict[str, str] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            settings.update({f"{name}.{k}": v for k, v in _settings(value).items()})
        else:
            settings[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return settings


def _stream_of(name: str, data: Any, root: Path) -> DeclaredStream:
    table = Table(data, f"streams.{name}", STREAM_KEYS)
    schema = table.data.get("schema")
    if schema is not None and not isinstance(schema, dict):
        raise table.wrong("schema", 'a table, such as {ts = "time", value = "float"}')
    future = table.duration_or("future", "1 day")
    return DeclaredStream(
        name=name,
        source=_source_of(table, root),
        time=table.need("time"),
        key=table.texts("key") or (),
        schema=None if schema is None else Schema.of(**schema),
        tick=table.duration_or("tick", "1 s"),
        expected_gap=table.duration("expected_gap"),
        late=_late_of(table),
        keep=table.duration_or("keep", "1 hour"),
        future=None if future == "any" else future,
        capacity=table.positive("capacity"),
        width=table.text("width"),
        idle=table.duration("idle"),
    )


def _source_of(stream: Table, root: Path) -> Source:
    data = stream.data.get("source")
    place = f"{stream.place}.source"
    kind = data.get("kind", "files") if isinstance(data, dict) else "files"
    if kind not in SOURCE_KEYS:
        raise unknown("kind", str(kind), list(SOURCE_KEYS), place)
    table = Table(data, place, SOURCE_KEYS[kind])
    return _made(DECLARED[kind], table, root)


def _made(kind: SourceKind, table: Table, root: Path) -> Source:
    """A source; files are named from the directory of the project."""
    told: dict[str, Any] = {}
    for option in (option for option in kind.all_options if option.toml):
        needed = option is kind.then and kind.then_needed
        if option.toml == "settings":
            told |= _client_settings(table, option.name)
        elif option.name in table or needed:
            told[option.name] = _READ[option.toml](table, option.name, root)
            if option.known and told[option.name] not in option.known:
                raise unknown(option.name, told[option.name], list(option.known), table.place)
    if kind.address and (kind.address.needed or kind.address.name in table):
        said = table.need(kind.address.name)
        told[kind.address.name] = root / local_path(said) if kind.address.local else said
    return kind.made(**told)


_READ: dict[str, Callable[[Table, str, Path], Any]] = {
    "text": lambda table, name, _root: table.need(name),
    "raw": lambda table, name, _root: table.data[name],
    "positive": lambda table, name, _root: table.positive(name),
    "whole": lambda table, name, _root: table.whole(name),
    "number": lambda table, name, _root: table.number(name),
    "file": lambda table, name, root: root / table.need(name),
}


def _client_settings(table: Table, name: str) -> dict[str, Any]:
    options = table.data.get(name, {})
    if not isinstance(options, dict):
        raise table.wrong(name, 'a table, such as {"kafka.security.protocol" = "SSL"}')
    return options


def _late_of(stream: Table) -> Late:
    data = stream.data.get("late", "drop")
    if data == "drop":
        return Late.drop()
    if isinstance(data, dict) and len(data) == 1:
        table = Table(data, f"{stream.place}.late", ("allow", "revise"))
        if (wait := table.duration("allow")) is not None:
            return Late.allow(wait)
        if (reach := table.duration("revise")) is not None:
            return Late.revise(reach)
    raise stream.wrong("late", '"drop", {allow = "5 s"} or {revise = "1 min"}')


def rehearse(project: Project, gauge: Gauge, *, prune: bool) -> Rehearsal:
    """Try what a project says on a copy of what will hold; nothing changes yet.

    Parameters
    ----------
    prune
        Drop queries that are not in the project.
    """
    rehearsal = Rehearsal(gauge, gauge.trial())
    for declared in project.streams:
        known = rehearsal.trial.registry.streams.get(declared.name)
        rehearsal.put_stream(_stream(declared, known))
    for name, window in project.windows.items():
        rehearsal.put_window(name, window)
    rehearsal.put_queries(project.queries)
    for path in project.scripts:
        rehearsal.put_script(path, _text(path))
    gone = sorted(rehearsal.trial.registry.queries.keys() - rehearsal.declared)
    if gone and prune and not rehearsal.refused:
        rehearsal.trial.apply({"do": "drop", "names": gone})
        rehearsal.outcomes.append(Outcome("dropped", tuple(gone)))
    return rehearsal


def bring(project: Project, gauge: Gauge, expected: Registry, *, prune: bool) -> Brought:
    """Declare what a project says, all or none; the same again changes nothing.

    Parameters
    ----------
    expected
        What will hold on the gauge once its inbox is empty.
    prune
        Drop queries that are not in the project.
    """
    rehearsal = rehearse(project, gauge, prune=prune)
    if rehearsal.refused:
        raise rehearsal.refused[0].located()
    gauge.take(rehearsal.trial)
    return brought(rehearsal, expected)


def brought(rehearsal: Rehearsal, before: Registry) -> Brought:
    """Queries counted by what became of them."""
    old, new = before.queries, rehearsal.trial.registry.queries
    altered = [name for name in old.keys() & new.keys() if old[name].asked != new[name].asked]
    return Brought(
        registered=len(new.keys() - old.keys()),
        altered=len(altered),
        dropped=len(old.keys() - new.keys()),
        left=len(new.keys() - rehearsal.declared),
        unchanged=len((old.keys() & rehearsal.declared) - set(altered)),
    )


def _stream(declared: DeclaredStream, known: Stream | None) -> Stream:
    # A schema that was read from the files once stays; the files may be gone by now.
    learned = known.schema if known is not None else None
    return Stream(
        name=declared.name,
        schema=declared.schema or learned or schema_of(declared.source),
        time=declared.time,
        key=declared.key,
        source=declared.source.as_pairs(),
        tick=duration(declared.tick),
        expected_gap=None if declared.expected_gap is None else duration(declared.expected_gap),
        late=declared.late,
        keep=duration(declared.keep),
        future=None if declared.future is None else duration(declared.future),
        capacity=declared.capacity,
        width=declared.width,
        idle=None if declared.idle is None else duration(declared.idle),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BindError(f"{path} is not text", str(error), "save it as UTF-8") from None
