"""A guided story: acts that show on live answers what a gauge does when something happens.

Whoever serves the gauge writes the acts; this is what all have in common: one act at a time, what
it said so far, and an end that comes at once when the server stops.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.server.access import Author, Name, Reader
from streamgauge.server.problems import Refused
from streamgauge.server.shapes import said

router = APIRouter(tags=["story"])

POLL_SECONDS = 0.2
WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"


class Curtain(Exception):
    """Ends an act that is on while the story is closed."""


class Stage:
    """What an act is played on: it tells, waits and looks, and leaves when the story is closed."""

    def __init__(self, tell: Callable[[str], None], halt: threading.Event) -> None:
        self.tell = tell
        self._halt = halt

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        if self._halt.wait(seconds):
            raise Curtain

    def until(self, happened: Callable[[], bool], seconds: float) -> bool:
        """Wait until something has happened, for so long at most; whether it did."""
        for _ in range(round(seconds / POLL_SECONDS)):
            if happened():
                return True
            self.wait(POLL_SECONDS)
        return happened()


@dataclass(frozen=True, slots=True)
class Act:
    """One act.

    Parameters
    ----------
    name
        What it is called in addresses.
    title, text
        What it is about.
    look
        Where in the page to look: the part of the address from # on.
    at
        What is seen there, the text of that link.
    button
        What beginning it does.
    play
        Plays it, and puts everything back.
    """

    name: str
    title: str
    text: str
    look: str
    at: str
    button: str
    play: Callable[[Stage], None]


@dataclass(slots=True)
class _Course:
    """How far an act has come, and what it said."""

    state: str = WAITING
    told: list[str] = field(default_factory=list)


class Story:
    """Acts that are played one at a time, each as often as somebody likes.

    Parameters
    ----------
    acts
        In the order in which they are told.
    opening
        What is still to come before any of them can begin; empty when nothing is.

    Examples
    --------
    >>> greeting = Act("hail", "Hail", "Says hello.", "#/", "the list", "Hail", lambda stage: (
    ...     stage.tell("hello")))
    >>> story = Story([greeting])
    >>> story.begin("hail").join()
    >>> story.as_dict()["acts"][0]["state"], story.as_dict()["acts"][0]["told"]
    ('done', ['hello'])
    """

    def __init__(self, acts: Sequence[Act], opening: str = "") -> None:
        self.acts = tuple(acts)
        self.opening = opening
        self._courses = {act.name: _Course() for act in acts}
        self._lock = threading.Lock()
        self._halt = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, name: str) -> threading.Thread:
        """Begin an act; the thread it is played in."""
        act = next((act for act in self.acts if act.name == name), None)
        if act is None:
            known = ", ".join(self._courses)
            raise Refused(
                "the story has no such act",
                f"{name[:100]!r} is none of {known}",
                "begin one that /v1/story lists",
                status=404,
            )
        with self._lock:
            busy = next((n for n, c in self._courses.items() if c.state == RUNNING), None)
            if busy is not None or self.opening:
                raise Refused(
                    f"the act {name} cannot begin now",
                    self.opening or f"{busy} is being played",
                    "wait for its end, which /v1/story tells",
                    status=409,
                    retry=1.0,
                )
            self._courses[name] = _Course(RUNNING)
            return self._spawn(lambda: self._play(act))

    def play_all(self, pause: float) -> None:
        """Play all acts by themselves, with some seconds before each, in a thread."""
        with self._lock:
            self._spawn(lambda: self._tour(pause))

    def close(self) -> None:
        """End what is being played; what it changed is put back."""
        self._halt.set()
        for thread in self._threads:
            thread.join()

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        with self._lock:
            acts = [
                {
                    "name": act.name,
                    "title": act.title,
                    "text": act.text,
                    "look": act.look,
                    "at": act.at,
                    "button": act.button,
                    "state": self._courses[act.name].state,
                    "told": list(self._courses[act.name].told),
                }
                for act in self.acts
            ]
        return {"opening": self.opening, "acts": acts}

    def _spawn(self, target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, name="streamgauge-story", daemon=True)
        self._threads = [*(old for old in self._threads if old.is_alive()), thread]
        thread.start()
        return thread

    def _tour(self, pause: float) -> None:
        for act in self.acts:
            if self._halt.wait(pause):
                return
            try:
                self.begin(act.name).join()
            except Refused:
                # Somebody has begun one by hand; it is theirs to go on.
                return

    def _play(self, act: Act) -> None:
        course = self._courses[act.name]
        end = FAILED
        try:
            act.play(Stage(course.told.append, self._halt))
            end = DONE
        except Curtain:
            end = WAITING
        except StreamgaugeError as error:
            course.told.append(f"{error.what}: {error.detail}")
        except OSError as error:
            course.told.append(f"it could not go on: {error.strerror or error}")
        finally:
            course.state = end


class ActShape(BaseModel):
    """One act, how far it has come and what it said."""

    name: str
    title: str
    text: str
    look: str
    at: str
    button: str
    state: str
    told: list[str]


class StoryShape(BaseModel):
    """All acts; what is still to come before any can begin."""

    opening: str
    acts: list[ActShape]


async def _told(request: Request) -> Story:
    story: Story = request.app.state.story
    return story


Told = Annotated[Story, Depends(_told)]


@router.get("/story", response_model=StoryShape)
def show(story: Told, _caller: Reader) -> Response:
    """The story and how far it has come."""
    return said(story.as_dict())


@router.post("/story/{name}", status_code=202, response_model=StoryShape)
def begin(name: Name, story: Told, _caller: Author) -> Response:
    """Begin an act; refused while one is being played."""
    story.begin(name)
    return said(story.as_dict(), 202)
