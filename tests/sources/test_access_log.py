"""Access logs: both formats, odd requests, and lines that are none."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.sources.access_log_scan import FINE, STATUS, TS, scan
from streamgauge.sources.parse import Parsed, parse_file
from tests.sources import captures

pytestmark = pytest.mark.slow

COMMON = '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326'
COMBINED = COMMON + ' "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'
REFERENCE = re.compile(
    r'(\S+) (\S*) (.+?) \[(\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "((?:[^"\\]|\\.)*)" '
    r'(\d{3}) (\d+|-)(?: "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"(?: .*)?)?'
)


def _read(folder: Path, content: str | bytes, name: str = "access.log") -> Parsed:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return parse_file(str(path), captures.stream("access_log"), arrived=0)


def _one(folder: Path, line: str) -> dict[str, Any]:
    found = _read(folder, line)
    assert found.rejects.num_rows == 0, found.rejects["reason"].to_pylist()
    (row,) = found.table.to_pylist()
    return dict(row)


def test_the_combined_format(tmp_path: Path) -> None:
    assert _one(tmp_path, COMBINED) == {
        "ts": datetime(2000, 10, 10, 20, 55, 36, tzinfo=UTC), "host": "127.0.0.1", "user": "frank",
        "method": "GET", "path": "/apache_pb.gif", "protocol": "HTTP/1.0", "status": 200,
        "bytes": 2326, "referer": "http://www.example.com/start.html",
        "agent": "Mozilla/4.08 [en] (Win98; I ;Nav)",
    }  # fmt: skip


def test_the_common_format_has_neither_referer_nor_agent(tmp_path: Path) -> None:
    row = _one(tmp_path, COMMON + "\r\n")
    assert (row["bytes"], row["referer"], row["agent"]) == (2326, None, None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (COMMON.replace(" 2326", " -"), {"bytes": 0}),
        (COMMON.replace("frank", "-"), {"user": None}),
        (COMMON.replace("frank", "frank the first"), {"user": "frank the first"}),
        (COMMON.replace("127.0.0.1", "2001:db8::7"), {"host": "2001:db8::7"}),
        (COMMON.replace("GET /apache_pb.gif HTTP/1.0", "-"),
         {"method": None, "path": None, "protocol": None}),
        (COMMON.replace(" HTTP/1.0", ""), {"method": "GET", "protocol": None}),
        (COMMON.replace("GET /apache_pb.gif HTTP/1.0", r"\x16\x03\x01"),
         {"method": None, "path": r"\x16\x03\x01"}),
        (COMMON.replace("_pb.gif", r"\"b c"), {"path": r"/apache\"b c", "protocol": "HTTP/1.0"}),
        (COMMON.replace("_pb.gif", '"b'), {"path": '/apache"b'}),
        (COMBINED.replace("Mozilla", "Mozïlla 🦊"), {"user": "frank", "status": 200}),
        (COMBINED + ' 0.003 "upstream"', {"agent": "Mozilla/4.08 [en] (Win98; I ;Nav)"}),
        (COMBINED.replace("http://www.example.com/start.html", "-"), {"referer": None}),
        (COMBINED.replace("http://www.example.com/start.html", ""), {"referer": None}),
        (COMMON.replace("10/Oct/2000:13:55:36 -0700", "29/Feb/2024:23:59:59 +0530"),
         {"ts": datetime(2024, 2, 29, 18, 29, 59, tzinfo=UTC)}),
    ],
)  # fmt: skip
def test_lines_that_servers_write(line: str, expected: dict[str, Any], tmp_path: Path) -> None:
    row = _one(tmp_path, line)
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "host, identity, user"),
        ("- - - [10/Oct/2000:13:55:36 -0700] x", "host, identity, user"),
        (COMMON.replace("Oct", "Okt"), "the time is not like"),
        (COMMON.replace("10/Oct/2000", "31/Sep/2000"), "the time is not like"),
        (COMMON.replace("10/Oct/2000", "29/Feb/1900"), "the time is not like"),
        (COMMON.replace("13:55:36", "24:55:36"), "the time is not like"),
        (COMMON.replace('"', "'"), "no request"),
        (COMMON.replace('0" 200', "0 200"), "no request"),
        (COMMON.replace(" 200 ", " 20 "), "no status"),
        (COMMON.replace("200 2326", "2000 2326"), "no status"),
        (COMMON.replace("2326", "many"), "no count of bytes"),
        (COMMON.replace("2326", ""), "no count of bytes"),
        (COMMON.replace("2326", "9" * 19), "no count of bytes"),
        (COMBINED[:-1], "referer and agent"),
        (COMMON + " 17", "referer and agent"),
    ],
)
def test_lines_of_another_shape_are_dead_letters(line: str, reason: str, tmp_path: Path) -> None:
    found = _read(tmp_path, f"{COMBINED}\n\n{line}\n{COMMON}\n")
    assert found.table.num_rows == 2
    (letter,) = found.rejects.to_pylist()
    assert reason in letter["reason"]
    assert (letter["row"], letter["origin"].rsplit(":", 1)[1]) == (line, "3")


def test_lines_that_are_not_text(tmp_path: Path) -> None:
    content = COMMON.encode() + b"\n" + COMMON.replace("gif", "").encode() + b"\xff\xfe\n"
    found = _read(tmp_path, content)
    assert found.table.num_rows == 1
    assert found.rejects["reason"].to_pylist() == ["the line is not UTF-8 text"]


def test_packed_and_empty_logs(tmp_path: Path) -> None:
    packed = gzip.compress(f"{COMMON}\n".encode() * 100)
    assert _read(tmp_path, packed, "access.log.2.gz").table.num_rows == 100
    assert _read(tmp_path, b"").table.num_rows == 0


PIECE = st.one_of(
    st.sampled_from(['"', "[", "]", " ", "-", "\\", "/", ":", "9", "Feb"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=4),
)


@given(st.sampled_from([COMMON, COMBINED]), st.integers(0, 140), st.integers(0, 4), PIECE)
def test_damage_is_a_row_or_a_dead_letter(line: str, at: int, gone: int, piece: str) -> None:
    damaged = line[:at] + piece + line[at + gone :]
    data = np.frombuffer(damaged.encode() or b" ", np.uint8)
    _, numbers, faults = scan(data, np.array([0]), np.array([len(data)]))
    match = REFERENCE.fullmatch(damaged)
    if match is None:
        return
    try:
        stamp = datetime.strptime(match[4], "%d/%b/%Y:%H:%M:%S %z")
    except ValueError:
        assert faults[0] != FINE
        return
    if match[1] == "-" or not match[2] or len(match[7]) > 18 or stamp.utcoffset() is None:
        return
    assert faults[0] == FINE, damaged
    assert numbers[STATUS, 0] == int(match[6])
    assert numbers[TS, 0] == round(stamp.timestamp()) * 1_000_000


@captures.recorded
@pytest.mark.parametrize("name", ["http_apache/apache_semicomplete", "http_nasa/nasa_1995_07_01"])
def test_recorded_requests_come_back(name: str, tmp_path: Path) -> None:
    table = pq.read_table(captures.RECORDED / f"{name}.parquet")
    rows = table.to_pylist()
    lines = []
    for row in rows:
        size = "-" if row["bytes"] is None else row["bytes"]
        line = f"{row['host']} - - [{row['ts']:%d/%b/%Y:%H:%M:%S} +0000] "
        line += f'"{row["method"]} {row["url"]} HTTP/1.0" {row["response"]} {size}'
        if "agent" in row:
            line += f' "{row["referer"] or "-"}" "{row["agent"] or "-"}"'
        lines.append(line)
    found = _read(tmp_path, "\n".join(lines))
    assert found.rejects.num_rows == 0
    for name, other in {"host": "host", "path": "url", "status": "response"}.items():
        assert found.table[name].to_pylist() == table[other].to_pylist()
    assert [stamp.replace(tzinfo=None) for stamp in found.table["ts"].to_pylist()] == [
        row["ts"] for row in rows
    ]
