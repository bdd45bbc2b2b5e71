"""A small catalog for tests of planning: trades, quotes, packets, a table of symbols, a view."""

from __future__ import annotations

from streamgauge.kernel.time import MINUTE
from streamgauge.language.parse import parse
from streamgauge.language.statements import Ask, Query
from streamgauge.operators.functions import Function
from streamgauge.plan.bind import bind
from streamgauge.plan.lower import planned
from streamgauge.plan.nodes import Node
from streamgauge.plan.query import Query as NumberQuery
from streamgauge.plan.registry import Registry
from streamgauge.plan.view import View
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.streams.table import Table
from streamgauge.windows.window import Range

TRADES = Schema.of(sym="string", ts="time", price="float", size="int", buy="bool")
QUOTES = Schema.of(sym="string", ts="time", bid="float", ask="float")
PACKETS = Schema.of(ts="time", saddr="string", daddr="string", id="int", length="int")
SYMBOLS = Schema.of(sym="string", sector="string", since="time")
ORDERS = Schema.of(op="string", ts="time", sym="string", size="int")


def market() -> Registry:
    """What the tests ask about."""
    registry = Registry()
    source = (("kind", "files"), ("path", "in"))
    for stream in (
        Stream("trades", TRADES, "ts", ("sym",), source),
        Stream("quotes", QUOTES, "ts", ("sym",), source),
        Stream("packets", PACKETS, "ts", (), source, late=Late.revise("1 minute")),
        Stream("orders", ORDERS, "ts", (), source, changes="op"),
        Stream("slow", TRADES, "ts", ("sym",), source, tick=MINUTE),
    ):
        registry.streams[stream.name] = stream
    registry.tables["symbols"] = Table("symbols", SYMBOLS, "tables/symbols.parquet", "symbols.csv")
    registry.windows["recent"] = Range("5 minutes")
    registry.names["big"] = "SELECT sym, price * size AS worth FROM trades WHERE size > 100"
    registry.names["loop"] = "SELECT * FROM loop"
    registry.functions["hypot"] = Function("hypot", "numpy:hypot")
    registry.functions["ratio"] = Function("ratio", "numpy:ptp", aggregate=True)
    return registry


def ask_of(text: str) -> Ask:
    """The question that a text asks."""
    statement = parse(text)
    assert isinstance(statement, Ask)
    return statement


def query_of(text: str) -> Query:
    """The query in a text."""
    return ask_of(text).query


def plan_of(text: str, registry: Registry | None = None) -> Node:
    """The bound plan of a text."""
    return bind(query_of(text), registry or market())


def queries_of(text: str, registry: Registry | None = None) -> list[NumberQuery]:
    """The queries of numbers that a text becomes."""
    found = planned("q", ask_of(text), registry or market(), text)
    assert isinstance(found, list), f"{text} answers rows"
    return found


def view_of(text: str, registry: Registry | None = None) -> View:
    """The view that a text becomes."""
    found = planned("q", ask_of(text), registry or market(), text)
    assert isinstance(found, View), f"{text} answers numbers"
    return found
