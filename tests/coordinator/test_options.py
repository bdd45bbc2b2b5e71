"""Options of a coordinator and tokens of its agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.coordinator.options import Address, Options
from streamgauge.coordinator.tokens import Tokens
from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.time import SECOND
from streamgauge.sources.declare import agents
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from tests.coordinator.world import STREAM

pytestmark = pytest.mark.slow


def test_what_a_source_declares_is_what_is_read() -> None:
    source = dict(agents("http://127.0.0.1:0", latency="2 s", beat="500 ms").as_pairs())
    options = Options.from_source(source)
    assert options.listen == Address("http", "127.0.0.1", 0)
    assert (options.latency, options.beat, options.adjust) == (2 * SECOND, SECOND // 2, 10 * SECOND)
    assert options.silence == 2 * SECOND
    assert options.wait == 2 * SECOND


def test_with_rates_ticks_do_not_wait() -> None:
    options = Options.from_source({"kind": "edge", "rates": {"*": 2}})
    assert (options.padded, options.wait, options.rates) == (True, 0, {"*": 2.0})


def test_absent_options_are_the_defaults() -> None:
    assert Options.from_source({"kind": "edge", "broker": None}) == Options()
    assert Options.of(STREAM) == Options()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"listen": "ftp://host"}, "as an address"),
        ({"listen": "http://host:port"}, "as an address"),
        ({"broker": "http://host"}, "as an address"),
        ({"beat": "0 s"}, "beat of a coordinator must be positive"),
        ({"rates": {"a": -1}}, "rates must be numbers"),
        ({"rates": ["a"]}, "rates must be numbers"),
        ({"listen": "https://127.0.0.1:0"}, "needs a certificate"),
    ],
)
def test_what_does_not_fit_is_said(given: dict[str, object], what: str) -> None:
    with pytest.raises(BindError, match=what):
        Options.from_source({"kind": "edge", **given})


def test_a_file_that_is_not_there_is_said() -> None:
    with pytest.raises(SourceFailure, match="no file for 'tokens'"):
        Options.from_source({"tokens": "/nowhere/tokens"})


def test_a_stream_of_files_has_no_coordinator() -> None:
    schema = Schema.of(a="string", ts="time", v="float")
    with pytest.raises(BindError, match="not fed by agents"):
        Options.of(Stream("files", schema, "ts", ("a",), (("kind", "files"),)))


def test_tokens_are_read_from_lines(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("# ours\n\nfirst-token\nsecond-token pump-* boiler\n")
    tokens = Tokens.read(path)
    assert tokens.allows("first-token", "anyone")
    assert tokens.allows("second-token", "boiler")
    assert not tokens.allows("second-token", "host")
    assert not tokens.knows("third-token")
    assert not tokens.knows(None)
    assert not tokens.knows("höchst geheim")
    assert Tokens.read(None).allows(None, "anyone")


@pytest.mark.parametrize(("text", "what"), [("", "no token"), ("short\n", "too short")])
def test_tokens_that_protect_nothing_are_refused(text: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(BindError, match=what):
        Tokens.read(path)
