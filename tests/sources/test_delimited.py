"""CSV: what becomes rows, and what becomes a dead letter with which reason."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from streamgauge.kernel.errors import BindError
from tests.sources.streams import instants, parse, reasons, stream, values

HEADER = "series,ts,value,n,ok\n"
GOOD = "a,2026-01-31T11:00:00Z,1.5,3,true\n"


def test_rows_keep_their_order_and_types(tmp_path: Path) -> None:
    text = HEADER + GOOD + "b,2026-01-31 11:00:01,-2e3,-4,false\n" + "c,2026-01-31 10:00,3,5,1\n"
    parsed = parse(tmp_path, text, stream("csv"))
    assert parsed.table.schema == stream("csv").schema.to_arrow()
    assert values(parsed, "series") == ["a", "b", "c"]
    assert values(parsed) == [1.5, -2000.0, 3.0]
    assert values(parsed, "n") == [3, -4, 5]
    assert values(parsed, "ok") == [True, False, True]
    assert parsed.rejects.num_rows == 0


def test_columns_are_found_by_name_and_extra_ones_ignored(tmp_path: Path) -> None:
    text = "ok,extra,value,ts,n,series\ntrue,?,1.5,2026-01-31,3,a\n"
    parsed = parse(tmp_path, text, stream("csv"))
    assert parsed.table.to_pylist()[0]["series"] == "a"
    assert values(parsed) == [1.5]


def test_wrong_number_of_fields(tmp_path: Path) -> None:
    text = HEADER + GOOD + "\n" + "b,2026-01-31\n" + GOOD + "c,2026-01-31,1,2,true,9\n" + GOOD
    parsed = parse(tmp_path, text, stream("csv"))
    assert parsed.table.num_rows == 3
    assert reasons(parsed, tmp_path) == {
        ":4": "2 fields where 5 are expected",
        ":6": "6 fields where 5 are expected",
    }
    assert parsed.rejects["row"].to_pylist() == ["b,2026-01-31", "c,2026-01-31,1,2,true,9"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a,2026-01-31,abc,3,true", "column 'value': 'abc' is not a float"),
        ("a,2026-01-31,1,3.5,true", "column 'n': '3.5' is not an int"),
        ("a,2026-01-31,1,99999999999999999999,1", "'99999999999999999999' is not an int"),
        ("a,2026-01-31,1,3,maybe", "column 'ok': 'maybe' is not a bool"),
        ("a,yesterday,1,3,true", "column 'ts': 'yesterday' is not a time"),
        ("a,2026-02-30,1,3,true", "column 'ts': '2026-02-30' is not a time"),
        ("a,99999999999999999999,1,3,true", "'99999999999999999999' is not a time"),
        ("a,,1,3,true", "column 'ts': null in a time column"),
        (",2026-01-31,1,3,true", "column 'series': null in a key column"),
        ("a,2026-02-02,1,3,true", "column 'ts': 129600 s ahead of its arrival"),
        ("a,999999999999999999,1,3,true", "column 'ts': not in the years 1 to 9999"),
        ('a,2026-01-31,1,3,"true', "a quote is not closed"),
        ('"a,2026-01-31,1,3,true', "a quote is not closed"),
        ("a,x,y,3,true", "column 'ts': 'x' is not a time; column 'value': 'y' is not a float"),
    ],
)
def test_each_kind_of_bad_line(tmp_path: Path, line: str, reason: str) -> None:
    parsed = parse(tmp_path, HEADER + GOOD * 3 + line + "\n" + GOOD * 2, stream("csv"))
    assert parsed.table.num_rows == 5
    (place,) = reasons(parsed, tmp_path)
    assert place == ":5"
    assert reasons(parsed, tmp_path)[place].endswith(reason)
    assert parsed.rejects["row"].to_pylist() == [line]


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    text = (HEADER + GOOD).encode() + b"\xff\xfe,2026-01-31,1,3,true\n" + GOOD.encode()
    parsed = parse(tmp_path, text, stream("csv"))
    assert parsed.table.num_rows == 2
    assert reasons(parsed, tmp_path)[":3"] == "the line is not UTF-8 text"


@pytest.mark.parametrize(
    ("text", "word"), [("NaN", "NaN"), ("inf", "infinite"), ("-Infinity", "infinite")]
)
def test_nan_and_infinity_become_null_and_are_told(tmp_path: Path, text: str, word: str) -> None:
    parsed = parse(tmp_path, HEADER + GOOD + f"b,2026-01-31,{text},3,true\n", stream("csv"))
    assert values(parsed) == [1.5, None]
    expected = f"column 'value': value is {word}; the row is kept with a null"
    assert reasons(parsed, tmp_path) == {":3": expected}


def test_a_rejected_row_with_nan_is_told_once(tmp_path: Path) -> None:
    parsed = parse(tmp_path, HEADER + ",2026-01-31,nan,3,true\n", stream("csv"))
    assert reasons(parsed, tmp_path) == {":2": "column 'series': null in a key column"}


def test_empty_values_are_null(tmp_path: Path) -> None:
    parsed = parse(tmp_path, HEADER + 'a,2026-01-31,,"", \n', stream("csv"))
    assert parsed.table.select(["value", "n", "ok"]).to_pylist() == [
        {"value": None, "n": None, "ok": None}
    ]


def test_quoted_values_hold_delimiters_and_quotes(tmp_path: Path) -> None:
    parsed = parse(tmp_path, HEADER + '"a,""b""",2026-01-31, 1.5 ,3,true\n', stream("csv"))
    assert values(parsed, "series") == ['a,"b"']
    assert values(parsed) == [1.5]


def test_line_ends_of_all_kinds_and_a_mark(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + (HEADER + GOOD + GOOD + "x\n").replace("\n", "\r\n").encode()
    parsed = parse(tmp_path, text, stream("csv"))
    assert parsed.table.num_rows == 2
    assert list(reasons(parsed, tmp_path)) == [":4"]
    old = parse(tmp_path, (HEADER + GOOD + GOOD).replace("\n", "\r"), stream("csv"))
    assert old.table.num_rows == 2


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("series,ts,value,n\n", "column 'ok' is not in the header, which has series, ts, value, n"),
        ("series,ts,value,n,ok,ok\n", "column 'ok' appears more than once in the header"),
    ],
)
def test_a_header_that_does_not_fit(tmp_path: Path, header: str, reason: str) -> None:
    parsed = parse(tmp_path, header + GOOD, stream("csv"))
    assert parsed.table.num_rows == 0
    assert list(reasons(parsed, tmp_path)) == [""]
    assert reason in reasons(parsed, tmp_path)[""]


def test_without_header_and_with_another_delimiter(tmp_path: Path) -> None:
    text = GOOD.replace(",", ";") + "b;2026-01-31;1,5;3;true\n"
    parsed = parse(tmp_path, text, stream("csv", header=False, delimiter=";"))
    assert values(parsed, "series") == ["a"]
    assert reasons(parsed, tmp_path) == {":2": "column 'value': '1,5' is not a float"}
    with pytest.raises(BindError, match="delimiter"):
        parse(tmp_path, text, stream("csv", delimiter=";;"))


@pytest.mark.parametrize("content", ["", "\n\n", HEADER])
def test_files_without_rows(tmp_path: Path, content: str) -> None:
    parsed = parse(tmp_path, content, stream("csv"))
    assert (parsed.table.num_rows, parsed.rejects.num_rows) == (0, 0)
    assert parsed.table.schema == stream("csv").schema.to_arrow()


def test_packed_files(tmp_path: Path) -> None:
    packed = gzip.compress((HEADER + GOOD).encode())
    assert parse(tmp_path, packed, stream("csv"), "f.csv.gz").table.num_rows == 1
    damaged = parse(tmp_path, packed[:10] + b"!" * 20, stream("csv"), "f.csv.gz")
    assert "cannot be unpacked as gzip" in reasons(damaged, tmp_path, "f.csv.gz")[""]


def test_whole_numbers_are_times_in_the_declared_unit(tmp_path: Path) -> None:
    for unit, step in (("s", 1_000_000), ("ms", 1_000), ("us", 1)):
        parsed = parse(tmp_path, HEADER + "a,1500,1,3,true\n", stream("csv", time_unit=unit))
        assert instants(parsed) == [1500 * step]
    as_int = stream("csv", columns={"series": "string", "ts": "int"}, time_unit="ms")
    assert instants(parse(tmp_path, "series,ts\na,1500\n", as_int)) == [1_500_000]
    with pytest.raises(BindError, match="time unit"):
        parse(tmp_path, HEADER + GOOD, stream("csv", time_unit="weeks"))


def test_long_rows_are_cut_in_their_dead_letter(tmp_path: Path) -> None:
    parsed = parse(tmp_path, HEADER + "x" * 5_000 + "\n", stream("csv"))
    assert len(parsed.rejects["row"][0].as_py()) == 2_000


def test_many_bad_rows_are_all_found(tmp_path: Path) -> None:
    lines = [f"a,2026-01-31,{'?' if i % 3 else i},3,true\n" for i in range(3_000)]
    parsed = parse(tmp_path, HEADER + "".join(lines), stream("csv"))
    assert values(parsed) == [float(i) for i in range(0, 3_000, 3)]
    assert parsed.rejects.num_rows == 2_000
