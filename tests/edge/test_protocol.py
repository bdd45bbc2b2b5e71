"""Messages: what is said comes back the same, nonsense is refused, bytes stay as they are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.edge.protocol import MAX_BYTES, Reply, Report
from streamgauge.filters.bound import EVERY_READING, NOTHING, Grant, Update
from streamgauge.kernel.errors import SourceFailure
from tests.goldens import assert_golden

pytestmark = pytest.mark.slow

REPORTS = {
    "beat": Report("pump-7", "5f3a", 4, 1_700_000_000_000_000, 1_700_000_000_500_000),
    "report": Report(
        "pump-7",
        "5f3a",
        5,
        1_700_000_001_000_000,
        1_700_000_001_400_000,
        [(0, ("pump-7", "flow")), (1, ("pump-7", "température"))],
        [
            Update(0, 1_700_000_001_100_000, 20.5, 0),
            Update(1, 1_700_000_001_200_000, 71.25, 3, -0.5),
            Update(0, 1_700_000_001_300_000, 22.0, 2, 0.0, 0.125, 2.0),
        ],
        [(1, 4)],
        [(1, 1_700_000_001_350_000)],
        1_700_000_000_900_000,
    ),
}
REPLIES = {
    "reply": Reply("5f3a", 5, 1_700_000_001_000_000, 1_700_000_001_450_000, 1_700_000_001_460_000),
    "reply_full": Reply(
        "5f3a",
        5,
        1_700_000_001_000_000,
        1_700_000_001_450_000,
        1_700_000_001_460_000,
        [
            Grant(0, 3, 2.5, 1_700_000_001_460_000),
            Grant(1, 5, NOTHING, 1_700_000_001_460_000),
            Grant(2, 1, EVERY_READING, 1_700_000_001_460_000),
        ],
        5.0,
        {0: [(-math.inf, 3.0), (10.0, math.inf)]},
        False,
    ),
}

wholes = st.integers(-(2**61), 2**61)
numbers = st.integers(0, 2**31)
texts = st.text(min_size=1, max_size=20)
floats = st.floats(allow_nan=False, allow_infinity=False)
updates = st.builds(Update, numbers, wholes, floats, numbers, floats, floats, floats)
grants = st.builds(
    Grant,
    numbers,
    numbers,
    st.one_of(st.floats(0.0, 1e300), st.sampled_from([NOTHING, EVERY_READING])),
    wholes,
)
reports = st.builds(
    Report,
    texts,
    texts,
    numbers,
    wholes,
    wholes,
    st.lists(st.tuples(numbers, st.lists(texts, min_size=1, max_size=3).map(tuple)), max_size=3),
    st.lists(updates, max_size=3),
    st.lists(st.tuples(numbers, numbers), max_size=3),
    st.lists(st.tuples(numbers, wholes), max_size=3),
    st.none() | wholes,
)
regions = st.dictionaries(
    numbers, st.lists(st.tuples(floats, floats) | st.just((-math.inf, 1.0)), max_size=2), max_size=2
)
replies = st.builds(
    Reply,
    texts,
    numbers,
    wholes,
    wholes,
    wholes,
    st.lists(grants, max_size=3),
    st.none() | st.floats(0.001, 1e6),
    regions,
    st.booleans(),
)


@pytest.mark.parametrize("name", REPORTS)
def test_reports_have_these_bytes(name: str) -> None:
    assert_golden(f"protocol/{name}.json", REPORTS[name].encode())
    assert Report.decode(REPORTS[name].encode()).encode() == REPORTS[name].encode()


@pytest.mark.parametrize("name", REPLIES)
def test_replies_have_these_bytes(name: str) -> None:
    assert_golden(f"protocol/{name}.json", REPLIES[name].encode())
    assert Reply.decode(REPLIES[name].encode()) == REPLIES[name]


@given(reports)
def test_a_report_comes_back_the_same(report: Report) -> None:
    assert Report.decode(report.encode()) == report


@given(replies)
def test_a_reply_comes_back_the_same(reply: Reply) -> None:
    assert Reply.decode(reply.encode()) == reply


def test_only_what_is_empty_is_a_beat() -> None:
    empty = Report("a", "b", 1, 2, 3)
    assert empty.beat
    for name, value in (
        ("objects", [(0, ("x",))]),
        ("updates", [Update(0, 1, 2.0, 0)]),
        ("applied", [(0, 1)]),
        ("left", [(0, 1)]),
        ("since", 0),
    ):
        report = Report("a", "b", 1, 2, 3)
        setattr(report, name, value)
        assert not report.beat, name


@given(st.binary(max_size=200))
def test_nonsense_is_refused_with_three_parts(data: bytes) -> None:
    for kind in (Report, Reply):
        with pytest.raises(SourceFailure) as caught:
            kind.decode(data)
        assert caught.value.hint


@given(report=reports, cut=st.integers(1, 30))
def test_a_report_that_is_cut_off_is_refused(report: Report, cut: int) -> None:
    with pytest.raises(SourceFailure):
        Report.decode(report.encode()[:-cut])


@pytest.mark.parametrize(
    "body",
    [
        '{"v":2,"agent":"a","boot":"b","seq":1,"sent":1,"through":1}',
        '{"v":1,"agent":"a","boot":"b","seq":1.5,"sent":1,"through":1}',
        '{"v":1,"agent":"","boot":"b","seq":1,"sent":1,"through":1}',
        '{"v":1,"agent":"a","boot":"b","seq":true,"sent":1,"through":1}',
        '{"v":1,"agent":"a","boot":"b","seq":1,"sent":1,"through":99999999999999999999}',
        '{"v":1,"agent":"a","boot":"b","seq":1,"sent":1,"through":1,"updates":[[0,1,NaN,0]]}',
        '{"v":1,"agent":"a","boot":"b","seq":1,"sent":1,"through":1,"updates":[[0,1]]}',
        '{"v":1,"agent":"a","boot":"b","seq":1,"sent":1,"through":1,"updates":[[0,1,1e999,0]]}',
        '{"v":1,"agent":"a","boot":"b","seq":1,"sent":1,"through":1,"objects":[[0,"x",1]]}',
        "[1]",
        "[" * 100_000,
    ],
)
def test_what_does_not_fit_is_refused(body: str) -> None:
    with pytest.raises(SourceFailure):
        Report.decode(body.encode())


def test_a_message_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(SourceFailure, match="too large"):
        Report.decode(b" " * (MAX_BYTES + 1))


def test_members_that_are_not_known_are_passed_over() -> None:
    body = b'{"v":1,"agent":"a","boot":"b","seq":1,"sent":1,"through":1,"colour":"red"}'
    assert Report.decode(body) == Report("a", "b", 1, 1, 1)
