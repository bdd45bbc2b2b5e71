"""Sinks in the language: written, read back, and what has no meaning."""

from __future__ import annotations

import pytest

from streamgauge.kernel.errors import ParseError
from streamgauge.language.parse import parse
from streamgauge.language.render import render
from streamgauge.language.statements import Change, CreateSink, Show

KAFKA = ("kafka", "h:9092", "t")
POSTGRES = ("postgres", "postgresql://u@h/d", "s.t")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "create sink out on heat, cold deliver to kafka 'h:9092' topic 't' format json",
            CreateSink("out", ("heat", "cold"), KAFKA),
        ),
        (
            "CREATE OR REPLACE SINK out ON ALL DELIVER TO POSTGRES 'postgresql://u@h/d' "
            "TABLE 's.t' WITH HISTORY",
            CreateSink("out", (), POSTGRES, history=True, replace=True),
        ),
        (
            "CREATE SINK sink ON \"all\", sinks DELIVER TO KAFKA 'h:9092' TOPIC 't'",
            CreateSink("sink", ("all", "sinks"), KAFKA),
        ),
        (
            "CREATE SINK out ON heat DELIVER TO KAFKA 'h:9092' TOPIC 't' USER 'ann' "
            "PASSWORD ENV 'P' CA 'ca.pem' MECHANISM 'SCRAM-SHA-512' WITH HISTORY",
            CreateSink(
                "out",
                ("heat",),
                KAFKA,
                (
                    ("user", "ann"),
                    ("password_env", "P"),
                    ("ca", "ca.pem"),
                    ("mechanism", "SCRAM-SHA-512"),
                ),
                history=True,
            ),
        ),
        ("DROP SINK a, b", Change("drop", "sink", ("a", "b"))),
        ("SHOW SINKS", Show("sinks")),
    ],
)
def test_what_is_written_is_read_and_rendered(text: str, said: object) -> None:
    found = parse(text)
    assert found == said
    assert parse(render(found)) == found


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("CREATE SINK a ON q, q DELIVER TO KAFKA 'h:1' TOPIC 't'", "written twice"),
        ("CREATE SINK a ON q DELIVER TO KAFKA 'h:1' TOPIC 't' FORMAT avro", "not written as avro"),
        ("CREATE SINK a ON q DELIVER TO KAFKA 'h:1' TABLE 't'", "unexpected 'TABLE'"),
        ("CREATE SINK a ON q", "unexpected end"),
        ("CREATE SINK a ON q DELIVER TO KAFKA 'h:1' TOPIC 't' CA 'a' CA 'b'", "written twice"),
    ],
)
def test_what_has_no_meaning_is_refused_in_place(text: str, what: str) -> None:
    with pytest.raises(ParseError, match=what) as caught:
        parse(text)
    assert "line 1" in caught.value.detail
