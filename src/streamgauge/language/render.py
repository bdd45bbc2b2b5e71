"""render: from statements back to text that parses to the same statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from streamgauge.kernel.time import instant_text
from streamgauge.language.alternatives import OPTIONS
from streamgauge.language.render_expression import (
    ExpressionText,
    constant_words,
    duration_words,
    text_words,
)
from streamgauge.language.statements import (
    Advance,
    AlterTable,
    Ask,
    Change,
    CreateAlert,
    CreateFunction,
    CreateQuery,
    CreateSink,
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
    Query,
    Select,
    SetSelect,
    Show,
    Statement,
    Terms,
    With,
)
from streamgauge.language.words import quoted
from streamgauge.sources.source_kind import Option, SourceKind
from streamgauge.sources.table import DECLARED
from streamgauge.targets.table import KINDS
from streamgauge.windows.window import Window


def render(statement: Statement) -> str:
    """The text of a statement; `parse` reads the same statement from it.

    Examples
    --------
    >>> print(render(Change("drop", "query", ("heat", "two words"))))
    DROP QUERY heat, "two words"
    """
    if isinstance(statement, Ask):
        return _ask(statement)
    if isinstance(statement, CreateQuery):
        return _create_query(statement)
    if isinstance(statement, CreateStream):
        return _create_stream(statement)
    if isinstance(statement, CreateView):
        return f"CREATE VIEW {quoted(statement.name)} AS {render_query(statement.query)}"
    if isinstance(statement, CreateWindow):
        verb = "ALTER" if statement.resize else "CREATE"
        return f"{verb} WINDOW {quoted(statement.name)} AS {_window(statement.window).strip()}"
    if isinstance(statement, CreateSummary):
        return _create_summary(statement)
    if isinstance(statement, CreateAlert):
        return _create_alert(statement)
    if isinstance(statement, CreateSink):
        return _create_sink(statement)
    if isinstance(statement, Explain):
        analyze = " ANALYZE" if statement.analyze else ""
        target = statement.target
        return f"EXPLAIN{analyze} {_ask(target) if isinstance(target, Ask) else quoted(target)}"
    return _small(statement)


def render_query(query: Query) -> str:
    """The text of a query without terms."""
    if isinstance(query, With):
        named = (f"{quoted(name)} AS ({render_query(inner)})" for name, inner in query.names)
        return f"WITH {', '.join(named)} {render_query(query.body)}"
    text = _select(query) if isinstance(query, Select) else _combined(query)
    if query.order_by:
        text += f" ORDER BY {', '.join(_order(order) for order in query.order_by)}"
    return text if query.limit is None else f"{text} LIMIT {query.limit}"


_expr = ExpressionText(render_query)


def _small(statement: Any) -> str:
    name = quoted(statement.name) if hasattr(statement, "name") else ""
    if isinstance(statement, CreateTable):
        if statement.refresh:
            return f"REFRESH TABLE {name}"
        return _create_table(statement)
    if isinstance(statement, AlterTable):
        return f"ALTER TABLE {name} {_pace(statement.every)}"
    if isinstance(statement, CreateFunction):
        kind = "AGGREGATE" if statement.aggregate else "FUNCTION"
        returns, target = statement.returns.upper(), text_words(statement.target)
        return f"CREATE {kind} {name} RETURNS {returns} AS {target}"
    if isinstance(statement, Change):
        names = ", ".join(quoted(name) for name in statement.names)
        return f"{statement.verb.upper()} {statement.kind.upper()} {names}"
    if isinstance(statement, Advance):
        return f"ADVANCE STREAM {quoted(statement.stream)} TO '{instant_text(statement.to)}'"
    if isinstance(statement, Show):
        return f"SHOW {statement.what.upper()}" + (f" OF {name}" if statement.name else "")
    assert isinstance(statement, Describe), statement
    return f"DESCRIBE {name}"


def _create_table(made: CreateTable) -> str:
    kind = "" if made.source == "file" else f"{made.source.upper()} "
    text = f"CREATE TABLE {quoted(made.name)} FROM {kind}{text_words(made.path)}"
    for name, value in made.options:
        word = name.replace("_", " ").upper()
        text += f" {_pace(value) if name == 'every' else f'{word} {text_words(value)}'}"
    return text


def _pace(every: int | None) -> str:
    return "REFRESH NEVER" if every is None else f"REFRESH EVERY {duration_words(every)}"


def _create_query(statement: CreateQuery) -> str:
    verb = "ALTER" if statement.replace else "CREATE STANDING"
    each = ""
    if statement.each:
        values = ", ".join(constant_words(value) for value in statement.values)
        each = f" FOR EACH {quoted(statement.each)} IN ({values})"
    return f"{verb} QUERY {quoted(statement.name)}{each} AS {_ask(statement.ask)}"


def _create_summary(made: CreateSummary) -> str:
    written: dict[str, tuple[str, Callable[[Any], str]]] = {
        "confidence": ("CONFIDENCE", repr),
        "longest": ("MAXLENGTH", duration_words),
        "buckets": ("BUCKETS", str),
    }
    using = f" USING {quoted(made.kind)}" if made.kind else ""
    options = ((*written[name], value) for name, value in made.options)
    return (
        f"CREATE SUMMARY {quoted(made.name)} ON {quoted(made.stream)}({quoted(made.column)}) WITH "
        f"GRANULARITY {duration_words(made.granularity)} AND COLLAPSE({made.rate}, {made.depth})"
        f"{using}" + "".join(f" {word} {text(value)}" for word, text, value in options)
    )


def _create_alert(made: CreateAlert) -> str:
    verb = "CREATE OR REPLACE" if made.replace else "CREATE"
    watched = quoted(made.query) if made.query else "AUDIT"
    if made.group:
        watched += f" GROUP ({', '.join(constant_words(part) for part in made.group)})"
    when = made.when.upper()
    if made.level is not None:
        when += f" {made.level!r}"
    if made.clear is not None:
        side = "BELOW" if made.when.endswith("above") else "ABOVE"
        when += f" CLEAR {side} {made.clear!r}"
    return (
        f"{verb} ALERT {quoted(made.name)} ON {watched} WHEN {when} DELIVER "
        f"{' AND '.join(_target(*target) for target in made.targets)}"
    )


def _target(kind: str, address: str, detail: str, login: Iterable[tuple[str, str]]) -> str:
    after = KINDS[kind].detail
    text = f"TO {kind.upper()} {text_words(address)}"
    text += f" {after.word} {text_words(detail)}" if after else ""
    return text + "".join(f" {_option(name, value)}" for name, value in login)


def _create_sink(made: CreateSink) -> str:
    verb = "CREATE OR REPLACE" if made.replace else "CREATE"
    queries = ", ".join(map(quoted, made.queries)) or "ALL"
    target = _target(*made.target, made.login)
    history = " WITH HISTORY" if made.history else ""
    return f"{verb} SINK {quoted(made.name)} ON {queries} DELIVER {target}{history}"


def _create_stream(made: CreateStream) -> str:
    options = dict(made.options)
    text = f"CREATE STREAM {quoted(made.name)}"
    if made.columns:
        columns = (f"{quoted(name)} {kind.upper()}" for name, kind in made.columns)
        text += f" ({', '.join(columns)})"
    text += f" FROM {made.source.upper()}"
    text += _after_name(DECLARED[made.source], made.path, options)
    if made.key:
        text += f" KEY {', '.join(quoted(name) for name in made.key)}"
    if made.time:
        text += f" TIME {quoted(made.time)}"
    return text + "".join(f" {_option(name, value)}" for name, value in options.items())


def _after_name(kind: SourceKind, path: str, options: dict[str, Any]) -> str:
    """What stands right after the name of a source, which is taken out of the options."""
    needed = kind.address is not None and kind.address.needed
    text = f" {text_words(path)}" if path or needed else ""
    if kind.then and kind.then.name in options:
        text += f" {kind.then.words} {_value(kind.then, options.pop(kind.then.name))}"
    own = [_value(o, options.pop(o.name)) for o in kind.numbers if o.name in options]
    told = ", ".join(own)
    return text + (f" ({told})" if kind.brackets and own else f" {told}" if own else "")


_VALUES: dict[str, Callable[[Any], str]] = {
    "text": text_words,
    "name": quoted,
    "word": quoted,
    "number": repr,
    "whole": str,
    "moment": lambda value: f"'{instant_text(value)}'",
    "span": duration_words,
    "positive": duration_words,
    "texts": lambda value: ", ".join(map(text_words, value)),
}


def _value(option: Option, value: Any) -> str:
    """The value of an option of a source: a word that it can choose, or as it takes it."""
    for word, chosen in option.choices:
        if type(chosen) is type(value) and chosen == value:
            return word
    return _VALUES[option.takes](value)


_LOGIN = ("user", "password_file", "password_env", "ca", "mechanism")


def _option(name: str, value: Any) -> str:
    if name in OPTIONS:
        option = OPTIONS[name]
        return f"{option.words} {_value(option, value)}".rstrip()
    words = name.replace("_", " ").upper()
    if name == "late":
        return " ".join(["LATE", value[0].upper(), *(duration_words(span) for span in value[1:])])
    if name in ("changes", "width"):
        return f"{words} {quoted(value)}"
    if name in _LOGIN:
        return f"{words} {text_words(value)}"
    if name == "capacity":
        return f"{words} {value}"
    return f"{words} {'ANY' if value is None else duration_words(value)}"


def _ask(ask: Ask) -> str:
    return " ".join([render_query(ask.query), *_terms(ask.terms)])


def _terms(terms: Terms) -> list[str]:
    parts = [*_cadence(terms), *_contract(terms)]
    if terms.fresh is not None:
        parts.append(f"FRESH {duration_words(terms.fresh)}")
    if terms.budget:
        parts.append(f"BUDGET {', '.join(_limit(*limit) for limit in terms.budget)}")
    if terms.trend:
        parts.append("WITH TREND")
    if terms.history is not None:
        parts.append("WITH HISTORY" if terms.history else "FROM NOW")
    if terms.mode:
        parts.append(f"EMIT {terms.mode.upper()}")
    liked = terms.preference
    if liked is not None:
        # Brackets keep a column called asc apart from the word.
        exprs = ", ".join(f"({_expr(expr)})" for expr in liked.exprs)
        text = f"WITH PREFERENCE {liked.order.upper()} {exprs}"
        text += f" FADE FACTOR {liked.fade!r}"
        parts.append(
            text if liked.window is None else f"{text} WINDOW {duration_words(liked.window)}"
        )
    return parts


def _limit(name: str, amount: float) -> str:
    text = f"{amount:.0f}" if name == "probes" else repr(amount)
    return f"{quoted(name.upper())} {text}{' B' if name == 'memory' else ''}"


def _cadence(terms: Terms) -> list[str]:
    if terms.every is not None:
        return [f"EVERY {duration_words(terms.every)}"]
    if terms.change is not None:
        return ["ON CHANGE" + (f" OF {terms.change!r}" if terms.change else "")]
    return ["ON CLOSE"] if terms.close else []


def _contract(terms: Terms) -> list[str]:
    parts = []
    if terms.within == 0.0 and not terms.guaranteed and not terms.unit:
        parts.append("EXACT")
    elif terms.within is not None:
        start = "GUARANTEED " if terms.guaranteed else ""
        unit = f" {terms.unit.upper()}" if terms.unit else ""
        parts.append(f"{start}WITHIN {terms.within!r}{unit}")
    if terms.confidence is not None:
        parts.append(f"CONFIDENCE {terms.confidence!r}")
    if terms.throughout:
        parts.append("THROUGHOUT")
    if terms.regime:
        parts.append(f"BY {terms.regime.upper()}")
    return parts


def _combined(query: SetSelect) -> str:
    every = " ALL" if query.all else ""
    left = _operand(query.left, query, right=False)
    right = _operand(query.right, query, right=True)
    return f"{left} {query.kind.upper()}{every} {right}"


def _operand(query: Query, of: SetSelect, *, right: bool) -> str:
    """An operand, in brackets unless it would be read as it is."""
    bare = not isinstance(query, With) and not query.order_by and query.limit is None
    if isinstance(query, SetSelect):
        tighter = query.kind == "intersect" and of.kind != "intersect"
        same = (query.kind == "intersect") == (of.kind == "intersect")
        bare = bare and (tighter or (same and not right))
    return render_query(query) if bare else f"({render_query(query)})"


def _select(select: Select) -> str:
    items = ", ".join(_item(item) for item in select.items)
    distinct = "DISTINCT " if select.distinct else ""
    listed = f"{select.stream.upper()}({items})" if select.stream else items
    text = f"SELECT {distinct}{listed}"
    if select.source is not None:
        text += f" FROM {_source(select.source)}"
    if select.where is not None:
        text += f" WHERE {_expr(select.where)}"
    if select.group_by:
        text += f" GROUP BY {', '.join(_expr(key) for key in select.group_by)}"
    return text if select.having is None else f"{text} HAVING {_expr(select.having)}"


def _item(item: Item) -> str:
    return _expr(item.expr) + _alias(item.alias)


def _order(order: Order) -> str:
    return _expr(order.expr) + (" DESC" if order.descending else "")


def _alias(alias: str) -> str:
    return f" AS {quoted(alias)}" if alias else ""


def _source(source: From, *, joined: bool = False) -> str:
    """A source; inside a join another join needs brackets on the right."""
    if isinstance(source, FromName):
        return quoted(source.name) + _window(source.window) + _alias(source.alias)
    if isinstance(source, FromSelect):
        inner = render_query(source.select)
        return f"({inner}){_window(source.window)}{_alias(source.alias)}"
    if isinstance(source, FromResample):
        period, method = duration_words(source.period), source.method.upper()
        inside = f"{quoted(source.name)}, {quoted(source.column)}, {period}, {method}"
        return f"RESAMPLE({inside}){_alias(source.alias)}"
    text = _join(source)
    return f"({text})" if joined else text


def _join(join: FromJoin) -> str:
    word = "JOIN" if join.kind == "inner" else f"{join.kind.upper()} JOIN"
    text = f"{_source(join.left)} {word} {_source(join.right, joined=True)}"
    if join.using:
        return f"{text} USING ({', '.join(quoted(name) for name in join.using)})"
    return text if join.on is None else f"{text} ON {_expr(join.on)}"


def _window(window: Window | str | None) -> str:
    if window is None:
        return ""
    if isinstance(window, str):
        return f" [{quoted(window)}]"
    by = ", ".join(quoted(name) for name in window.by)
    length = duration_words(window.length) if window.length else ""
    if window.kind == "range":
        slide = f" SLIDE {duration_words(window.slide)}" if window.slide else ""
        return f" [RANGE {length}{slide}]"
    if window.kind == "landmark":
        since = "ROWS UNBOUNDED" if window.unbounded else f"SINCE '{instant_text(window.start)}'"
        return f" [{since}]"
    if window.kind == "session":
        return f" [SESSION {length}{f' PARTITION BY {by}' if by else ''}]"
    if window.kind == "partition":
        return f" [PARTITION BY {by} ROWS {window.rows}]"
    return {
        "rows": f" [ROWS {window.rows}]",
        "decay": f" [DECAY {length}]",
        "now": " [NOW]",
    }[window.kind]
