"""A live answer follows its query, and says when it no longer does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.audit.report import read
from streamgauge.checks.waiting import wait_until
from streamgauge.notebook import live as module
from streamgauge.notebook.bundle import bundle

pytestmark = pytest.mark.slow

SCHEMA = sg.Schema.of(ts="time", room="string", x="float")
SUM = "SELECT SUM(x) FROM s [SINCE '2026-01-01'] EVERY 1 SECOND"
BY_ROOM = "SELECT room, SUM(x) FROM s [SINCE '2026-01-01'] GROUP BY room EVERY 1 SECOND"


class Scene:
    """A gauge that hears what is written."""

    def __init__(self, place: Path) -> None:
        self.rows = place / "rows"
        self.rows.mkdir()
        self.gauge = sg.connect(place / "home", engine="local")
        source = sg.files(self.rows, "csv")
        self.gauge.stream("s", source=source, time="ts", schema=SCHEMA)
        self.gauge.sql(f"CREATE QUERY heat AS {SUM}; CREATE QUERY rooms AS {BY_ROOM};")
        self.gauge.sql("CREATE QUERY hot AS SELECT x FROM s [NOW] WHERE x > 3")
        self.second = 0

    def hear(self, *values: float) -> None:
        lines = [
            f"2026-01-01T00:00:{self.second:02d}Z,room-{place},{value}\n"
            for place, value in enumerate(values)
        ]
        partial = self.rows.parent / "partial"
        partial.write_text("ts,room,x\n" + "".join(lines))
        partial.replace(self.rows / f"{self.second:02d}.csv")
        self.second += 1
        self.gauge.advance("s", f"2026-01-01T00:00:{self.second:02d}Z")

    def run(self) -> None:
        while self.gauge.step():
            pass


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.gauge.stop()
    assert not [one for one in threading.enumerate() if one.name == "streamgauge-live"]


def widget(live: sg.LiveAnswer) -> Any:
    return live._widget


def test_it_follows_a_gauge_that_is_turned_by_hand(scene: Scene) -> None:
    scene.hear(2.0)
    scene.run()
    with sg.LiveAnswer(scene.gauge, "heat") as live:
        assert [answer.value for answer in live.answers] == [2.0]
        scene.hear(3.0)
        scene.run()
        wait_until(lambda: live.answers[0].value == 5.0, 60)
        (line,) = widget(live).lines
        assert [point["value"] for point in line["recent"]] == [2.0, 5.0]
        assert line["answer"] == live.answers[0].as_dict()
        assert widget(live).state == "live"
    assert not live.following
    assert widget(live).state == "stopped"


def test_it_ends_with_the_gauge_and_shows_its_last_answer(scene: Scene) -> None:
    scene.gauge.start()
    live = sg.LiveAnswer(scene.gauge, "heat")
    assert "no answer yet" in live._repr_html_()
    # The thread has seen the gauge run once it shows what the gauge gave.
    scene.hear(1.0)
    wait_until(lambda: len(live.answers) == 1, 60)
    scene.hear(4.0)
    scene.gauge.drain()
    scene.gauge.stop()
    wait_until(lambda: not live.following, 60)
    assert widget(live).state == "the gauge stopped"
    assert live.answers[0].value == 5.0


def test_each_group_has_a_line_and_the_rest_is_counted(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GROUPS", 2)
    scene.hear(1.0, 2.0, 3.0)
    scene.run()
    with sg.LiveAnswer(scene.gauge, "rooms") as live:
        assert {answer.group: answer.value for answer in live.answers} == {
            ("room-0",): 1.0, ("room-1",): 2.0, ("room-2",): 3.0,
        }  # fmt: skip
        assert len(widget(live).lines) == 2
        assert widget(live).more == 1
        assert live._repr_html_().count("<svg") == 3


def test_a_job_that_fails_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_given: object, **_named: object) -> Iterator[sg.Answer]:
        raise sg.StreamgaugeError("the job stopped", "no room", "make room")

    monkeypatch.setattr(scene.gauge, "subscribe", failing)
    live = sg.LiveAnswer(scene.gauge, "heat")
    wait_until(lambda: not live.following, 60)
    assert widget(live).state == "the job stopped"


def test_without_widgets_the_newest_answer_is_shown(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.hear(2.0)
    scene.run()
    with sg.LiveAnswer(scene.gauge, "heat") as live:
        shown = live._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    monkeypatch.setattr(module, "Drawn", None)
    with sg.LiveAnswer(scene.gauge, "heat") as live:
        shown = live._repr_mimebundle_()
    assert shown == {"text/plain": "LiveAnswer('heat')", "text/html": live._repr_html_()}
    assert "<svg" in shown["text/html"]


def test_a_name_that_looks_like_markup_is_shown_as_text(scene: Scene) -> None:
    scene.gauge.register(sg.Query("<b>heat</b>", "s", sg.total("x"), window=sg.Range("1 s")))
    with sg.LiveAnswer(scene.gauge, "<b>heat</b>") as live:
        waiting = live._repr_html_()
    assert "&lt;b&gt;heat&lt;/b&gt;" in waiting
    assert "<b>" not in waiting


def test_rows_and_unknown_names_are_refused(scene: Scene) -> None:
    with pytest.raises(sg.StreamgaugeError, match="query 'hot' answers rows"):
        sg.LiveAnswer(scene.gauge, "hot")
    with pytest.raises(sg.StreamgaugeError, match="warmth"):
        sg.LiveAnswer(scene.gauge, "warmth")


def test_all_that_a_gauge_gives_is_drawn(scene: Scene) -> None:
    scene.hear(2.0)
    scene.run()
    gauge: Any = scene.gauge
    assert "all queries" in read(gauge.home)._repr_html_()
    assert "rows per second" in gauge.progress()._repr_html_()
    assert "Scan s" in gauge.explain("heat")._repr_html_()
    assert "<svg" in gauge.latest()._repr_html_()
    assert "x &gt; 3" in gauge.registry().query("hot").asked._repr_html_()
    assert "sum(x)" in gauge.registry().query("heat").asked._repr_html_()


def test_the_bundle_is_one_module_without_imports() -> None:
    text = bundle("widget.js")
    assert not [line for line in text.splitlines() if line.startswith("import")]
    assert text.count("export") == 1
    order = [text.index(f"const {name}_js") for name in ("dom", "numbers", "bar", "widget")]
    assert order == sorted(order)
