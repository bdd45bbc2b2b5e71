"""Statements that declare: streams, windows, tables and the rest; and those that take back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamgauge.execute.names import functions_in, members, reads_window, tables_in
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.loading import load
from streamgauge.kernel.time import DurationLike, duration
from streamgauge.language.expressions import AGGREGATES
from streamgauge.language.parse import parse
from streamgauge.language.render import render
from streamgauge.language.statements import (
    Advance,
    Ask,
    Change,
    CreateFunction,
    CreateStream,
    CreateSummary,
    CreateView,
    CreateWindow,
)
from streamgauge.log.home import Home
from streamgauge.operators.functions import EMBEDDED, Function, in_force
from streamgauge.plan.bind import bind
from streamgauge.plan.lower import replanned
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.view import View
from streamgauge.promise.summary import Summary
from streamgauge.sources.declare import Source
from streamgauge.sources.learn import as_learned, check_first_times, schema_of
from streamgauge.sources.places import local_path
from streamgauge.sources.source_kind import SourceKind
from streamgauge.sources.table import DECLARED
from streamgauge.streams.schema import TYPES, Schema
from streamgauge.streams.stream import Late, Stream

_STREAM_OPTIONS = {
    "tick": "tick", "gap": "expected_gap", "keep": "keep", "future": "future", "changes": "changes",
    "capacity": "capacity", "width": "width", "idle": "idle",
}  # fmt: skip


def placed(options: dict[str, Any], root: Path) -> dict[str, Any]:
    """Options of a broker or a database, their files found from where statements are run."""
    files = ("password_file", "ca", "schema")
    return {name: root / value if name in files else value for name, value in options.items()}


def declared_stream(said: CreateStream, root: Path, known: Stream | None) -> Stream:
    """The stream that a statement declares; a schema that was learned before stays."""
    kind = DECLARED.get(said.source)
    if kind is not None and kind.usual and not said.columns:
        said = _with_usual(said, *kind.usual)
    if not said.time:
        raise BindError(
            f"stream {said.name!r} has no event time",
            "no time column was named",
            "write TIME ts, the column that says when a row happened",
        )
    options = dict(said.options)
    source = _source(said, options, root)
    more = {key: options[word] for word, key in _STREAM_OPTIONS.items() if word in options}
    if dict(source.options).get("format") == "flows":
        # There the idle time is that of a flow.
        more.pop("idle", None)
    if said.columns:
        _check_columns(said)
        schema = Schema.of(**{name: kind.lower() for name, kind in said.columns})
    else:
        schema = known.schema if known is not None else schema_of(source)
    if known is None:
        check_first_times(said.name, source, said.time, schema)
    stream = Stream(
        name=said.name,
        schema=schema,
        time=said.time,
        key=said.key,
        source=source.as_pairs(),
        late=_late(options.get("late", ("drop",))),
        **more,
    )
    return stream if said.columns else as_learned(stream, known)


def _with_usual(said: CreateStream, time: str, key: str, width: str) -> CreateStream:
    """A stream without columns has those of its source, which say what time, key and width are."""
    options = said.options
    if "width" not in dict(options):
        options = (*options, ("width", width))
    return replace(said, key=said.key or (key,), time=said.time or time, options=options)


def _check_columns(said: CreateStream) -> None:
    names = [name for name, _ in said.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BindError(
            f"stream {said.name!r} has two columns named {twice!r}",
            f"its columns are {', '.join(names)}",
            "give each column a name of its own",
        )


def _source(said: CreateStream, options: dict[str, Any], root: Path) -> Source:
    kind = DECLARED.get(said.source)
    if kind is None:
        raise BindError(
            f"unknown source {said.source!r}",
            f"sources are {', '.join(DECLARED)}",
            "write FROM FILES 'directory' FORMAT csv",
        )
    _refuse_foreign(said, kind)
    local = kind.address is not None and kind.address.local
    place = root / local_path(said.path) if local else None
    given = kind.handed(said.path, root, options, place)
    for option in kind.options:
        if option.known and given.get(option.name, option.known[0]) not in option.known:
            raise BindError(
                f"unknown {option.name} {given[option.name]!r} of stream {said.name!r}",
                f"{option.name}s are {', '.join(option.known)}",
                f"write {option.words} csv, for example",
            )
    source: Source = load(kind.made)(**given)
    return _kept_within(source, options) if local else source


def _kept_within(source: Source, options: dict[str, Any]) -> Source:
    """A source of a client, which links lead nowhere but into its data root."""
    within = {"within": options["within"]} if "within" in options else {}
    return replace(source, options={**source.options, **within})


_OF_ROWS = ("time_unit", "header", "delimiter", "null")


def _refuse_foreign(said: CreateStream, kind: SourceKind) -> None:
    """Raise for an option of reading rows that the source does not have."""
    own = [option.name for option in kind.all_options]
    wrong = [name for name, _ in said.options if name in _OF_ROWS and name not in own]
    if wrong:
        raise BindError(
            f"{wrong[0].replace('_', ' ').upper()} is not an option of {said.source.upper()}",
            f"stream {said.name!r} reads from {said.source.upper()}",
            "leave it out, or read FROM FILES 'directory'",
        )


def _late(said: tuple[Any, ...]) -> Late:
    # The times are microseconds already; Late.allow would read numbers as seconds.
    if said[0] == "allow":
        return Late("allow", allowed=said[1])
    return Late("revise", reach=said[1]) if said[0] == "revise" else Late.drop()


def create_stream(trial: Trial, said: CreateStream, root: Path) -> Outcome:
    """CREATE STREAM: the same again changes nothing."""
    trial.free("stream", said.name)
    known = trial.registry.streams.get(said.name)
    return put_stream(trial, declared_stream(said, root, known))


def put_stream(trial: Trial, stream: Stream) -> Outcome:
    """Declare a stream, unless it is declared so already."""
    if trial.registry.streams.get(stream.name) == stream:
        return Outcome("unchanged stream", (stream.name,))
    trial.apply({"do": "stream", "stream": stream.as_dict()})
    return Outcome("created stream", (stream.name,))


def create_window(trial: Trial, said: CreateWindow, *, replace: bool = False) -> Outcome:
    """CREATE WINDOW and ALTER WINDOW."""
    known = trial.registry.windows.get(said.name)
    if replace and known == said.window:
        return Outcome("unchanged window", (said.name,))
    if said.resize and known is None:
        raise BindError(
            f"no window named {said.name!r}", "nothing to resize", "create the window first"
        )
    if known is not None and not (said.resize or replace):
        raise BindError(
            f"window {said.name!r} exists already",
            f"it is {known}",
            f"write ALTER WINDOW {said.name} AS [...], or gauge.resize_window",
        )
    trial.apply({"do": "window", "name": said.name, "window": said.window.as_dict()})
    trial.alter(_resized(trial.registry, said.name) if known is not None else [])
    return Outcome("created window" if known is None else "resized window", (said.name,))


def _resized(registry: Registry, window: str) -> list[Query | View]:
    """The views that read a window by its name, over what it is now."""
    found: list[Query | View] = []
    for view in _reading(registry, window):
        said = parse(view.text)
        assert isinstance(said, Ask), "the text of a view is a question"
        found.append(replanned(view, said.query, registry))
    return found


def _reading(registry: Registry, window: str) -> list[View]:
    views = [q.asked for q in registry.queries.values() if isinstance(q.asked, View)]
    return [view for view in views if view.text and reads_window(view.text, window, registry)]


def create_function(
    trial: Trial, said: CreateFunction, home: Home, *, replace: bool = False
) -> Outcome:
    """CREATE FUNCTION and CREATE AGGREGATE, of functions that the operator listed."""
    function = Function(said.name.lower(), said.target, said.returns.lower(), said.aggregate)
    if function.returns not in TYPES:
        raise BindError(
            f"unknown type {said.returns!r} of function {said.name!r}",
            f"types are {', '.join(TYPES)}",
            "write RETURNS float, for example",
        )
    if function.name in AGGREGATES:
        raise BindError(
            f"{function.name} is an aggregate of the language",
            f"CREATE FUNCTION {said.name} AS '{said.target}'",
            f"choose another name, such as my_{function.name}",
        )
    if said.name not in home.given or not said.target.startswith(f"{EMBEDDED}:"):
        with in_force(home.allowed):
            function.check()
    known = trial.registry.functions.get(function.name)
    if known == function:
        return Outcome("unchanged function", (function.name,))
    if known is not None and not replace:
        raise _taken("function", function.name, known.target)
    trial.apply({"do": "function", "function": function.as_dict()})
    kind = "aggregate" if function.aggregate else "function"
    return Outcome(f"{'created' if known is None else 'replaced'} {kind}", (function.name,))


def embedded(home: Home, engine: str, name: str, run: Callable[..., Any]) -> CreateFunction:
    """The statement for a callable of this program; no text can say the same.

    A later program that runs the home must give the callable again before it starts.
    """
    if engine != "local":
        raise BindError(
            f"function {name!r} cannot be given as a callable",
            "executors of Spark do not have the objects of this program",
            "put it into a module and write connect(..., allow_functions=['module'])",
        )
    home.given[name.lower()] = run
    place = f"{EMBEDDED}:{getattr(run, '__qualname__', type(run).__name__)}"
    return CreateFunction(name.lower(), place)


def create_view(trial: Trial, said: CreateView, *, replace: bool = False) -> Outcome:
    """CREATE VIEW: a name for the rows of a query, which other queries read."""
    trial.free("view", said.name)
    bind(said.query, trial.registry)
    text = render(Ask(said.query))
    known = trial.registry.names.get(said.name)
    if known == text:
        return Outcome("unchanged view", (said.name,))
    if known is not None and not replace:
        raise _taken("view", said.name, known)
    trial.apply({"do": "name", "name": said.name, "text": text})
    return Outcome("created view" if known is None else "replaced view", (said.name,))


def summary_of(
    name: str,
    stream: str,
    column: str,
    granularity: DurationLike,
    *,
    rate: int = 2,
    depth: int = 1,
    kind: str = "",
    longest: DurationLike | None = None,
    **options: Any,
) -> CreateSummary:
    """The statement that creates a summary.

    >>> print(render(summary_of("items", "sales", "item", "1 minute", depth=4, buckets=8)))
    CREATE SUMMARY items ON sales(item) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4) BUCKETS 8
    """
    if longest is not None:
        options["longest"] = duration(longest)
    given = tuple(options.items())
    return CreateSummary(name, stream, column, duration(granularity), rate, depth, kind, given)


def create_summary(trial: Trial, said: CreateSummary, *, replace: bool = False) -> Outcome:
    """CREATE SUMMARY: the same again changes nothing."""
    given = dict(said.options)
    if said.kind:
        given["kind"] = said.kind.lower()
    summary = Summary(
        said.name, said.stream, said.column, said.granularity, said.rate, said.depth, **given
    )
    known = trial.registry.summaries.get(said.name)
    if known == summary:
        return Outcome("unchanged summary", (said.name,))
    if known is not None and not replace:
        raise _taken("summary", said.name, known)
    trial.apply({"do": "summary", "summary": summary.as_dict()})
    return Outcome("created summary" if known is None else "replaced summary", (said.name,))


def advance(trial: Trial, said: Advance) -> Outcome:
    """ADVANCE STREAM."""
    trial.registry.stream(said.stream)
    trial.apply({"do": "advance", "stream": said.stream, "instant": said.to})
    return Outcome("advanced stream", (said.stream,))


_DONE = {"pause": "paused", "resume": "resumed", "drop": "dropped"}
_DROPS = {
    "stream": "drop stream", "window": "drop window", "table": "drop table",
    "function": "drop function", "aggregate": "drop function", "view": "drop name",
    "summary": "drop summary", "alert": "drop alert", "sink": "drop sink",
}  # fmt: skip


def change(trial: Trial, said: Change) -> Outcome:
    """PAUSE, RESUME and DROP."""
    if said.kind == "query":
        names = tuple(
            dict.fromkeys(part for name in said.names for part in members(trial.registry, name))
        )
        trial.apply({"do": said.verb, "names": list(names)})
        return Outcome(f"{_DONE[said.verb]}", names)
    if said.verb != "drop" or said.kind not in _DROPS:
        raise BindError(
            f"cannot {said.verb} a {said.kind}",
            f"{said.verb.upper()} {said.kind.upper()} {', '.join(said.names)}",
            "queries can be paused, resumed and dropped; other things can be dropped",
        )
    for name in said.names:
        _check_unused(trial, said.kind, name)
        trial.apply({"do": _DROPS[said.kind], "name": name})
    return Outcome(f"dropped {said.kind}", said.names)


def _check_unused(trial: Trial, kind: str, name: str) -> None:
    """Refuse to drop what a query or a view still needs; streams are checked by the registry."""
    registry = trial.registry
    users: list[str] = []
    if kind == "window":
        users = [view.name for view in _reading(registry, name)]
    if kind in ("function", "aggregate"):
        users = [q.name for q in registry.queries.values() if name in functions_in(q.asked)]
    texts = {other: text for other, text in registry.names.items() if other != name}
    if kind in ("function", "aggregate"):
        users += [view for view, text in texts.items() if name in functions_in(parse(text))]
    elif kind == "window":
        users += [view for view, text in texts.items() if reads_window(text, name, registry)]
    elif kind in ("stream", "table", "view"):
        users += [view for view, text in texts.items() if name in tables_in(parse(text))]
    if users:
        raise BindError(
            f"{kind} {name!r} is in use",
            f"{len(users)} queries or views read it, {users[0]!r} first",
            "drop those first",
        )


def _taken(kind: str, name: str, known: object) -> BindError:
    return BindError(
        f"{kind} {name!r} exists already",
        f"it is {known}",
        "drop it first, or choose another name",
    )
