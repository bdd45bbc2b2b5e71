"""Random damage to text files: every line is accepted or rejected, and none twice."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.sources.parse import Parsed
from tests.sources.streams import parse, stream

pytestmark = pytest.mark.slow

HEADER = b"series,ts,value,n,ok"
CSV = [
    b"a,2026-01-31T11:00:00Z,1.5,3,true",
    b'"b,c",2026-01-31 11:00:00,,4,false',
    b"d,1769800000000000,nan,,",
]
JSON = [
    json.dumps({"series": "a", "ts": "2026-01-31T11:00:00Z", "value": 1.5, "n": 3}).encode(),
    json.dumps({"series": "b", "ts": 1_769_800_000_000_000, "value": None, "ok": True}).encode(),
    b'{"series": "c", "ts": "2026-01-31 11:00:00+01:00", "value": NaN}',
]
PIECES = st.one_of(
    st.sampled_from([b'"', b",", b"{", b"}", b"null", b"\xff", b"\x00", b" ", b"[", b":", b"-"]),
    st.binary(max_size=6),
)


def _one_line(content: bytes) -> bytes:
    return content.replace(b"\n", b"").replace(b"\r", b"")


@st.composite
def _damaged(draw: st.DrawFn, line: bytes) -> bytes:
    first = draw(st.integers(0, len(line)))
    stop = draw(st.integers(first, min(len(line), first + 8)))
    return _one_line(line[:first] + draw(PIECES) + line[stop:])


def _files(samples: list[bytes]) -> st.SearchStrategy[list[bytes]]:
    good = st.sampled_from(samples)
    line = st.one_of(good, good, good.flatmap(_damaged), st.binary(max_size=20).map(_one_line))
    return st.lists(line, max_size=25)


def _counts(parsed: Parsed) -> tuple[int, int]:
    """Rows accepted and rows rejected."""
    kept = [reason.endswith("kept with a null") for reason in parsed.rejects["reason"].to_pylist()]
    return parsed.table.num_rows, kept.count(False)


def _check(content: bytes, format: str, n_rows: int) -> Parsed:
    with tempfile.TemporaryDirectory() as folder:
        parsed = parse(Path(folder), content, stream(format))
    assert sum(_counts(parsed)) == n_rows
    assert parsed.table.schema == stream(format).schema.to_arrow()
    parsed.table.validate(full=True)
    assert parsed.table["series"].null_count == parsed.table["ts"].null_count == 0
    return parsed


@given(lines=_files(CSV))
@settings(max_examples=100, deadline=None)
def test_csv(lines: list[bytes]) -> None:
    n_rows = sum(1 for line in lines if line)
    _check(b"\n".join([HEADER, *lines]), "csv", n_rows)


@given(lines=_files(JSON))
@settings(max_examples=100, deadline=None)
def test_json_lines(lines: list[bytes]) -> None:
    # A mark of UTF-8 at the very front is dropped, so the file opens with a line that is not one.
    n_rows = 1 + sum(1 for line in lines if line.strip(b" \t"))
    _check(b"\n".join([JSON[0], *lines]), "jsonl", n_rows)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_line_fares_the_same_in_any_company(format: str, data: st.DataObject) -> None:
    front, samples = ([HEADER], CSV) if format == "csv" else ([], JSON)
    lines = [line for line in data.draw(_files(samples)) if line.strip(b" \t\xef\xbb\xbf")]
    together = _check(b"\n".join(front + lines), format, len(lines))
    alone = [_check(b"\n".join([*front, line]), format, 1) for line in lines]
    rows = [row for parsed in alone for row in parsed.table.to_pylist()]
    assert together.table.to_pylist() == rows
    expected = [reason for parsed in alone for reason in parsed.rejects["reason"].to_pylist()]
    assert together.rejects["reason"].to_pylist() == expected
