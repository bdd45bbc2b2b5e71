"""What can come at a place, judged by the parser and by the names in force."""

from __future__ import annotations

import pytest

from streamgauge.kernel.errors import ParseError
from streamgauge.language.complete import Known, complete
from streamgauge.language.parse import parse, parse_each

COLUMNS = {
    "plant": ("series", "value", "ts"),
    "two words": ("a b", "select"),
    "sites": ("site", "lat"),
}
KNOWN = Known(
    {
        "stream": ("plant", "two words"),
        "table": ("sites",),
        "query": ("heat", "rows"),
        "window": ("few",),
        "alert": ("hot",),
    },
    lambda name: COLUMNS.get(name, ()),
)


def offered(text: str, kind: str | None = None) -> list[str]:
    """Words that can come where the bar stands."""
    place = text.index("|")
    found = complete(text[:place] + text[place + 1 :], place, KNOWN)
    return [word for word, of in found.words if kind in (None, of)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SEL|", ["SELECT"]),
        ("SELECT val| FROM plant", ["value"]),
        ("SELECT p.| FROM plant AS p, sites s", ["series", "value", "ts"]),
        ("SELECT s.| FROM plant [NOW] p JOIN sites s", ["site", "lat"]),
        ('SELECT "two words".| FROM "two words"', ['"a b"', '"select"']),
        ("SELECT value FROM plant [PARTITION BY |", ["series", "value", "ts"]),
        ("SELECT value FROM plant [RANGE 5 MI|", ["MILLISECONDS", "MINUTES"]),
        ("SELECT value FROM plant BUDGET MEMORY 5 M|", ["MB"]),
        ("SELECT a FROM RESAMPLE(pl|", ["plant"]),
        ("SELECT a FROM RESAMPLE(plant, v|", ["value"]),
        ("SELECT CAST(value AS f|", ["FLOAT"]),
        ("DROP QUERY |", ["heat", "rows"]),
        ("DROP QUERY heat, |", ["heat", "rows"]),
        ("DROP ALERT |", ["hot"]),
        ('DROP STREAM "tw|', ['"two words"']),
        ("CREATE ALERT hot ON h|", ["heat"]),
        ("SHOW QUERIES; DESCRIBE si|", ["sites"]),
        ("CREATE STREAM s (a FLOAT, b TIME) FROM PUSH TIME |", ["a", "b", "UNIT"]),
        ("CREATE SUMMARY s ON plant(v|", ["value"]),
        ("CREATE STREAM s FROM FILES 'x' FORMAT p|", ["parquet", "pcap"]),
        # A new name, an alias, a text, a comment, and what follows a mistake: nothing is known.
        ("CREATE QUERY h|", []),
        ("SELECT value v| FROM plant", []),
        ("SELECT 'va|", []),
        ("SELECT value -- va|", []),
        ("FROM SELECT |", []),
    ],
)
def test_only_what_can_come_is_offered(text: str, words: list[str]) -> None:
    assert offered(text) == words


def test_names_come_before_functions_and_keywords() -> None:
    found = offered("SELECT | FROM plant")
    assert found[:4] == ["series", "value", "ts", "plant"]
    assert found.index("AVG") < found.index("CASE")
    assert "FROM" not in found


def test_a_name_is_quoted_only_where_it_would_be_a_keyword() -> None:
    assert "rows" in offered("SELECT value FROM |")
    assert offered("SELECT value FROM plant [|", "window") == ["few"]
    rows = Known({"window": ("rows",)})
    assert complete("SELECT a FROM s [", 17, rows).words[0].word == '"rows"'


@pytest.mark.parametrize(
    "text",
    [
        "SELECT series, AVG(value) FROM plant [RANGE 5 MINUTES] WHERE value > 3 GROUP BY series "
        "EVERY 5 SECONDS WITHIN 5 PERCENT CONFIDENCE 0.9",
        "CREATE STREAM s (ts TIME, v FLOAT) FROM PUSH KEY v TIME ts LATE ALLOW 5 SECONDS",
        "SELECT CASE WHEN value > 1 THEN 2 ELSE 3 END FROM plant [ROWS 100]",
        "CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 80 CLEAR BELOW 75 DELIVER TO WEBHOOK 'a'",
    ],
)
def test_every_keyword_of_a_statement_is_offered_where_it_stands(text: str) -> None:
    parse(text)
    at = 0
    for word in text.split(" "):
        if word.isalpha() and word.isupper() and word not in ("FLOAT", "TIME"):
            assert word in offered(text[:at] + "|"), (text[:at], word)
        at += len(word) + 1


def test_a_statement_that_is_wrong_leaves_the_others_alone() -> None:
    text = "SHOW QUERIES;\nSELECT a FORM s;\nDESCRIBE heat"
    found = parse_each(text)
    assert [type(part.said).__name__ for part in found] == ["Show", "ParseError", "Describe"]
    wrong = found[1].said
    assert isinstance(wrong, ParseError)
    assert wrong.place is not None
    assert tuple(wrong.place) == (2, 10, text.index("FORM"), 4)


@pytest.mark.parametrize(
    ("text", "start", "length"),
    [
        ("SELECT a FROM", 13, 0),
        ("SELECT 'abc", 7, 4),
        ('SELECT "" FROM s', 7, 2),
        ("SELECT a ! b", 9, 1),
        ("SHOW QUERY", 5, 5),
    ],
)
def test_an_error_knows_its_place(text: str, start: int, length: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    place = caught.value.place
    assert place is not None
    assert (place.offset, place.length) == (start, length)
    assert (place.line, place.column) == (1, start + 1)
