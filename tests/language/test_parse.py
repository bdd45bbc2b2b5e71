"""Every kind of statement, every clause, and what words may be names."""

from __future__ import annotations

from typing import Any

import pytest

from streamgauge.kernel.time import HOUR, MILLISECOND, MINUTE, SECOND, instant
from streamgauge.language.parse import parse, parse_all
from streamgauge.language.statements import (
    Advance,
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
    FromJoin,
    FromName,
    FromResample,
    FromSelect,
    Item,
    Order,
    Preference,
    Select,
    SetSelect,
    Show,
    Terms,
    With,
)
from streamgauge.language.words import words
from streamgauge.operators.expression import Expr, call, column, literal
from streamgauge.windows.window import (
    Decay,
    Landmark,
    Now,
    Partition,
    Range,
    Rows,
    Session,
    Unbounded,
    Window,
)

A, B, X, Y = (column(name) for name in "abxy")
STAR = Item(Expr("star"))
COUNT = Expr("aggregate", (), "count")
FROM_S = Select((Item(A),), FromName("s"))
FROM_T = Select((Item(A),), FromName("t"))


def query(text: str) -> Any:
    statement = parse(text)
    assert isinstance(statement, Ask)
    return statement.query


def expr(text: str) -> Expr:
    """An expression as the first item of a query."""
    found: Expr = query(f"SELECT {text} FROM s").items[0].expr
    return found


def terms(text: str) -> Terms:
    statement = parse(f"SELECT a FROM s {text}")
    assert isinstance(statement, Ask)
    return statement.terms


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("NOW", Now()),
        ("ROWS 10", Rows(10)),
        ("ROWS UNBOUNDED", Unbounded()),
        ("RANGE UNBOUNDED", Unbounded()),
        ("RANGE 5 MINUTES", Range("5 minutes")),
        ("range 1 hour 30 min slide '90 s'", Range("90 min", slide="90 s")),
        ("RANGE 500 ms", Range("500 ms")),
        ("RANGE 1.5 s", Range("1500 ms")),
        ("PARTITION BY a, b ROWS 3", Partition(["a", "b"], 3)),
        ("SINCE '2026-01-01'", Landmark("2026-01-01")),
        ("LANDMARK TIMESTAMP '2026-01-01T12:00:00Z'", Landmark("2026-01-01T12:00:00Z")),
        ("SESSION 30 MINUTES", Session("30 min")),
        ("SESSION 30 MINUTES PARTITION BY user", Session("30 min", "user")),
        ("DECAY 5 MINUTES", Decay("5 min")),
        ("lately", "lately"),
        ('"now"', "now"),
    ],
)
def test_windows(text: str, window: Window | str) -> None:
    assert query(f"SELECT a FROM s [{text}]").source == FromName("s", window)
    assert query(f"SELECT a FROM s [{text}] AS t").source == FromName("s", window, "t")
    assert query(f"SELECT a FROM s t [{text}]").source == FromName("s", window, "t")
    assert query(f"SELECT a FROM (SELECT a FROM s) [{text}] t").source == FromSelect(
        FROM_S, window, "t"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", literal(1)),
        ("-1", literal(-1)),
        ("1.5", literal(1.5)),
        (".5", literal(0.5)),
        ("1e3", literal(1000.0)),
        ("'it''s'", literal("it's")),
        ("TRUE", literal(True)),
        ("null", literal(None)),
        ("t.a", column("a", "t")),
        ('"two words"', column("two words")),
        ("a + b * 2", Expr("+", (A, Expr("*", (B, literal(2)))))),
        ("(a + b) * 2", Expr("*", (Expr("+", (A, B)), literal(2)))),
        ("a - b - 1", Expr("-", (Expr("-", (A, B)), literal(1)))),
        ("-a % 2", Expr("%", (Expr("neg", (A,)), literal(2)))),
        ("a || b = x", Expr("=", (Expr("||", (A, B)), X))),
        ("a <> b", Expr("!=", (A, B))),
        ("a IN (1, 2)", Expr("in", (A, literal(1), literal(2)))),
        ("a NOT IN (1)", Expr("not", (Expr("in", (A, literal(1))),))),
        ("a LIKE 'x%'", Expr("like", (A, literal("x%")))),
        ("a NOT LIKE 'x%'", Expr("not", (Expr("like", (A, literal("x%"))),))),
        ("a IS NULL", Expr("is null", (A,))),
        ("a IS NOT NULL", Expr("not", (Expr("is null", (A,)),))),
        ("CAST(a AS DOUBLE)", Expr("cast", (A,), "float")),
        ("INTERVAL '5' MINUTE", Expr("duration", value=5 * MINUTE)),
        ("INTERVAL 5 MINUTES", Expr("duration", value=5 * MINUTE)),
        ("INTERVAL '1 h 30 min'", Expr("duration", value=90 * MINUTE)),
        ("TIMESTAMP '1970-01-01T00:00:01Z'", Expr("instant", value=SECOND)),
        ("CASE WHEN a THEN 1 END", Expr("case", (A, literal(1), literal(None)))),
        (
            "CASE a WHEN 1 THEN x WHEN 2 THEN y ELSE b END",
            Expr("case", (Expr("=", (A, literal(1))), X, Expr("=", (A, literal(2))), Y, B)),
        ),
        ("Lower(a)", call("lower", A)),
        ("now()", call("now")),
        ("COUNT(*)", COUNT),
        ("count(DISTINCT a)", Expr("aggregate", (Expr("distinct", (A,)),), "count")),
        ("AVG(x WEIGHT y)", Expr("aggregate", (X, Expr("weight", (Y,))), "avg")),
        ("quantile(x, 0.9)", Expr("aggregate", (X, literal(0.9)), "quantile")),
        ("COUNT(*) FILTER (WHERE a)", Expr("filter", (COUNT, A))),
        ("(SELECT a FROM s)", Expr("subquery", value=FROM_S)),
        ("((SELECT a FROM s))", Expr("subquery", value=FROM_S)),
        ("EXISTS (SELECT a FROM s)", Expr("exists", value=FROM_S)),
        ("a IN (SELECT a FROM s)", Expr("in subquery", (A,), FROM_S)),
        ("a NOT IN (SELECT a FROM s)", Expr("not", (Expr("in subquery", (A,), FROM_S),))),
    ],
)
def test_expressions(text: str, found: Expr) -> None:
    assert expr(text) == found


def test_operators_bind_as_in_sql() -> None:
    assert expr("NOT a = b AND x OR y") == expr("((NOT (a = b)) AND x) OR y")
    assert expr("a BETWEEN 1 AND 2 AND b") == expr("(a BETWEEN 1 AND 2) AND b")
    assert expr("a + 1 < b * 2 AND x") == expr("((a + 1) < (b * 2)) AND x")
    assert expr("a || b || x") == expr("(a || b) || x")


def test_correlated_aggregates() -> None:
    mean = Expr("aggregate", (X,), "avg")
    above = Expr(">", (X, Expr("*", (literal(1.5), mean))))
    assert expr("COUNT(*) WHEN x > 1.5 * AVG(x)") == Expr("when", (COUNT, above))
    least = Expr("*", (literal(2), Expr("aggregate", (X,), "min")))
    low = Expr("when", (Expr("aggregate", (Y,), "sum"), Expr("<=", (X, least))))
    assert expr("SUM(y) WHEN x <= 2 * MIN(x) AS low") == low
    assert expr("(COUNT(*) WHEN x > AVG(x)) / COUNT(*)").op == "/"
    branch = expr("CASE WHEN a THEN COUNT(*) WHEN b THEN (COUNT(*) WHEN x > AVG(x)) END")
    assert [part.op for part in branch.args] == ["column", "aggregate", "column", "when", "literal"]


def test_streams_of_a_query() -> None:
    assert query("SELECT ISTREAM(*) FROM s") == Select((STAR,), FromName("s"), stream="istream")
    assert query("SELECT dstream(a, b AS c) FROM s").stream == "dstream"
    assert query("SELECT RSTREAM(DISTINCT a) FROM s").distinct
    assert query("ISTREAM (SELECT a FROM s)") == query("SELECT ISTREAM(a) FROM s")
    both = SetSelect("union", FROM_S, FROM_T)
    assert query("DSTREAM (SELECT a FROM s UNION SELECT a FROM t)") == Select(
        (STAR,), FromSelect(both), stream="dstream"
    )
    assert query("SELECT istream FROM s").items == (Item(column("istream")),)


def test_clauses_of_a_select() -> None:
    found = query(
        "SELECT DISTINCT a AS k, sum(b) total, t.* FROM s WHERE x GROUP BY a, b HAVING y "
        "ORDER BY a, b DESC LIMIT 3"
    )
    total = Item(Expr("aggregate", (B,), "sum"), "total")
    assert found == Select(
        (Item(A, "k"), total, Item(Expr("star", table="t"))),
        FromName("s"),
        X,
        (A, B),
        Y,
        distinct=True,
        order_by=(Order(A), Order(B, True)),
        limit=3,
    )


def test_sources() -> None:
    s, t, u = FromName("s"), FromName("t"), FromName("u")
    assert query("SELECT a FROM s, t").source == FromJoin(s, t, "cross")
    assert query("SELECT a FROM s, t, u").source == FromJoin(FromJoin(s, t, "cross"), u, "cross")
    assert query("SELECT a FROM s JOIN t ON x").source == FromJoin(s, t, "inner", X)
    assert query("SELECT a FROM s INNER JOIN t ON x").source == FromJoin(s, t, "inner", X)
    left = FromJoin(s, t, "left", using=("a", "b"))
    assert query("SELECT a FROM s LEFT OUTER JOIN t USING (a, b)").source == left
    assert query("SELECT a FROM s CROSS JOIN t").source == FromJoin(s, t, "cross")
    nested = FromJoin(s, FromJoin(t, u, "inner", Y), "left", X)
    assert query("SELECT a FROM s LEFT JOIN (t JOIN u ON y) ON x").source == nested
    assert query("SELECT a FROM s, t JOIN u ON y").source == FromJoin(
        s, FromJoin(t, u, "inner", Y), "cross"
    )
    grid = FromResample("s", "x", MINUTE, "linear", "g")
    assert query("SELECT a FROM RESAMPLE(s, x, 1 MINUTE, LINEAR) AS g").source == grid
    assert query("SELECT a FROM RESAMPLE(s, x, 1 MINUTE)").source.method == "last"


def test_sets_of_rows() -> None:
    three = query("SELECT a FROM s UNION SELECT a FROM t INTERSECT SELECT a FROM s")
    assert three == SetSelect("union", FROM_S, SetSelect("intersect", FROM_T, FROM_S))
    assert query("(SELECT a FROM s UNION SELECT a FROM t) EXCEPT ALL SELECT a FROM s") == SetSelect(
        "except", SetSelect("union", FROM_S, FROM_T), FROM_S, all=True
    )
    ordered = query("SELECT a FROM s UNION SELECT a FROM t ORDER BY a LIMIT 2")
    assert (ordered.order_by, ordered.limit) == ((Order(A),), 2)
    assert query("WITH v AS (SELECT a FROM s), w AS (SELECT a FROM t) SELECT a FROM s") == With(
        (("v", FROM_S), ("w", FROM_T)), FROM_S
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", Terms()),
        ("EVERY 5 MINUTES", Terms(every=5 * MINUTE)),
        ("ON CHANGE", Terms(change=0.0)),
        ("ON CHANGE OF 0.5", Terms(change=0.5)),
        ("ON CLOSE", Terms(close=True)),
        ("WITHIN 0.5", Terms(within=0.5)),
        ("WITHIN 5 PERCENT", Terms(within=5.0, unit="percent")),
        ("WITHIN 5%", Terms(within=5.0, unit="percent")),
        ("WITHIN 0.01 RANK", Terms(within=0.01, unit="rank")),
        ("WITHIN 1% RANK", Terms(within=0.01, unit="rank")),
        ("GUARANTEED WITHIN 2", Terms(within=2.0, guaranteed=True)),
        ("EXACT", Terms(within=0.0)),
        ("CONFIDENCE 95%", Terms(confidence=0.95)),
        ("CONFIDENCE 0.95 THROUGHOUT", Terms(confidence=0.95, throughout=True)),
        ("THROUGHOUT", Terms(throughout=True)),
        ("BY TIMER", Terms(regime="timer")),
        ("BY WATCH WITH TREND", Terms(regime="watch", trend=True)),
        ("FRESH 10 s", Terms(fresh=10 * SECOND)),
        ("BUDGET MEMORY 1 MB", Terms(budget=(("memory", 1e6),))),
        ("BUDGET MEMORY 2 KiB, CPU 50%", Terms(budget=(("memory", 2048.0), ("cpu", 0.5)))),
        ("WITH HISTORY", Terms(history=True)),
        ("FROM NOW", Terms(history=False)),
        ("EMIT CHANGES", Terms(mode="changes")),
        ("WITH PREFERENCE DESC a", Terms(preference=Preference("desc", A))),
        (
            "WITH PREFERENCE a FADE FACTOR 0.5 WINDOW 1 HOUR",
            Terms(preference=Preference("desc", A, 0.5, HOUR)),
        ),
        (
            "WITH PREFERENCE WEIGHTED COUNT(a) * 2, SUMMARY.Estimate.Count(b) BUDGET PROBES 500",
            Terms(
                budget=(("probes", 500.0),),
                preference=Preference(
                    "weighted",
                    Expr("*", (Expr("aggregate", (A,), "count"), literal(2))),
                    others=(Expr("aggregate", (column("b"),), "count"),),
                ),
            ),
        ),
        ("BUDGET CPU 20 PERCENT", Terms(budget=(("cpu", 0.2),))),
        ("BUDGET CPU 2 CORES", Terms(budget=(("cpu", 2.0),))),
        (
            "FROM NOW WITHIN 5 PERCENT CONFIDENCE 95% EVERY 250 ms EMIT STORE",
            Terms(
                every=250 * MILLISECOND,
                within=5.0,
                unit="percent",
                confidence=0.95,
                history=False,
                mode="store",
            ),
        ),
    ],
)
def test_terms(text: str, found: Terms) -> None:
    assert terms(text) == found


ASK = Ask(FROM_S, Terms(close=True))
MOMENT = instant("2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CREATE STANDING QUERY q AS SELECT a FROM s ON CLOSE;", CreateQuery("q", ASK)),
        ("create query q as select a from s on close", CreateQuery("q", ASK)),
        ("ALTER QUERY q AS SELECT a FROM s ON CLOSE", CreateQuery("q", ASK, replace=True)),
        (
            "CREATE QUERY q FOR EACH site IN ('n', -1, 2.5, NULL) AS SELECT a FROM s ON CLOSE",
            CreateQuery("q", ASK, "site", ("n", -1, 2.5, None)),
        ),
        (
            "CREATE STREAM r FROM RATE 50",
            CreateStream("r", "rate", options=(("rows_per_second", 50),)),
        ),
        ("CREATE STREAM r FROM RATE", CreateStream("r", "rate")),
        (
            "CREATE STREAM p FROM PLANT (100, 7) KEY sensor TIME ts",
            CreateStream(
                "p", "plant", "", (), "ts", ("sensor",), (("n_sensors", 100), ("seed", 7))
            ),
        ),
        (
            "CREATE STREAM t (key VARCHAR, time TIMESTAMP, value FLOAT) FROM FILES 'in' FORMAT csv "
            "LATE ALLOW 5 s TIME time KEY key, value TICK 1 s GAP 1 min KEEP 2 h FUTURE ANY "
            "CHANGES op",
            CreateStream(
                "t",
                "files",
                "in",
                (("key", "string"), ("time", "time"), ("value", "float")),
                "time",
                ("key", "value"),
                (
                    ("format", "csv"),
                    ("late", ("allow", 5 * SECOND)),
                    ("tick", SECOND),
                    ("gap", MINUTE),
                    ("keep", 2 * HOUR),
                    ("future", None),
                    ("changes", "op"),
                ),
            ),
        ),
        ("CREATE STREAM v AS SELECT a FROM s", CreateView("v", FROM_S)),
        ("CREATE VIEW v AS SELECT a FROM s", CreateView("v", FROM_S)),
        ("CREATE TABLE t FROM 'a.csv'", CreateTable("t", "a.csv")),
        ("REFRESH TABLE t", CreateTable("t", refresh=True)),
        ("CREATE WINDOW w AS [ROWS 5]", CreateWindow("w", Rows(5))),
        ("ALTER WINDOW w AS [ROWS 6]", CreateWindow("w", Rows(6), resize=True)),
        ("CREATE FUNCTION f RETURNS INT AS 'm:f'", CreateFunction("f", "m:f", "int")),
        ("CREATE AGGREGATE g AS 'm:g'", CreateFunction("g", "m:g", aggregate=True)),
        (
            "CREATE SUMMARY m ON s(a) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4)",
            CreateSummary("m", "s", "a", MINUTE, 2, 4),
        ),
        (
            "CREATE SUMMARY m ON s(a) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4) USING kll",
            CreateSummary("m", "s", "a", MINUTE, 2, 4, "kll"),
        ),
        (
            "CREATE SUMMARY m ON s(a) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4) "
            "BUCKETS 8 USING kll CONFIDENCE 60% MAXLENGTH 10 s",
            CreateSummary(
                "m",
                "s",
                "a",
                MINUTE,
                2,
                4,
                "kll",
                (("buckets", 8), ("confidence", 0.6), ("longest", 10 * SECOND)),
            ),
        ),
        ("PAUSE QUERY a, b", Change("pause", "query", ("a", "b"))),
        ("RESUME QUERY a", Change("resume", "query", ("a",))),
        ("DROP SUMMARY a", Change("drop", "summary", ("a",))),
        ("ADVANCE STREAM s TO '2026-01-01'", Advance("s", MOMENT)),
        ("SHOW QUERIES", Show("queries")),
        ("SHOW ANSWERS OF q", Show("answers", "q")),
        ("DESCRIBE q", Describe("q")),
        ("EXPLAIN q", Explain("q")),
        ("EXPLAIN ANALYZE SELECT a FROM s ON CLOSE", Explain(ASK, analyze=True)),
    ],
)
def test_statements(text: str, found: object) -> None:
    assert parse(text) == found


@pytest.mark.parametrize("kind", ["query", "stream", "window", "table", "view", "function"])
def test_drop_of_every_kind(kind: str) -> None:
    assert parse(f"DROP {kind} a, b") == Change("drop", kind, ("a", "b"))


@pytest.mark.parametrize(
    "word",
    [
        "value",
        "time",
        "key",
        "rows",
        "range",
        "last",
        "first",
        "count",
        "window",
        "every",
        "within",
        "change",
        "of",
        "now",
        "tick",
        "interval",
        "timestamp",
        "filter",
        "cast",
        "exists",
        "istream",
        "weight",
        "rank",
        "percent",
        "store",
        "memory",
        "stream",
        "query",
        "standing",
        "left",
        "end",
        "close",
        "history",
        "budget",
        "exact",
        "all",
        "to",
        "emit",
    ],
)
def test_a_keyword_may_be_the_name_of_a_column(word: str) -> None:
    found = query(f"SELECT {word}, t.{word} AS {word} FROM s t WHERE {word} > 1 GROUP BY {word}")
    assert found.items == (Item(column(word)), Item(column(word, "t"), word))
    assert found.where == Expr(">", (column(word), literal(1)))
    assert found.group_by == (column(word),)


def test_names_keep_their_case_and_keywords_have_none() -> None:
    assert query("sElEcT Price fRoM Ticks") == Select((Item(column("Price")),), FromName("Ticks"))


def test_a_letter_that_only_looks_like_a_keyword_is_a_name() -> None:
    assert query("SELECT \u017felect FROM s").items == (Item(column("\u017felect")),)


def test_a_script_has_statements_texts_and_lines() -> None:
    text = """-- a script; with a comment
    SHOW QUERIES;

    /* two
       lines; */ DROP QUERY "a;b"
    ; ;SELECT ';' FROM s"""
    found = parse_all(text)
    assert [own for _, own, _ in found] == [
        "SHOW QUERIES",
        'DROP QUERY "a;b"',
        "SELECT ';' FROM s",
    ]
    assert [line for _, _, line in found] == [2, 5, 6]
    assert parse_all(" -- nothing\n") == []


def test_words_are_for_completion() -> None:
    found = words()
    assert {"SELECT", "ISTREAM", "PARTITION", "THROUGHOUT", "GRANULARITY"} <= set(found)
    assert list(found) == sorted(found)
    assert "IDENT" not in found
