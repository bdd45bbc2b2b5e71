"""Where readings come from: lines cut anywhere, files that move, this machine, simulations."""

from __future__ import annotations

import math
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.edge.dice import Dice
from streamgauge.edge.readings import Iterated, Reading, open_readings
from streamgauge.edge.readings_host import HostReadings, PsutilCounters
from streamgauge.edge.readings_lines import LONGEST, Lines, Piped
from streamgauge.edge.readings_simulated import BAD, Tag, Tags, Walks, plant_tags
from streamgauge.edge.readings_tail import Tail
from streamgauge.kernel.errors import BindError

pytestmark = pytest.mark.slow

TEXT = {
    "text": b"a/x 1\nb 2.5 1970-01-01T00:00:03Z\n\nbad\nc nan\nd -1e3 7\n",
    "json": b'{"key":"a/x","value":1}\n{"key":["b"],"value":2.5,"time":3}\n\n{"key":1}\n'
    b'{"key":"c","value":null}\n{"key":"d","value":-1e3,"time":"7"}\n',
    "csv": b"object,value,time\na/x,1,\nb,2.5,1970-01-01T00:00:03Z\n\nbad,row\nc,,\nd,-1e3,7\n",
}
TIMES = [None, 3_000_000, None, 7_000_000]


def plain(found: list[Reading]) -> list[tuple[str, str, int | None]]:
    """Readings in one way of writing."""
    names = [
        key.decode() if isinstance(key, bytes) else key if isinstance(key, str) else "/".join(key)
        for key, _, _ in found
    ]
    return [(name, str(row[1]), row[2]) for name, row in zip(names, found, strict=True)]


@pytest.mark.parametrize("form", TEXT)
@given(cuts=st.lists(st.integers(0, 200), max_size=8))
def test_lines_are_the_same_however_they_are_cut(form: str, cuts: list[int]) -> None:
    data, lines, found = TEXT[form], Lines(form), []
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for low, high in pairwise(edges):
        found += lines.take(data[low:high])
    values = ["1.0", "2.5", "nan", "-1000.0"]
    assert plain(found) == list(zip(["a/x", "b", "c", "d"], values, TIMES, strict=True))
    assert lines.bad == 1


@given(st.binary(max_size=300))
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_bytes_break_the_lines(form: str, data: bytes) -> None:
    lines = Lines(form)
    for _, value, told in lines.take(data) + lines.end():
        assert isinstance(value, float)
        assert told is None or isinstance(told, int)


def test_a_line_without_end_is_dropped() -> None:
    lines = Lines("text")
    assert lines.take(b"x" * (LONGEST + 1)) == []
    assert lines.bad == 1


def test_a_head_of_csv_must_name_the_value() -> None:
    with pytest.raises(BindError, match="without a value"):
        Lines("csv").take(b"host,rate\na,1\n")


def test_a_time_that_is_none_makes_a_bad_line() -> None:
    for form, data in (("text", b"a 1 noon\n"), ("csv", b"key,value,time\na,1,noon\n")):
        lines = Lines(form)
        assert lines.take(data) == []
        assert lines.bad == 1


def test_a_pipe_is_read_as_it_fills_and_to_its_end() -> None:
    out, into = os.pipe()
    piped = Piped(out)
    assert piped.read(0.0) == []
    os.write(into, b"a 1\nb 2")
    assert piped.read(10.0) == [(b"a", 1.0, None)]
    os.close(into)
    assert piped.read(10.0) == [(b"b", 2.0, None)], "the last line needs no end"
    assert piped.read(10.0) is None
    piped.close()
    os.close(out)


def drained(tail: Tail) -> list[float]:
    """Values until nothing more is there."""
    found: list[float] = []
    silent = 0
    while silent < 3:
        batch = tail.read(0.0)
        assert batch is not None
        silent = 0 if batch else silent + 1
        found += [value for _, value, _ in batch]
    return found


def test_a_tail_follows_appends_rotation_and_truncation(tmp_path: Path) -> None:
    path = tmp_path / "rates"
    path.write_text("a 1\n")
    tail = Tail(path)
    assert drained(tail) == [], "what was there before does not count"
    with path.open("a") as file:
        file.write("a 2\na 3")
    assert drained(tail) == [2.0]
    with path.open("a") as file:
        file.write("3\n")
    assert drained(tail) == [33.0]
    with path.open("a") as file:
        file.write("a 4\n")
    path.rename(tmp_path / "rates.1")
    path.write_text("a 5\n")
    assert drained(tail) == [4.0, 5.0], "the old file is read to its end first"
    path.write_text("a 6\n")
    assert drained(tail) == [6.0], "cut, and written to the same length"
    path.touch()
    assert drained(tail) == [], "touched, not written"
    path.write_text("")
    drained(tail)
    path.write_text("a 7\n")
    assert drained(tail) == [7.0]
    tail.close()


def test_a_tail_waits_for_its_file_and_may_begin_at_its_start(tmp_path: Path) -> None:
    path = tmp_path / "rates"
    tail = Tail(path)
    assert drained(tail) == []
    path.write_text("a 1\nnonsense\n")
    assert drained(tail) == [1.0], "a file that came later is read from its start"
    path.unlink()
    assert drained(tail) == []
    assert tail.bad == 1
    tail.close()
    path.write_text("a 1\na 2\n")
    whole = Tail(path, from_start=True)
    assert drained(whole) == [1.0, 2.0]
    whole.close()


def proc(directory: Path, busy: int, idle: int, received: int) -> None:
    (directory / "net").mkdir(exist_ok=True)
    (directory / "stat").write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 1 1 1\n")
    (directory / "loadavg").write_text("0.50 0.40 0.30 1/100 12345\n")
    (directory / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n")
    (directory / "net" / "dev").write_text(
        "Inter-|   Receive |  Transmit\n face |bytes packets\n"
        f"  eth0: {received} 10 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n"
    )


def test_the_host_tells_levels_at_once_and_rates_from_the_second_reading(tmp_path: Path) -> None:
    now = [0.0]
    proc(tmp_path, 100, 900, 1_000)
    host = HostReadings("web1", 2.0, proc=tmp_path, clock=lambda: now[0])
    first = host.read(0.0)
    assert first == [(("web1", "load"), 0.5, None), (("web1", "memory"), 75.0, None)]
    assert host.read(0.0) == [], "not before its time"
    now[0] = 2.0
    proc(tmp_path, 130, 970, 3_000)
    found = {key[1]: value for key, value, _ in host.read(0.0) or []}
    assert found["cpu"] == 30.0
    assert found["eth0.in"] == 1_000.0
    assert found["eth0.packets_out"] == 0.0
    now[0] = 4.0
    proc(tmp_path, 130, 970, 10)
    third = {key[1] for key, _, _ in host.read(0.0) or []}
    assert "eth0.in" not in third, "a counter that began anew has no rate"
    host.close()


def test_this_machine_tells_about_itself() -> None:
    host = open_readings("host?name=me&every=10ms")
    names = {key[1] for key, value, _ in host.read(1.0) or [] if math.isfinite(value)}
    assert {"load", "memory"} <= names
    host.close()


def test_psutil_tells_the_same_things() -> None:
    pytest.importorskip("psutil")
    levels, counters = PsutilCounters(Path("/nowhere"))()
    assert {"load", "memory"} == levels.keys()
    assert {"busy", "time"} <= counters.keys()


def test_walks_are_the_same_for_a_seed_and_follow_the_asked_period() -> None:
    now = [0.0]
    one, two = (Walks(3, seed=5, clock=lambda: now[0]) for _ in range(2))
    for second in range(5):
        now[0] = float(second)
        assert one.read(0.0) == two.read(0.0) != []
    one.period = 10.0
    now[0] = 6.0
    assert one.read(0.0) == []
    assert two.read(0.0)


def test_dice_look_random() -> None:
    # Mean and mean square of 40,000 standard normal draws: six deviations, false alarm 4e-9 each.
    dice = Dice(11)
    draws = [dice.normal() for _ in range(40_000)]
    assert abs(sum(draws)) / len(draws) < 6 / math.sqrt(len(draws))
    squares = sum(draw * draw for draw in draws) / len(draws)
    assert abs(squares - 1.0) < 6 * math.sqrt(2 / len(draws))


def test_tags_have_their_own_intervals_types_and_quality() -> None:
    now = [0.0]
    tags = Tags(plant_tags(15, 1.0), seed=3, clock=lambda: now[0])
    seen: dict[str, list[float]] = {}
    for second in range(2_000):
        now[0] = float(second)
        for key, value, _ in tags.read(0.0) or []:
            seen.setdefault(str(key), []).append(value)
    assert len(seen) == 15
    for name, values in seen.items():
        good = [value for value in values if not math.isnan(value)]
        if ".int" in name:
            assert all(value == round(value) for value in good)
        if ".bool" in name:
            assert set(good) == {0.0, 1.0}
    assert any(math.isnan(value) for values in seen.values() for value in values)


def test_a_tag_within_its_deadband_is_silent_and_a_bad_one_says_so_once() -> None:
    tag, dice = Tag("level", sigma=0.01, deadband=1.0), Dice(1)
    assert tag.step(dice) is not None
    assert [tag.step(dice) for _ in range(20)] == [None] * 20
    tag.quality = BAD
    said = [tag.step(dice) for _ in range(2)]
    assert said[0] is not None
    assert math.isnan(said[0])


def test_an_iterable_is_read_in_batches() -> None:
    source = Iterated([("a", float(number)) for number in range(5)], most=2)
    sizes = []
    while (batch := source.read(0.0)) is not None:
        sizes.append(len(batch))
    assert sizes == [2, 2, 1]
    source.close()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("pigeon:post", "no readings of kind"),
        ("stdin?format=xml", "no lines of format"),
        ("stdin?colour=red", "an option that stdin does not have"),
        ("tail:", "no file"),
        ("simulate:jump", "no simulation"),
        ("simulate:walk?n=many", "a number that is none"),
        ("simulate:walk?n=0", "of no size"),
        ("mqtt://127.0.0.1", "without a topic"),
        ("mqtt://127.0.0.1/a/+?key=all", "no such key"),
        ("host?every=often", "not a duration"),
    ],
)
def test_a_source_that_is_none_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(BindError, match=problem):
        open_readings(text)
