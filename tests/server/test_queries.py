"""Standing queries over HTTP: registered, shown, altered, paused, dropped, explained."""

from __future__ import annotations

from urllib.parse import quote

import httpx
import pytest

import streamgauge as sg
from tests.server.conftest import problem, step

pytestmark = pytest.mark.slow

COUNT = "SELECT COUNT(*) FROM rows [RANGE 2 SECONDS] EVERY 2 SECONDS"
MEAN = "SELECT AVG(value) FROM rows [PARTITION BY series ROWS 1]"
TRICKS = (
    "a/b", "../../etc/passwd", "<script>alert(1)</script>", "..%2f..", "a b?c#d", "é'\"", "%",
)  # fmt: skip


def at(name: str, rest: str = "") -> str:
    return f"/v1/queries/{quote(name, safe='')}{rest}"


def register(client: httpx.Client, name: str, text: str = COUNT) -> httpx.Response:
    return client.post("/v1/queries", json={"name": name, "text": text})


def test_queries_are_listed_with_their_newest_answers(client: httpx.Client) -> None:
    page = client.get("/v1/queries").json()
    assert [query["name"] for query in page["queries"]] == ["large", "newest", "sites"]
    newest, sites = page["queries"][1:]
    assert newest["latest"][0]["value"] == 33.0
    assert newest["contract"]["words"] == "exact"
    assert sites["groups"] == 2
    assert page["queries"][0]["text"].startswith("SELECT series, value")
    assert page["next"] is None


def test_a_long_list_comes_in_pages(client: httpx.Client) -> None:
    names, cursor = [], None
    while True:
        params = {"limit": 2} if cursor is None else {"limit": 2, "cursor": cursor}
        page = client.get("/v1/queries", params=params).json()
        names += [query["name"] for query in page["queries"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert names == ["large", "newest", "sites"]
    assert client.get("/v1/queries", params={"search": "arg"}).json()["total"] == 1
    problem(client.get("/v1/queries", params={"limit": 0}), 422)


def test_a_query_is_registered_and_in_force_after_the_next_epoch(
    client: httpx.Client, gauge: sg.Gauge
) -> None:
    response = register(client, "seen")
    assert response.status_code == 201
    assert response.json()["queries"][0]["status"] == "waiting"
    step(gauge)
    shown = client.get(at("seen"))
    assert shown.json()["status"] == "running"
    assert shown.headers["etag"] == '"1"'
    assert problem(register(client, "seen"), 409)["title"] == "query 'seen' exists already"


def test_several_aggregates_become_several_queries(client: httpx.Client) -> None:
    made = register(client, "both", "SELECT MIN(value), MAX(value) FROM rows [RANGE 2 SECONDS]")
    names = [query["name"] for query in made.json()["queries"]]
    assert len(names) == 2
    assert all(name.startswith("both") for name in names)


def test_any_name_has_an_address_and_is_never_a_path(client: httpx.Client, gauge: sg.Gauge) -> None:
    for name in TRICKS:
        assert register(client, name).status_code == 201
    step(gauge)
    for name in TRICKS:
        assert client.get(at(name)).json()["name"] == name
        assert client.get(at(name, "/answers/latest")).status_code == 200
        assert client.delete(at(name), headers={"If-Match": '"1"'}).status_code == 204
        told = problem(client.get(at(name)), 404)
        assert str(gauge.home.root) not in str(told)


def test_an_altered_query_is_a_new_version(client: httpx.Client, gauge: sg.Gauge) -> None:
    problem(client.put(at("newest"), json={"text": MEAN}), 428)
    stale = client.put(at("newest"), json={"text": MEAN}, headers={"If-Match": '"7"'})
    assert "version 1" in problem(stale, 412)["detail"]
    altered = client.put(at("newest"), json={"text": MEAN}, headers={"If-Match": '"1"'})
    assert altered.headers["etag"] == '"2"'
    assert altered.json()["latest"] == [], "answers of version 1 answer another question"
    late = client.put(at("newest"), json={"text": COUNT}, headers={"If-Match": '"1"'})
    problem(late, 412)
    step(gauge)
    assert client.get(at("newest")).json()["status"] == "running"


def test_another_process_is_seen(client: httpx.Client, gauge: sg.Gauge) -> None:
    elsewhere = sg.connect(gauge.home.root, engine="local")
    elsewhere.sql(COUNT, name="elsewhere")
    elsewhere.sql(f"ALTER QUERY newest AS {MEAN}")
    assert client.get(at("elsewhere")).json()["status"] == "waiting"
    stale = client.delete(at("newest"), headers={"If-Match": '"1"'})
    problem(stale, 412)
    assert register(client, "elsewhere").status_code == 409


def test_pause_resume_and_drop(client: httpx.Client, gauge: sg.Gauge) -> None:
    assert client.post(at("newest", "/pause")).status_code == 200
    step(gauge)
    assert client.get(at("newest")).json()["status"] == "paused"
    problem(client.post(at("newest", "/resume"), headers={"If-Match": '"3"'}), 412)
    client.post(at("newest", "/resume"))
    step(gauge)
    assert client.get(at("newest")).json()["status"] == "running"
    problem(client.delete(at("newest")), 428)
    assert client.delete(at("newest"), headers={"If-Match": "*"}).status_code == 204
    problem(client.get(at("newest")), 404)


def test_mistakes_are_told_in_place(client: httpx.Client) -> None:
    told = problem(register(client, "x", "SELECT AVG(valu) FROM rows [RANGE 2 SECONDS]"), 422)
    assert "valu" in told["title"]
    assert "line 1, column 1" in problem(register(client, "x", "SELEC"), 400)["detail"]
    problem(register(client, "x", "SHOW QUERIES"), 422)
    problem(register(client, "x", "SELECT COUNT(*) FROM rows WHERE site = $site"), 422)
    problem(register(client, "", COUNT), 422)
    unknown = client.post("/v1/queries", json={"name": "x", "text": COUNT, "more": 1})
    problem(unknown, 422)
    broken = client.post("/v1/queries", content=b"{", headers={"Content-Type": "application/json"})
    problem(broken, 400)
    half = '{"name": "\\ud800", "text": "SELECT"}'
    problem(client.post("/v1/queries", content=half), 422)
    deep = "SELECT " + "(" * 5000 + "1" + ")" * 5000 + " FROM rows"
    assert register(client, "deep", deep).status_code in (400, 422)


def test_plans(client: httpx.Client) -> None:
    plan = client.get(at("sites", "/plan")).json()["plan"]
    assert "owed exact" in plan
    measured = client.get(at("sites", "/plan"), params={"analyze": True}).json()["plan"]
    assert "measured up to epoch" in measured
    problem(client.get(at("none", "/plan")), 404)
