"""Writing statements over HTTP: what is wrong and where, what can come, what a query says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

import streamgauge as sg
from streamgauge.execute.wording import text_of
from streamgauge.language.parse import parse
from streamgauge.log import inbox

pytestmark = pytest.mark.slow

AVERAGE = "SELECT AVG(value) FROM rows [RANGE 2 SECONDS] EVERY 2 SECONDS"


def checked(client: httpx.Client, text: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/check", json={"text": text, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_question_is_foreseen_and_nothing_changes(client: httpx.Client, gauge: sg.Gauge) -> None:
    found = checked(client, AVERAGE, name="mean")
    assert found["problems"] == []
    (said,) = found["statements"]
    assert (said["kind"], said["did"], said["names"]) == ("ask", "registered", ["mean"])
    (query,) = said["queries"]
    assert (query["contract"], query["cadence"]) == ("exact", "every 2 s")
    assert (query["technique"], query["bytes"]) == ("windows of time", 64)
    assert query["plan"].startswith("mean, not registered\nAnswer every 2 s")
    assert inbox.waiting(gauge.home, set()) == []
    assert client.get("/v1/queries/mean").status_code == 404


def test_problems_have_their_places(client: httpx.Client) -> None:
    text = f"-- ü 💧\nSELECT AVG(valeu) FROM rows [NOW];\nSHOW QUERY;\n{AVERAGE}"
    found = checked(client, text)
    unknown, unexpected = found["problems"]
    assert unknown["title"] == "unknown column 'valeu'"
    assert unknown["hint"] == "did you mean value?"
    place = {"line": 2, "column": 12, "offset": text.index("valeu"), "length": 5}
    assert unknown["place"] == place
    assert unexpected["place"]["offset"] == text.index("QUERY")
    assert [said["tried"] for said in found["statements"]] == [False, True]


@pytest.mark.parametrize("text", ["", " -- nothing", "'", '"', "SELECT", "\0", ";;;", "💧", "$x"])
def test_no_text_is_refused(client: httpx.Client, text: str) -> None:
    found = checked(client, text)
    assert all(told["place"]["offset"] <= len(text) for told in found["problems"])


def test_a_script_is_tried_in_its_order(client: httpx.Client) -> None:
    text = "CREATE WINDOW few AS [ROWS 3]; SELECT AVG(value) FROM rows [few]"
    assert checked(client, text)["problems"] == []
    (told,) = checked(client, "CREATE WINDOW newest2 AS [ROW 3]; SELECT value FROM rows [newest2]")[
        "problems"
    ]
    assert told["title"] == "unexpected 'ROW'"


def test_what_reaches_further_is_only_read(guarded: Callable[..., httpx.Client]) -> None:
    streams = "CREATE STREAM s (ts TIME, v FLOAT) FROM PUSH TIME ts; SELECT v FROM s [NOW]"
    found = checked(guarded("reader-0123"), streams)
    assert [said["tried"] for said in found["statements"]] == [False, False]
    assert found["problems"] == []
    tried = checked(guarded("admin-01234"), streams)["statements"]
    assert [said["did"] for said in tried] == ["created stream", "registered"]
    function = "CREATE FUNCTION f AS 'no_such_module:f'"
    assert checked(guarded("admin-01234"), function)["problems"] == []
    assert checked(guarded("reader-0123"), AVERAGE)["statements"][0]["did"] == "registered"


def test_explain_and_show_are_checked_without_being_run(client: httpx.Client) -> None:
    found = checked(client, f"EXPLAIN {AVERAGE}; SHOW ANSWERS OF sites; EXPLAIN nothing")
    assert found["statements"][0]["queries"][0]["plan"]
    assert [told["title"] for told in found["problems"]] == ["no query named 'nothing'"]


def test_errors_of_other_routes_have_places_too(client: httpx.Client) -> None:
    text = f"{AVERAGE};\nSELECT value FROM rwos [NOW]"
    told = client.post("/v1/statements", json={"text": text}).json()
    assert told["place"]["offset"] == text.index("rwos")
    asked = client.post("/v1/queries", json={"name": "x", "text": "SELECT value FORM rows"})
    assert asked.json()["place"] == {"line": 1, "column": 14, "offset": 13, "length": 4}
    assert "place" not in client.get("/v1/queries/nothing").json()


def test_words_that_can_come(client: httpx.Client) -> None:
    sent = {"text": "SELECT si FROM rows", "offset": 9}
    found = client.post("/v1/complete", json=sent).json()
    assert found["from"] == 7
    assert found["words"][0] == {"word": "site", "kind": "column"}
    past = client.post("/v1/complete", json={"text": "DROP QUERY ", "offset": 99}).json()
    assert [item["word"] for item in past["words"]] == ["large", "newest", "sites"]
    known = client.get("/v1/words").json()
    assert {"THROUGHOUT", "SELECT"} <= set(known["words"])
    assert "THROUGHOUT" not in known["reserved"]


@pytest.mark.parametrize("name", ["newest", "sites", "large"])
def test_a_query_is_given_as_text_that_asks_the_same(client: httpx.Client, name: str) -> None:
    said = client.get(f"/v1/queries/{name}/text").json()
    text = f"ALTER QUERY {name} AS {said['text']}"
    (statement,) = checked(client, text)["statements"]
    assert (statement["kind"], statement["did"]) == ("alter query", "unchanged query")


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT SUM(value) FROM rows [PARTITION BY series ROWS 1] WITHIN 5 CONFIDENCE 0.9",
        "SELECT COUNT(DISTINCT series) FROM rows [RANGE 1 MINUTE] EVERY 10 SECONDS",
        "SELECT AVG(value) FROM rows [PARTITION BY series ROWS 1] WHERE series IN ('a') ON CHANGE",
        "SELECT AVG(value * 2) FROM rows [ROWS 9] WHERE NOT (site = 'x' OR value > 3) ON CHANGE",
        "SELECT COUNT(*) FROM rows [RANGE 4 SECONDS SLIDE 2 SECONDS] ON CLOSE FRESH 1 MINUTE",
        "SELECT ISTREAM(series, value) FROM rows [NOW] WHERE value > 2 FROM NOW",
    ],
)
def test_values_are_put_into_words(gauge: sg.Gauge, asked: str) -> None:
    gauge.sql(asked, name="q")
    registry = gauge.trial().registry
    before = registry.query("q").asked
    text = text_of(registry, before)
    assert text is not None
    parse(text)
    gauge.sql(f"ALTER QUERY q AS {text}")
    assert gauge.trial().registry.query("q").asked == before


def test_a_value_without_words_says_so(client: httpx.Client, gauge: sg.Gauge) -> None:
    odd = sg.Query("odd", "rows", sg.avg("value"), series=("a", "b"), weights=(0.5, 2.0))
    gauge.register(odd)
    said = client.get("/v1/queries/odd/text").json()
    assert said["text"] is None
    assert said["question"] == str(odd)


def test_streams_tell_how_far_they_are_behind(
    client: httpx.Client, more: Callable[[int], None]
) -> None:
    more(12)
    more(4)
    (stream,) = client.get("/v1/streams").json()["streams"]
    assert stream["lateness"] == 8.0
    assert (stream["late"], stream["readers"]) == (2, 3)
    assert stream["agents"] == {"heard": 0, "interrupted": 0, "readings": 0, "updates": 0}
    silent = stream["interruption"]
    assert (silent["queries"], silent["since"], silent["interrupted"]) == ([], None, False)
