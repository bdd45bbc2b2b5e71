"""JSON lines: what becomes rows, and what becomes a dead letter with which reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sources.streams import instants, parse, reasons, stream, values

GOOD = {"series": "a", "ts": "2026-01-31T11:00:00Z", "value": 1.5, "n": 3, "ok": True}


def row(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


def test_rows_keep_their_order_and_types(tmp_path: Path) -> None:
    text = "\n".join([row(), "", row(series="b", value=2, extra=[{"x": None}]), "  ", row(n=None)])
    parsed = parse(tmp_path, text, stream("jsonl"))
    assert parsed.table.schema == stream("jsonl").schema.to_arrow()
    assert values(parsed, "series") == ["a", "b", "a"]
    assert values(parsed) == [1.5, 2.0, 1.5]
    assert values(parsed, "n") == [3, 3, None]
    assert parsed.rejects.num_rows == 0


def test_missing_keys_are_null(tmp_path: Path) -> None:
    parsed = parse(tmp_path, '{"series":"a","ts":"2026-01-31"}\n', stream("jsonl"))
    assert parsed.table.select(["value", "n", "ok"]).to_pylist() == [
        {"value": None, "n": None, "ok": None}
    ]
    assert parsed.rejects.num_rows == 0


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "the line is not a JSON object"),
        ("null", "the line is not a JSON object"),
        ("  null", "the line is not a JSON object"),
        ("[1, 2]", "the line is not a JSON object"),
        ("17", "the line is not a JSON object"),
        (row()[:-3], "malformed JSON: "),
        (row() + row(), "malformed JSON: "),
        (row() + " null " + row(), "malformed JSON: "),
        ('{"series":"a","series":"b","ts":"2026-01-31"}', "a key that stands twice"),
        (row(value="abc"), "column 'value': 'abc' is not a float"),
        (row(value=[1]), "column 'value': [1] is not a float"),
        (row(value=True), "column 'value': True is not a float"),
        (row(n=3.5), "column 'n': 3.5 is not an int"),
        (row(n=10**20), "column 'n': 100000000000000000000 is not an int"),
        (row(ok=1), "column 'ok': 1 is not a bool"),
        (row(series=17), "column 'series': 17 is not a string"),
        (row(ts="soon"), "column 'ts': 'soon' is not a time"),
        (row(ts=1.5), "column 'ts': 1.5 is not a time"),
        (row(ts=None), "column 'ts': null in a time column"),
        (row(series=None), "column 'series': null in a key column"),
        ("{}", "column 'ts': null in a time column; column 'series'"),
        (row(ts="2026-02-02T12:00:00Z"), "column 'ts': 172800 s ahead of its arrival"),
        ("{" * 5_000, "malformed JSON: "),
        ('{"x":' + "[" * 5_000 + "]" * 5_000 + "}", "column 'ts': null in a time column"),
    ],
)
def test_each_kind_of_bad_line(tmp_path: Path, line: str, reason: str) -> None:
    text = "\n".join([row(), row(), line, row(), row()])
    parsed = parse(tmp_path, text, stream("jsonl"))
    assert parsed.table.num_rows == 4
    (place,) = reasons(parsed, tmp_path)
    assert place == ":3"
    assert reason.partition(";")[0] in reasons(parsed, tmp_path)[place]
    assert parsed.rejects["row"].to_pylist() == [line[:2_000]]


@pytest.mark.parametrize("line", ["null", "{", "}", '{"series":"a"', "\x00"])
def test_a_bad_line_alone(tmp_path: Path, line: str) -> None:
    parsed = parse(tmp_path, line, stream("jsonl"))
    assert (parsed.table.num_rows, parsed.rejects.num_rows) == (0, 1)


def test_an_object_over_two_lines_is_two_bad_lines(tmp_path: Path) -> None:
    first, second = row().split(', "value"')
    parsed = parse(tmp_path, f'{row()}\n{first},\n"value"{second}\n{row()}', stream("jsonl"))
    assert parsed.table.num_rows == 2
    assert list(reasons(parsed, tmp_path)) == [":2", ":3"]


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    text = row().encode() + b"\n" + row(series="X").encode().replace(b"X", b"\xff")
    parsed = parse(tmp_path, text, stream("jsonl"))
    assert parsed.table.num_rows == 1
    assert reasons(parsed, tmp_path)[":2"] == "the line is not UTF-8 text"


def test_nan_and_infinity_become_null_and_are_told(tmp_path: Path) -> None:
    text = "\n".join(row(value=value) for value in (float("nan"), 2, float("-inf")))
    parsed = parse(tmp_path, text, stream("jsonl"))
    assert values(parsed) == [None, 2.0, None]
    assert reasons(parsed, tmp_path) == {
        ":1": "column 'value': value is NaN; the row is kept with a null",
        ":3": "column 'value': value is infinite; the row is kept with a null",
    }


def test_times_and_numbers_may_stand_as_text_or_not(tmp_path: Path) -> None:
    text = "\n".join(
        [row(ts=1_500), row(ts="1970-01-01T00:00:01.5Z"), row(ts="1500"), row(value="2.5", n="7")]
    )
    parsed = parse(tmp_path, text, stream("jsonl", time_unit="ms"))
    assert instants(parsed)[:3] == [1_500_000] * 3
    assert values(parsed) == [1.5, 1.5, 1.5, 2.5]
    assert values(parsed, "n") == [3, 3, 3, 7]


def test_an_empty_file(tmp_path: Path) -> None:
    parsed = parse(tmp_path, "", stream("jsonl"))
    assert (parsed.table.num_rows, parsed.rejects.num_rows) == (0, 0)


def test_many_bad_lines_are_all_found(tmp_path: Path) -> None:
    lines = [row(n=i) if i % 5 else row(n=i)[: i % 40 + 1] for i in range(5_000)]
    parsed = parse(tmp_path, "\n".join(lines), stream("jsonl"))
    assert values(parsed, "n") == [i for i in range(5_000) if i % 5]
    assert parsed.rejects.num_rows == 1_000
