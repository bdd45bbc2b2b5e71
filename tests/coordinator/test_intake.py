"""Reports taken, kept, refused and replayed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.coordinator.agents import MAX_HELD, Refusal
from streamgauge.coordinator.cache import Row
from streamgauge.coordinator.claims import NO_CLAIMS, Claims
from streamgauge.coordinator.intake import Intake, News
from streamgauge.coordinator.options import Options
from streamgauge.edge.protocol import Reply, Report
from streamgauge.filters.bound import Grant, Update
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import SECOND
from tests.coordinator.world import START, STREAM

pytestmark = pytest.mark.slow


class Post:
    """An intake and its clock, in seconds after the start."""

    def __init__(self, directory: Path, options: Options | None = None) -> None:
        self.directory, self.options = directory, options or Options()
        self.seconds = 0.0
        self.grants: list[Grant] = []
        self.news: list[News] = []
        self.claims = NO_CLAIMS
        self.intake = self.open()

    def open(self) -> Intake:
        return Intake(STREAM, self.options, self.directory, lambda: self.now, self.allot)

    def again(self) -> None:
        self.intake.stop()
        self.intake = self.open()

    def allot(self, news: News, _now: int) -> list[Grant]:
        self.news.append(news)
        grants, self.grants = self.grants, []
        return grants

    @property
    def now(self) -> int:
        return at(self.seconds)

    def take(self, report: Report, seconds: float | None = None) -> Reply:
        self.seconds = self.seconds if seconds is None else seconds
        return self.intake.take(report.encode(), self.now, self.claims)

    def close(self, seconds: float) -> list[Row]:
        return self.intake.close(at(seconds)).rows


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def report(seq: int, through: float, *updates: tuple[int, float, float], **more: object) -> Report:
    agent, boot = more.pop("agent", "a"), more.pop("boot", "one")
    told = [Update(n, at(when), value, 0) for n, when, value in updates]
    return Report(agent, boot, seq, at(through), at(through), updates=told, **more)  # type: ignore[arg-type]


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    made = Post(tmp_path)
    yield made
    made.intake.stop()


FIRST = report(1, 1.0, (0, 0.5, 7.0), objects=[(0, ("cpu",))])


def test_what_is_acknowledged_survives_a_kill(post: Post) -> None:
    assert post.take(FIRST, 1).ack == 1
    assert post.take(report(2, 2.0, (0, 1.5, 8.0)), 2).ack == 2
    post.again()
    assert post.take(report(2, 2.0, (0, 1.5, 8.0)), 3).ack == 2
    assert post.intake.agents["a"].tally.duplicates == 1
    assert post.close(2) == [Row(0, at(0.5), 7.0, 0.0), Row(0, at(1.5), 8.0, 0.0)]


def test_reports_out_of_order_wait_for_the_gap_to_fill(post: Post) -> None:
    post.take(FIRST, 1)
    assert post.take(report(3, 3.0, (0, 2.5, 9.0)), 3).ack == 1
    assert post.intake.agents["a"].through == at(1)
    post.again()
    assert post.take(report(2, 2.0, (0, 1.5, 8.0)), 3).ack == 3
    assert [row.value for row in post.close(3)] == [7.0, 8.0, 9.0]


def test_a_beat_that_is_ahead_of_what_is_here_vouches_for_nothing(post: Post) -> None:
    post.take(FIRST, 1)
    post.take(report(2, 3.0), 3)
    assert post.intake.agents["a"].through == at(1)
    post.take(report(1, 3.0), 3)
    assert post.intake.agents["a"].through == at(3)


def test_a_tick_that_nobody_vouched_for_is_interrupted(post: Post) -> None:
    post.take(FIRST, 1)
    assert post.close(1) == [Row(0, at(0.5), 7.0, 0.0)]
    assert post.close(3) == [Row(0, at(2), 7.0, float("inf"))]
    post.take(report(1, 5.0), 5)
    assert post.close(4) == [Row(0, at(3) + 1, 7.0, 0.0)]


def test_ticks_that_are_closed_together_are_judged_one_by_one(post: Post) -> None:
    post.take(FIRST, 1)
    post.take(report(2, 2.2, (0, 1.5, 8.0)), 2.2)
    assert post.close(6) == [
        Row(0, at(0.5), 7.0, 0.0),
        Row(0, at(1.5), 8.0, 0.0),
        Row(0, at(3), 8.0, float("inf")),
    ]


def test_a_gap_that_an_agent_owns_to_is_interrupted(post: Post) -> None:
    post.take(FIRST, 1)
    post.take(report(2, 6.0, (0, 5.5, 9.0), since=at(4.5)), 6)
    assert post.close(6) == [
        Row(0, at(0.5), 7.0, 0.0),
        Row(0, at(2), 7.0, float("inf")),
        Row(0, at(4) + 1, 7.0, 0.0),
        Row(0, at(5.5), 9.0, 0.0),
    ]


def test_late_updates_are_counted(post: Post) -> None:
    post.take(FIRST, 1)
    post.close(4)
    post.take(report(2, 6.0, (0, 2.5, 9.0)), 6)
    assert post.intake.agents["a"].tally.late == 1
    assert post.close(5) == [Row(0, at(4) + 1, 9.0, 0.0)]


def test_grants_are_on_the_disk_before_they_are_sent(post: Post) -> None:
    post.grants = [Grant(0, 1, 4.0, at(1))]
    reply = post.take(FIRST, 1)
    assert reply.grants == [Grant(0, 1, 4.0, at(1))]
    post.again()
    bound = post.intake.cache.bounds[0]
    assert (bound.newest, bound.grants[-1]) == (1, (1, at(1), 4.0))


def test_a_narrower_width_is_sent_until_it_is_confirmed(post: Post) -> None:
    post.grants = [Grant(0, 1, 4.0, at(1))]
    post.take(FIRST, 1)
    post.take(report(2, 1.1, applied=[(0, 1)]), 1.1)
    post.intake.grant([Grant(0, 2, 1.0, at(1.2))])
    sent = []
    for tenth in range(12, 120):
        beat = report(2, 1.1)
        sent += post.take(beat, tenth / 10).grants
    assert [grant.version for grant in sent] == [2, 2, 2]
    post.take(report(3, 12, applied=[(0, 2)]), 12)
    assert post.take(report(3, 12), 100).grants == []


def test_a_narrower_width_counts_from_when_it_is_vouched_for(post: Post) -> None:
    post.grants = [Grant(0, 1, 4.0, at(1))]
    post.take(FIRST, 1)
    post.take(report(2, 1.6, applied=[(0, 1)]), 1.6)
    post.intake.grant([Grant(0, 2, 1.0, at(1.7))])
    # After a restart the agent does not vouch yet when it narrows the bound.
    post.take(report(3, 1.6, applied=[(0, 2)], since=at(2.2)), 3.5)
    post.take(report(3, 8.0), 8)
    widths = [(row.at, row.width) for row in post.close(6)]
    assert widths == [
        (at(0.5), 0.0),
        (at(1), 4.0),
        (at(2), float("inf")),
        (at(2) + 1, 4.0),
        (at(4.5), 1.0),
    ]


def test_after_a_kill_unconfirmed_grants_are_sent_again(post: Post) -> None:
    post.grants = [Grant(0, 1, 4.0, at(1))]
    post.take(FIRST, 1)
    post.again()
    assert post.take(report(1, 2.0), 2).grants == [Grant(0, 1, 4.0, at(1))]


def test_news_are_of_objects_not_of_numbers(post: Post) -> None:
    post.take(FIRST, 1)
    other = report(1, 1.0, (0, 0.5, 3.0), agent="b", objects=[(0, ("disk",))])
    post.take(other, 1)
    assert [news.begun for news in post.news] == [[0], [1]]
    assert [place for place, _ in post.news[1].updates] == [1]


def test_another_boot_gets_the_name_after_a_silence(post: Post) -> None:
    post.take(FIRST, 1)
    fresh = report(1, 2.0, (0, 1.9, 5.0), boot="two", objects=[(0, ("cpu",))], since=at(1.8))
    with pytest.raises(Refusal, match="in use") as refusal:
        post.take(fresh, 2)
    assert refusal.value.status == 409
    assert post.take(fresh, 4.5).ack == 1
    assert post.close(1)[-1].value == 7.0
    back = post.take(report(2, 19.0, (0, 18.0, 3.0)), 20)
    assert (back.ack, back.known) == (0, False)


def test_a_report_that_was_long_on_its_way_brings_no_boot_back(post: Post) -> None:
    post.take(FIRST, 1)
    lost = report(1, 2.0, (0, 1.9, 5.0), boot="two", objects=[(0, ("cpu",))], since=at(1.8))
    third = report(1, 9.0, (0, 8.9, 6.0), boot="three", objects=[(0, ("cpu",))], since=at(8.8))
    post.take(third, 9)
    with pytest.raises(Refusal, match="in use"):
        post.take(lost, 30)
    assert post.take(report(1, 31.0, boot="three"), 31).ack == 1


def test_a_new_boot_is_not_believed_about_what_it_has_not_read(post: Post) -> None:
    post.take(report(1, 1.0, (0, 0.5, 7.0), (1, 0.5, 8.0), objects=[(0, ("a",)), (1, ("b",))]), 1)
    post.close(1)
    fresh = report(1, 5.0, (0, 4.9, 5.0), boot="two", objects=[(0, ("b",))], since=at(4))
    post.take(fresh, 5)
    rows = {row.place: row for row in post.close(5)}
    assert rows[0].width == float("inf")
    assert rows[1] == Row(1, at(4.9), 5.0, 0.0)


def test_an_unknown_boot_that_was_acknowledged_elsewhere_must_begin_anew(post: Post) -> None:
    reply = post.take(report(57, 1.0, (0, 0.5, 1.0)), 1)
    assert (reply.ack, reply.known) == (0, False)
    assert not post.take(report(57, 1.5), 1.5).known
    assert post.take(report(1, 2.0, (0, 1.5, 2.0), boot="two", objects=[(0, ("cpu",))]), 2).known


def test_an_unknown_agent_is_told_the_time(post: Post) -> None:
    post.seconds = 5.0
    reply = post.take(Report("new", "b", 0, 123, 0))
    assert (reply.ack, reply.known, reply.echo, reply.received) == (0, True, 123, at(5))
    assert post.intake.agents == {}


def test_numbers_that_were_not_announced_are_asked_for(post: Post) -> None:
    post.take(FIRST, 1)
    reply = post.take(report(2, 2.0, (4, 1.5, 3.0)), 2)
    assert (reply.ack, reply.known) == (2, False)
    post.again()
    assert post.take(report(3, 2.5, objects=[(4, ("disk",))]), 2.5).known
    assert Row(1, at(1.5), 3.0, 0.0) in post.close(2)


def test_a_key_belongs_to_one_live_agent(post: Post) -> None:
    post.take(FIRST, 1)
    thief = report(1, 1.0, (0, 0.6, 99.0), agent="b", objects=[(0, ("cpu",))])
    post.take(thief, 1)
    assert post.intake.agents["b"].tally.refused == 2
    assert post.close(1) == [Row(0, at(0.5), 7.0, 0.0)]
    post.take(report(1, 9.0, agent="b"), 9)
    post.close(4)
    heir = report(2, 9.0, (1, 8.5, 50.0), agent="b", objects=[(1, ("cpu",))])
    post.claims = Claims("5f", takeover=("c*",))
    post.take(heir, 9)
    assert post.close(9)[-1] == Row(0, at(8.5), 50.0, 0.0)
    post.take(report(2, 9.5, (0, 9.2, 7.5)), 9.5)
    assert post.intake.agents["a"].tally.refused == 1


def test_a_forgotten_agent_takes_its_objects_with_it(post: Post) -> None:
    post.take(FIRST, 1)
    post.close(5)
    post.intake.forget("a")
    rows = post.close(6)
    assert [(row.at, str(row.value), row.width) for row in rows] == [(at(5) + 1, "nan", 0.0)]
    post.again()
    assert post.intake.agents == {}
    with pytest.raises(SourceFailure, match="no agent named"):
        post.intake.forget("a")


def test_objects_leave_and_come_back(post: Post) -> None:
    post.take(FIRST, 1)
    post.take(report(2, 2.0, left=[(0, at(1.5))]), 2)
    assert [str(row.value) for row in post.close(2)] == ["7.0", "nan"]
    post.take(report(3, 3.0, (0, 2.5, 9.0)), 3)
    assert post.close(3) == [Row(0, at(2.5), 9.0, 0.0)]


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (report(2, 60.0), 400),
        (report(2, 2.0, (0, 60.0, 1.0)), 400),
        (report(0, 2.0, (0, 1.5, 1.0)), 400),
        (report(2, 2.0, *((number, 1.5, 0.0) for number in range(2000))), 400),
    ],
)
def test_what_a_broken_agent_sends_is_refused_and_counted(
    post: Post, bad: Report, status: int
) -> None:
    post.take(FIRST, 1)
    with pytest.raises(Refusal) as refusal:
        post.take(bad, 2)
    assert refusal.value.status == status
    assert post.intake.agents["a"].tally.refused == 1
    assert post.intake.agents["a"].seq == 1


def test_a_key_that_names_no_object_is_refused_alone(post: Post) -> None:
    post.take(FIRST, 1)
    post.take(report(2, 2.0, (0, 1.5, 8.0), (1, 1.5, 3.0), objects=[(1, ("a", "b"))]), 2)
    assert post.intake.agents["a"].tally.refused >= 1
    assert post.intake.agents["a"].seq == 2
    assert [row.value for row in post.close(2)] == [7.0, 8.0]


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"v":1}', b'{"v":2}', FIRST.encode().replace(b"7.0", b"NaN")],
)
def test_bytes_that_are_no_report_are_refused(post: Post, data: bytes) -> None:
    with pytest.raises(SourceFailure):
        post.intake.take(data, post.now)
    assert post.intake.refused == 1


def test_a_flood_is_stopped(tmp_path: Path) -> None:
    post = Post(tmp_path, Options(max_updates=100.0))
    post.take(FIRST, 1)
    many = [(0, 1.5, float(n)) for n in range(150)]
    post.take(report(2, 2.0, *many), 2)
    with pytest.raises(Refusal, match="too much") as refusal:
        post.take(report(3, 2.0, *many), 2)
    assert refusal.value.status == 429
    assert refusal.value.retry is not None
    post.take(report(3, 2.0, *many), 2 + refusal.value.retry)
    other = report(1, 2.0, (0, 1.5, 1.0), agent="b", objects=[(0, ("disk",))])
    assert post.take(other, 2).ack == 1
    post.intake.stop()


def test_there_may_be_only_so_many_objects(tmp_path: Path) -> None:
    post = Post(tmp_path, Options(max_objects=2))
    post.take(FIRST, 1)
    with pytest.raises(Refusal, match="too many objects"):
        post.take(report(2, 2.0, objects=[(1, ("b",)), (2, ("c",))]), 2)
    post.intake.stop()


def test_reports_do_not_wait_for_one_that_never_comes(post: Post) -> None:
    post.take(FIRST, 1)
    post.intake.agents["a"].held = dict.fromkeys(range(3, 3 + MAX_HELD), FIRST)
    with pytest.raises(Refusal, match="before them"):
        post.take(report(MAX_HELD + 5, 2.0, (0, 1.5, 1.0)), 2)
    post.intake.agents["a"].held = {}


def test_with_rates_answers_do_not_wait(tmp_path: Path) -> None:
    post = Post(tmp_path, Options(rates={"cpu": 0.5, "d*": 2.0}))
    objects = [(0, ("cpu",)), (1, ("disk",)), (2, ("other",))]
    told = [(0, 0.5, 7.0), (1, 0.5, 8.0), (2, 0.5, 9.0)]
    post.take(report(1, 1.0, *told, objects=objects), 1)
    assert post.intake.horizon(at(1)) == at(1)
    assert [row.width for row in post.close(1)] == [3.0, 12.0, float("inf")]
    assert post.close(4) == []
    assert [row.width for row in post.close(5)] == [float("inf")] * 3
    post.intake.stop()


def test_a_new_part_begins_with_all_that_is_known(post: Post) -> None:
    post.grants = [Grant(0, 1, 4.0, at(1))]
    post.take(FIRST, 1)
    post.take(report(3, 3.0, (0, 2.5, 9.0)), 3)
    post.intake.rotate()
    assert len(list(post.directory.glob("*.spool"))) == 1
    before = json.dumps(post.intake._as_dict())
    post.again()
    assert json.dumps(post.intake._as_dict()) == before
    assert post.take(report(2, 2.0, (0, 1.5, 8.0)), 3).ack == 3


def test_many_agents_at_once_lose_nothing(tmp_path: Path) -> None:
    post = Post(tmp_path)
    post.seconds = 40.0

    def speak(name: str) -> None:
        first = report(1, 1.0, (0, 0.5, 0.0), agent=name, objects=[(0, (name,))])
        assert post.intake.take(first.encode(), post.now).ack == 1
        for seq in range(2, 31):
            told = report(seq, float(seq), (0, seq - 0.5, float(seq)), agent=name)
            assert post.intake.take(told.encode(), post.now).ack == seq

    names = [f"agent-{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(speak, names))
    flushes = post.intake.spool.flushes
    post.again()
    assert flushes <= 240
    assert [post.intake.agents[name].seq for name in names] == [30] * 8
    values = [row.value for row in post.close(30)]
    assert len(values) == 240
    post.intake.stop()


def test_what_beats_vouched_for_is_read_again(post: Post) -> None:
    post.take(FIRST, 1)
    post.take(report(1, 3.2), 3.2)
    post.take(report(2, 6.0, (0, 5.5, 9.0), since=at(4.5)), 6)
    rows = post.close(3)
    assert rows == [Row(0, at(0.5), 7.0, 0.0)]
    post.again()
    assert post.intake.unlanded is not None
    assert post.intake.unlanded.rows == rows
    assert post.close(4) == [Row(0, at(4), 7.0, float("inf"))]


def test_an_object_of_a_silent_agent_is_offered_to_one_whose_token_takes_over(post: Post) -> None:
    post.take(FIRST, 1)
    post.claims = Claims("5f", takeover=("*",))
    first = Report(
        "b", "b1", 1, at(1), at(1), [(0, FIRST.objects[0][1])], [Update(0, at(1), 3.0, 0)]
    )
    assert post.take(first, 1).known
    assert post.intake.agents["b"].tally.refused
    post.close(30)
    assert "a" in post.intake.cache.unheard
    reply = post.take(Report("b", "b1", 1, at(30), at(30)), 30)
    assert not reply.known
    again = replace(first, seq=2, through=at(31), updates=[Update(0, at(31), 4.0, 0)])
    assert post.take(again, 31).known
    assert post.intake.cache.bounds[0].agent == "b"
    post.again()
    assert post.intake.cache.bounds[0].agent == "b"
