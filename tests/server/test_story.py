"""A guided story: its routes, its acts one at a time, its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx
import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.errors import SourceFailure
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from streamgauge.server.story import Act, Stage, Story
from tests.owner import as_owner
from tests.server.conftest import PLAIN, problem

pytestmark = pytest.mark.slow


class Play:
    """Acts that go on when they are let."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.back = False

    def patient(self, stage: Stage) -> None:
        stage.tell("begun")
        try:
            stage.until(self.go.is_set, 600.0)
        finally:
            self.back = True
        stage.tell("ended")

    def broken(self, stage: Stage) -> None:
        raise SourceFailure("no row came", "after 3 s", "wait")

    def closed(self, stage: Stage) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    def story(self) -> Story:
        plays = {"patient": self.patient, "broken": self.broken, "closed": self.closed}
        return Story(
            [Act(name, name, "text", "#/queries", "the list", "go", p) for name, p in plays.items()]
        )


@pytest.fixture
def play() -> Play:
    return Play()


@pytest.fixture
def story(play: Play) -> Iterator[Story]:
    made = play.story()
    yield made
    made.close()


@pytest.fixture
def client(gauge: sg.Gauge, story: Story) -> Iterator[httpx.Client]:
    with (
        Server(gauge, Settings.of("http://127.0.0.1:0"), story=story) as server,
        httpx.Client(
            base_url=server.address, headers=as_owner(server), timeout=60, verify=PLAIN
        ) as made,
    ):
        yield made


def states(client: httpx.Client) -> list[str]:
    return [act["state"] for act in client.get("/v1/story").json()["acts"]]


def test_acts_are_played_one_at_a_time(client: httpx.Client, play: Play) -> None:
    assert client.get("/v1/about").json()["story"] is True
    assert states(client) == ["waiting", "waiting", "waiting"]
    begun = client.post("/v1/story/patient")
    assert begun.status_code == 202
    assert begun.json()["acts"][0]["state"] == "running"
    assert problem(client.post("/v1/story/broken"), 409)["detail"] == "patient is being played"
    play.go.set()
    wait_until(lambda: states(client)[0] == "done", 60)
    assert client.get("/v1/story").json()["acts"][0]["told"] == ["begun", "ended"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("broken", "no row came: after 3 s"), ("closed", "it could not go on: Connection refused")],
)
def test_an_act_that_fails_says_why(client: httpx.Client, name: str, said: str) -> None:
    client.post(f"/v1/story/{name}")
    wait_until(lambda: "failed" in states(client), 60)
    acts = {act["name"]: act for act in client.get("/v1/story").json()["acts"]}
    assert acts[name]["told"] == [said]


def test_acts_that_are_not_there(client: httpx.Client, story: Story) -> None:
    problem(client.post("/v1/story/%3Cb%3E"), 404)
    story.opening = "the job is starting"
    assert problem(client.post("/v1/story/patient"), 409)["detail"] == "the job is starting"


def test_closing_ends_an_act_and_lets_it_put_things_back(story: Story, play: Play) -> None:
    thread = story.begin("patient")
    story.close()
    assert not thread.is_alive()
    assert play.back
    assert story.as_dict()["acts"][0]["state"] == "waiting"


def test_a_story_plays_by_itself_unless_somebody_plays_it(story: Story, play: Play) -> None:
    play.go.set()
    story.play_all(0.0)
    ends = ["done", "failed", "failed"]
    wait_until(lambda: [act["state"] for act in story.as_dict()["acts"]] == ends, 60)
    play.go.clear()
    story.begin("patient")
    story.play_all(0.0)
    story.close()


def test_without_a_story_there_is_no_route(gauge: sg.Gauge) -> None:
    with (
        Server(gauge, Settings.of("http://127.0.0.1:0")) as server,
        httpx.Client(
            base_url=server.address, headers=as_owner(server), timeout=60, verify=PLAIN
        ) as client,
    ):
        assert client.get("/v1/about").json()["story"] is False
        problem(client.get("/v1/story"), 404)
