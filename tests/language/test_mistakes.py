"""Mistakes: what is said of them, where, and what to do."""

from __future__ import annotations

import pytest

from streamgauge.kernel.errors import ParseError, StreamgaugeError
from streamgauge.language.parse import parse, parse_all
from streamgauge.language.statements import Ask, FromName, FromSelect, Select, Terms
from streamgauge.language.words import not_aliases

MISTAKES = [
    ("", "unexpected end", "write a statement"),
    ("SELECT a FORM s", "unexpected 'FORM'", "did you mean FROM?"),
    ("SELCT a FROM s", "unexpected 'SELCT'", "did you mean SELECT?"),
    ("SELECT a FROM s WEHRE b > 1", "unexpected 'WEHRE'", "did you mean WHERE?"),
    ("SELECT a FROM s GRUOP BY a", "unexpected 'GRUOP'", "did you mean GROUP?"),
    ("SELECT a FROM s EVREY 5 s", "unexpected 'EVREY'", "did you mean EVERY?"),
    ("SELECT a FROM s [RNAGE 5 s]", "unexpected 'RNAGE'", "did you mean RANGE?"),
    ("CREATE STANDNG QUERY q AS SELECT a FROM s", "unexpected 'STANDNG'", "STANDING?"),
    ("DROP QUREY a", "unexpected 'QUREY'", "did you mean QUERY?"),
    ("SELECT a", "unexpected end", "a query needs FROM"),
    ("SELECT 1 + 2", "unexpected end", "a query needs FROM"),
    ("SELECT FROM s", "unexpected 'FROM'", "write SELECT * FROM"),
    ("SELECT a FROM s WHERE", "unexpected end", "expected an expression"),
    ("SELECT a FROM s WHERE group = 1", "unexpected 'group'", 'written "group"'),
    ("SELECT a FROM s JOIN t", "unexpected end", "a join needs ON"),
    ("SELECT a FROM s CROSS JOIN t ON a = b", "unexpected 'a'", "CHANGE"),
    ("SELECT (a FROM s", "unexpected 'FROM'", ""),
    ("SELECT (a", "unexpected end", "a bracket is not closed"),
    ("SELECT a) FROM s", "unexpected ')'", "no bracket to close"),
    ("SELECT a FROM s [ROWS -5]", "unexpected '-'", "a window is written"),
    ("SELECT a FROM s [RANGE 5 MINUTES", "unexpected end", "a window is written"),
    ("SELECT a FROM s WHERE b > 1 [NOW]", "unexpected '['", "right after the name of a stream"),
    ("SELECT a FROM s [ROWS 0]", "a window of rows needs a positive number", "[ROWS 100]"),
    ("SELECT a FROM s [ROWS 1.5]", "1.5 is not a whole number", "write 2"),
    ("SELECT a FROM s [RANGE 0 s]", "RANGE needs a positive duration", "RANGE 1 SECOND"),
    ("SELECT a FROM s [RANGE 5 s SLIDE 0 s]", "SLIDE needs a positive duration", "SLIDE"),
    ("SELECT a FROM s [SESSION 0 s]", "SESSION needs a positive duration", "SESSION"),
    ("SELECT a FROM s [DECAY 0 s]", "DECAY needs a positive duration", "DECAY"),
    ("SELECT a FROM s [RANGE 5 PARSECS]", "unknown unit 'PARSECS'", "units are"),
    ("SELECT a FROM s [RANGE 'soon']", "not a duration: 'soon'", "'30 minutes'"),
    ("SELECT a FROM s [SINCE 'noon']", "not an instant: 'noon'", "ISO 8601"),
    ("SELECT a FROM s [RANGE 400 000 DAYS]", "unexpected '000'", ""),
    ("SELECT a FROM s [RANGE 999999 DAYS]", "duration too long", "285 years"),
    ("SELECT a FROM s EVERY 0 s", "EVERY needs a positive duration", "EVERY 1 SECOND"),
    ("SELECT a FROM s EVERY 1 s ON CLOSE", "EVERY, ON CHANGE or ON CLOSE is written twice", ""),
    ("SELECT a FROM s EXACT WITHIN 5", "WITHIN is written twice", "each term once"),
    ("SELECT a FROM s CONFIDENCE 95", "a confidence lies between 0 and 1", "CONFIDENCE 95%"),
    ("SELECT a FROM s BUDGET MEMORY 1 CUP", "unknown unit 'CUP' of a budget", "MEMORY 1 MB"),
    ("SELECT a FROM s BUDGET CPU 1, CPU 2", "a budget names one thing twice", "once"),
    ("SELECT sum(*) FROM s", "sum(*) has no meaning", "only COUNT takes *"),
    ("SELECT avg() FROM s", "avg needs an argument", "AVG(column)"),
    ("SELECT CAST(a AS QUARK) FROM s", "unknown type 'QUARK'", "types are"),
    ("SELECT a WHEN b > avg(b) FROM s", "WHEN stands after an aggregate", "COUNT(*) WHEN"),
    ("SELECT count(*) WHEN b > 1 FROM s", "WHEN needs an aggregate in its condition", "FILTER"),
    ("SELECT a FROM s LIMIT 1.5", "1.5 is not a whole number", "write 2"),
    ("(SELECT a FROM s LIMIT 3) LIMIT 2", "ORDER BY and LIMIT around a query", "AS q ORDER BY"),
    ("ISTREAM (SELECT RSTREAM(a) FROM s)", "ISTREAM of a stream", "leave one"),
    ("SELECT 99999999999999999999 FROM s", "number too large", "write 1e19"),
    ("SELECT 1e999 FROM s", "number too large", "1.8e308"),
    ("SELECT 'a FROM s", "a text is not closed", "end it with '"),
    ('SELECT "a FROM s', "a quoted name is not closed", 'end it with "'),
    ('SELECT "" FROM s', "a name is empty", "between the quotes"),
    ("SELECT a /* FROM s", "unexpected '*'", "a comment is not closed"),
    ("SELECT a FROM s WHERE !b", "unexpected '!'", "write NOT"),
    ("SELECT a FROM s WHERE b == 1", "unexpected '='", "write a single ="),
    ("SELECT a FROM s WHERE b = @c", "unexpected '@'", "single quotes"),
    ("SELECT a FROM s\0", "unexpected character U+0000", ""),
    ("SELECT '\ud800' FROM s", "unexpected character U+D800", ""),
    ("SHOW QUERIES; SHOW STREAMS", "unexpected 'SHOW'", "one statement at a time"),
    ('ADVANCE STREAM s TO "2026-01-01"', "unexpected '\"2026-01-01\"'", "single quotes"),
    ("CREATE STREAM s FROM FILES 'd' TICK 1 s TICK 2 s", "TICK is written twice", "once"),
    ("CREATE STREAM s (a QUARK) FROM RATE", "unknown type 'QUARK'", "types are"),
    ("CREATE STREAM s FROM PLANT (1, 2, 3, 4)", "a plant has three numbers", "PLANT ("),
    ("CREATE WINDOW w AS [other]", "'other' is the name of a window", "[RANGE 5 MINUTES]"),
    (
        "CREATE SUMMARY m ON s(a) WITH GRANULARITY 1 s AND COLLAPSE(0, 4)",
        "COLLAPSE needs positive numbers",
        "COLLAPSE(2, 4)",
    ),
    (
        "CREATE SUMMARY m ON s(a) WITH GRANULARITY 1 s AND COLLAPSE(2, 4) USING x USING y",
        "USING is written twice",
        "each option once",
    ),
    ("SELECT a FROM s BUDGET PROBES 1.5", "1.5 probes are not a whole number", "PROBES 500"),
    ("SELECT a FROM s BUDGET MEMORY 5%", "a share of MEMORY says nothing", "BUDGET CPU 20%"),
    ("SELECT a.b.count(x) FROM s", "a.b.COUNT(x) is no column", "SUMMARY.ESTIMATE.COUNT"),
]


@pytest.mark.parametrize(("text", "what", "hint"), MISTAKES, ids=lambda value: repr(value)[:40])
def test_a_mistake_is_explained(text: str, what: str, hint: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.what.startswith(what)
    assert hint in caught.value.hint
    assert caught.value.detail.startswith("line 1, column ")
    assert caught.value.exit_code == 10


def test_a_mark_stands_under_the_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse("SELECT a\nFROM s\nWHERE b >> 1\nEVERY 1 s")
    assert caught.value.detail == "line 3, column 10\n    WHERE b >> 1\n             ^"


def test_a_long_line_is_cut_around_the_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse("SELECT " + "a, " * 100 + "FROM s")
    line, mark = caught.value.detail.split("\n")[1:]
    assert len(line) <= 104
    assert line[mark.index("^")] == "F"


def test_a_script_says_in_which_line_the_mistake_is() -> None:
    with pytest.raises(ParseError, match="line 3, column 10"):
        parse_all("SHOW QUERIES;\n\nSELECT a FORM s;")


def test_a_mistake_of_the_same_shape_is_at_its_own_place() -> None:
    parse("SELECT a FROM s [RANGE 5 SECONDS] LIMIT 3")
    with pytest.raises(ParseError, match="line 1, column 24"):
        parse("SELECT a FROM s [RANGE 0 SECONDS] LIMIT 3")


def test_a_parse_error_is_a_value_error() -> None:
    assert issubclass(ParseError, ValueError)
    assert issubclass(ParseError, StreamgaugeError)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "SELECT " + "(" * 10_000 + "a" + ")" * 10_000 + " FROM s",
        "SELECT a FROM s " + "[" * 10_000,
        "SELECT " + "NOT " * 5_000 + "a FROM s",
        "SELECT " + "- " * 5_000 + "a FROM s",
        "SELECT " + "a + " * 1_000 + "a FROM s",
        "SELECT " + "CASE WHEN a THEN " * 500 + "1" + " END" * 500 + " FROM s",
        "SELECT a FROM s" + " UNION SELECT a FROM s" * 300,
        "SELECT a FROM " + "s, " * 1_000 + "s",
        "SELECT a FROM s" + " CROSS JOIN s" * 500,
    ],
    ids=lambda text: text[:20],
)
def test_what_is_nested_too_deep_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match=r"nested deeper|sources in FROM"):
        parse(text)


@pytest.mark.slow
def test_long_chains_of_conditions_are_not_deep() -> None:
    text = "SELECT a FROM s WHERE " + " OR ".join(f"a = {i}" for i in range(3_000))
    where = parse(text).query.where  # type: ignore[union-attr]
    assert sum(part.op == "=" for part in where.walk()) == 3_000
    assert str(where).startswith("a = 0 OR a = 1")


def test_a_statement_that_is_too_long_is_refused() -> None:
    with pytest.raises(ParseError, match="a statement of"):
        parse("SELECT a FROM s WHERE a IN ('" + "x" * 1_100_000 + "', 'y')")


SQL_JOINS = ("NATURAL", "NATURAL LEFT", "LATERAL", "POSITIONAL", "STRAIGHT", "INNER OUTER")


@pytest.mark.parametrize("word", SQL_JOINS)
def test_a_join_that_is_not_supported_is_refused_and_no_alias(word: str) -> None:
    with pytest.raises(ParseError) as found:
        parse(f"SELECT * FROM a [NOW] {word} JOIN b [NOW] ON a.k = b.k")
    assert "JOIN" in found.value.hint
    assert "line 1, column " in found.value.detail


@pytest.mark.slow
def test_no_word_of_sql_is_an_alias_unless_it_is_written_so() -> None:
    for word in sorted(not_aliases()):
        for text in (
            "SELECT v {} FROM s",
            "SELECT v FROM s {}",
            "SELECT v FROM (SELECT v FROM s) {}",
        ):
            try:
                ask = parse(text.format(word.lower()))
            except ParseError:
                continue
            # A term of one word, such as EXACT, may end a query.
            assert isinstance(ask, Ask)
            assert isinstance(ask.query, Select)
            source = ask.query.source
            assert isinstance(source, (FromName, FromSelect))
            assert (ask.query.items[0].alias, source.alias) == ("", ""), word
            assert ask.terms != Terms(), word


def test_a_word_of_sql_is_an_alias_after_as_or_in_quotes() -> None:
    for text in ('SELECT v AS "full" FROM s', 'SELECT v "full" FROM s', "SELECT v AS full FROM s"):
        ask = parse(text)
        assert isinstance(ask, Ask)
        assert isinstance(ask.query, Select)
        assert ask.query.items[0].alias == "full"
