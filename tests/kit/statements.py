"""Random statements of the language for hypothesis, of every kind and with every clause.

Only statements that some text can say: negative numbers are constants, a select list is not empty,
and so on.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from streamgauge.kernel.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from streamgauge.language.expressions import AGGREGATES
from streamgauge.language.statements import (
    Advance,
    AlterTable,
    Ask,
    Change,
    CreateFunction,
    CreateQuery,
    CreateStream,
    CreateSummary,
    CreateTable,
    CreateView,
    CreateWindow,
    Describe,
    Explain,
    From,
    FromJoin,
    FromName,
    FromResample,
    FromSelect,
    Item,
    Order,
    Preference,
    Query,
    Select,
    SetSelect,
    Show,
    Statement,
    Terms,
    With,
)
from streamgauge.operators.expression import ARITHMETIC, COMPARISONS, Expr, column, literal
from streamgauge.windows.window import Now, Unbounded, Window

_PLAIN = ("a", "b", "price", "value", "time", "key", "rows", "last", "count", "every", "select")
_ODD = ("two words", 'a"b', "WITHIN", "éa", "x1", "1x", "--", "end")
_TYPES = ("float", "int", "string", "bool", "time")
_FAR = 2**53

_NAMES = _PLAIN + _ODD
names: SearchStrategy[str] = st.integers(0, len(_NAMES) - 1).map(_NAMES.__getitem__)
aliases: SearchStrategy[str] = st.just("") | names
durations: SearchStrategy[int] = st.builds(
    lambda n, unit: n * unit,
    st.integers(1, 1000),
    st.sampled_from((1, MILLISECOND, SECOND, MINUTE, HOUR, DAY)),
)
instants: SearchStrategy[int] = st.integers(-_FAR, _FAR)
floats: SearchStrategy[float] = st.floats(0.0, 1e300, allow_subnormal=False)
texts: SearchStrategy[str] = st.text(
    st.characters(min_codepoint=1, max_codepoint=0xD7FF), max_size=6
)
constants: SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
_literals = constants.map(literal)
_columns = st.builds(column, names, aliases)


def _windows() -> SearchStrategy[Window]:
    by = st.lists(names, min_size=1, max_size=2).map(tuple)
    slides = st.none() | durations
    return st.one_of(
        st.just(Now()),
        st.just(Unbounded()),
        st.builds(lambda n: Window("rows", rows=n), st.integers(1, 10**6)),
        st.builds(lambda t, s: Window("range", length=t, slide=s), durations, slides),
        st.builds(lambda keys, n: Window("partition", by=keys, rows=n), by, st.integers(1, 9)),
        st.builds(lambda t: Window("landmark", start=t), instants),
        st.builds(
            lambda t, keys: Window("session", length=t, by=keys), durations, st.just(()) | by
        ),
        st.builds(lambda t: Window("decay", length=t), durations),
    )


_WINDOWS = _windows()


@st.composite
def windows(draw: DrawFn) -> Window:
    """Windows of every kind."""
    return draw(_WINDOWS)


def _negated(of: Expr) -> Expr:
    number = of.op == "literal" and type(of.value) in (int, float)
    return of if number else Expr("neg", (of,))


def _grown(inner: SearchStrategy[Expr]) -> SearchStrategy[Expr]:
    pair = st.tuples(inner, inner)
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    binary = ("and", "or", "||", "like", *ARITHMETIC, *COMPARISONS)
    branches = st.lists(pair, min_size=1, max_size=2).map(lambda found: sum(found, ()))
    return st.one_of(
        st.builds(Expr, st.sampled_from(binary), pair),
        st.builds(Expr, st.sampled_from(("not", "is null")), st.tuples(inner)),
        inner.map(_negated),
        st.builds(Expr, st.just("between"), st.tuples(inner, inner, inner)),
        st.builds(lambda value, listed: Expr("in", (value, *listed)), inner, some),
        st.builds(lambda found, rest: Expr("case", (*found, rest)), branches, inner),
        st.builds(lambda of, kind: Expr("cast", (of,), kind), inner, st.sampled_from(_TYPES)),
        st.builds(lambda name, args: Expr("call", args, name), st.just("lower"), some),
        _aggregates(inner),
    )


def _aggregates(inner: SearchStrategy[Expr]) -> SearchStrategy[Expr]:
    some = st.lists(inner, min_size=1, max_size=2).map(tuple)
    once = inner.map(lambda of: (Expr("distinct", (of,)),))
    weighted = st.tuples(inner, inner.map(lambda of: Expr("weight", (of,))))
    plain = st.builds(
        lambda name, args: Expr("aggregate", args, name),
        st.sampled_from(sorted(AGGREGATES)),
        some | once | weighted,
    )
    counted = plain | st.just(Expr("aggregate", (), "count"))
    kept = st.builds(lambda of, where: Expr("filter", (of, where)), counted, inner)
    shared = st.builds(
        lambda of, low: Expr("when", (of, Expr(">", (low, Expr("aggregate", (low,), "avg"))))),
        counted | kept,
        inner,
    )
    return st.one_of(counted, kept, shared)


_leaves = st.one_of(
    _columns,
    _literals,
    durations.map(lambda span: Expr("duration", value=span)),
    instants.map(lambda moment: Expr("instant", value=moment)),
)
_EXPRS = st.recursive(_leaves, _grown, max_leaves=6)


# Composite strategies have short names in hypothesis' reports; without, they are longer than it
# is willing to print.
@st.composite
def exprs(draw: DrawFn) -> Expr:
    """Expressions without subqueries."""
    return draw(_EXPRS)


def _subqueries(inner: SearchStrategy[Query]) -> SearchStrategy[Expr]:
    return st.one_of(
        inner.map(lambda query: Expr("subquery", value=query)),
        inner.map(lambda query: Expr("exists", value=query)),
        st.builds(lambda of, query: Expr("in subquery", (of,), query), _columns, inner),
    )


def _froms(inner: SearchStrategy[Query]) -> SearchStrategy[From]:
    window = st.none() | names | windows()
    methods = st.sampled_from(("last", "linear"))
    plain: SearchStrategy[From] = st.one_of(
        st.builds(FromName, names, window, aliases),
        st.builds(FromSelect, inner, window, aliases),
        st.builds(FromResample, names, names, durations, methods, aliases),
    )
    using = st.lists(names, min_size=1, max_size=2).map(tuple)
    kinds = st.sampled_from(("inner", "left", "right", "full", "semi", "anti", "asof", "asof left"))

    def joined(below: SearchStrategy[From]) -> SearchStrategy[From]:
        return st.one_of(
            st.builds(FromJoin, below, below, st.just("cross")),
            st.builds(FromJoin, below, below, kinds, exprs()),
            st.builds(FromJoin, below, below, kinds, st.none(), using),
        )

    return st.recursive(plain, joined, max_leaves=3)


def _wider(inner: SearchStrategy[Query]) -> SearchStrategy[Query]:
    found = exprs() | _subqueries(inner)
    maybe = st.none() | found
    stars = st.builds(lambda table: Item(Expr("star", table=table)), aliases)
    items = st.lists(st.builds(Item, found, aliases) | stars, min_size=1, max_size=3).map(tuple)
    order = st.lists(st.builds(Order, found, st.booleans()), max_size=2).map(tuple)
    limit = st.none() | st.integers(0, 100)
    selects = st.builds(
        Select,
        items,
        _froms(inner),
        maybe,
        st.lists(found, max_size=2).map(tuple),
        maybe,
        st.booleans(),
        order,
        limit,
        st.sampled_from(("", "", "istream", "dstream", "rstream")),
    )
    kinds = st.sampled_from(("union", "except", "intersect"))
    sets = st.builds(SetSelect, kinds, inner, inner, st.booleans(), order, limit)
    named = st.lists(st.tuples(names, inner), min_size=1, max_size=2).map(tuple)
    bodies = inner.filter(lambda query: not isinstance(query, With))
    return selects | sets | st.builds(With, named, bodies)


_simple = st.builds(
    lambda item, name, window: Select((item,), FromName(name, window)),
    st.builds(Item, exprs(), aliases),
    names,
    st.none() | windows(),
)


_QUERIES = st.recursive(_simple, _wider, max_leaves=3)


@st.composite
def queries(draw: DrawFn) -> Query:
    """Queries without terms."""
    return draw(_QUERIES)


def terms() -> SearchStrategy[Terms]:
    """Terms in every combination that can be written."""
    cadences: SearchStrategy[dict[str, Any]] = st.one_of(
        st.just({}),
        durations.map(lambda span: {"every": span}),
        floats.map(lambda by: {"change": by}),
        st.just({"close": True}),
    )
    widths = st.builds(
        lambda width, unit, sure: {"within": width, "unit": unit, "guaranteed": sure},
        floats,
        st.sampled_from(("", "percent", "rank")),
        st.booleans(),
    )
    shares = st.builds(
        lambda share, all_of_it: {**share, "throughout": all_of_it},
        st.just({}) | st.floats(0.5, 1.0).map(lambda share: {"confidence": share}),
        st.booleans(),
    )
    preferences = st.builds(
        Preference,
        st.sampled_from(("asc", "desc", "weighted")),
        exprs(),
        floats,
        st.none() | durations,
        st.lists(exprs(), max_size=2).map(tuple),
    )
    budgets = (
        (("memory", 1e6),),
        (("memory", 64.0), ("cpu", 0.5)),
        (("probes", 500.0),),
    )
    rest = st.fixed_dictionaries(
        {},
        optional={
            "fresh": durations,
            "budget": st.sampled_from(budgets),
            "history": st.booleans(),
            "mode": st.sampled_from(("store", "append", "changes")),
            "preference": preferences,
            "regime": st.sampled_from(("timer", "watch")),
            "trend": st.booleans(),
        },
    )
    return st.builds(
        lambda *parts: Terms(**{key: value for part in parts for key, value in part.items()}),
        cadences,
        st.just({}) | widths,
        st.just({}) | shares,
        rest,
    )


_TERMS = terms()


@st.composite
def asks(draw: DrawFn) -> Ask:
    """Queries with terms."""
    return Ask(draw(_QUERIES), draw(_TERMS))


def _streams() -> SearchStrategy[CreateStream]:
    columns = st.lists(st.tuples(names, st.sampled_from(_TYPES)), max_size=3).map(tuple)
    keys = st.lists(names, max_size=2).map(tuple)
    late = st.one_of(st.just(("drop",)), st.tuples(st.sampled_from(("allow", "revise")), durations))
    common = {
        "tick": durations,
        "gap": durations,
        "keep": durations,
        "future": st.none() | durations,
        "late": late,
        "changes": names,
        "capacity": st.integers(1, 10**6),
        "width": names,
    }
    login = dict.fromkeys(("ca", "password_env", "password_file", "user"), texts)
    own: tuple[tuple[str, dict[str, SearchStrategy[Any]]], ...] = (
        (
            "files",
            {
                "delimiter": texts,
                "format": st.sampled_from(("csv", "parquet", "flows")),
                "header": st.booleans(),
                "idle": durations,
                "null": st.lists(texts, min_size=1, max_size=2).map(tuple),
                "time_unit": st.sampled_from(("s", "ms", "us")),
            },
        ),
        ("plant", {"n_sensors": st.integers(1, 99), "seed": st.integers(0, 9)}),
        ("rate", {"rows_per_second": st.integers(1, 99)}),
        ("edge", {"latency": durations}),
        ("replay", {"loop": st.just(True), "since": instants, "speed": st.just("max") | floats}),
        (
            "kafka",
            {
                "idle": durations,
                "on_loss": st.sampled_from(("fail", "continue")),
                "starting": st.sampled_from(("earliest", "latest")),
                "topic": texts,
                "mechanism": texts,
                **login,
            },
        ),
        ("mqtt", {"topic": texts, **login}),
    )

    def of(kind: str, first: dict[str, SearchStrategy[Any]]) -> SearchStrategy[CreateStream]:
        given: SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(first)
        options = st.builds(
            # A topic stands beside its servers, before all options.
            lambda start, rest: (
                *sorted(start.items(), key=lambda item: (item[0] != "topic", item[0])),
                *rest.items(),
            ),
            given if kind in ("kafka", "mqtt") else given | st.just({}),
            st.fixed_dictionaries({}, optional=common),
        )
        path = texts if kind in ("files", "kafka", "mqtt", "replay") else st.just("")
        return st.builds(CreateStream, names, st.just(kind), path, columns, aliases, keys, options)

    return st.one_of(*(of(kind, first) for kind, first in own))


def _statements() -> SearchStrategy[Statement]:
    several = st.lists(names, min_size=1, max_size=3).map(tuple)
    kinds = ("query", "stream", "window", "table", "view", "function", "aggregate", "summary")
    topics = (
        "queries",
        "streams",
        "tables",
        "windows",
        "functions",
        "views",
        "summaries",
        "answers",
    )
    values = st.lists(constants, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        asks(),
        st.builds(CreateQuery, names, asks(), replace=st.booleans()),
        st.builds(CreateQuery, names, asks(), names, values),
        _streams(),
        st.builds(CreateView, names, queries()),
        st.builds(CreateTable, names, texts),
        st.builds(CreateTable, names, refresh=st.just(True)),
        _tables(),
        st.builds(AlterTable, names, st.none() | durations),
        st.builds(CreateWindow, names, windows(), st.booleans()),
        st.builds(CreateFunction, names, texts, st.sampled_from(_TYPES), st.booleans()),
        _summaries(),
        st.builds(Change, st.just("drop"), st.sampled_from(kinds), several),
        st.builds(Change, st.sampled_from(("pause", "resume")), st.just("query"), several),
        st.builds(Advance, names, instants),
        st.builds(Show, st.sampled_from(topics), aliases),
        st.builds(Describe, names),
        st.builds(Explain, names | asks(), st.booleans()),
    )


def _tables() -> st.SearchStrategy[Statement]:
    asked = st.sampled_from(("table", "query")).flatmap(
        lambda word: st.fixed_dictionaries(
            {word: texts},
            optional={"user": texts, "password_env": texts, "driver": texts, "every": durations},
        )
    )
    paced = st.fixed_dictionaries({}, optional={"every": durations})
    return st.one_of(
        st.builds(_table, names, texts, st.just("jdbc"), asked),
        st.builds(_table, names, texts, st.sampled_from(("delta", "file")), paced),
    )


def _table(name: str, place: str, kind: str, options: dict[str, Any]) -> CreateTable:
    return CreateTable(name, place, source=kind, options=tuple(options.items()))


def _summaries() -> st.SearchStrategy[Statement]:
    counts = st.integers(1, 9)
    options = st.fixed_dictionaries(
        {}, optional={"confidence": st.floats(0.5, 1.0), "longest": durations, "buckets": counts}
    )
    given = options.map(lambda chosen: tuple(chosen.items()))
    return st.builds(CreateSummary, names, names, names, durations, counts, counts, aliases, given)


_STATEMENTS = _statements()


@st.composite
def statements(draw: DrawFn) -> Statement:
    """Statements of every kind."""
    return draw(_STATEMENTS)
