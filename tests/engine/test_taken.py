"""The offer that was taken for a query stands in the page; a replay chooses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.engine import shard
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.commit import commit
from streamgauge.engine.lander import Lander
from streamgauge.kernel.time import MINUTE
from streamgauge.log.home import Home
from streamgauge.log.inbox import submit
from streamgauge.log.journal import Journal
from streamgauge.operators.aggregate import (
    Aggregate,
    avg,
    count_when,
    distinct,
    maximum,
    quantile,
    top_k,
)
from streamgauge.operators.expression import Expr, column
from streamgauge.plan import bidding
from streamgauge.plan.former_offers import answered_by
from streamgauge.plan.offer import Statistics
from streamgauge.plan.over import Over
from streamgauge.plan.part import Part
from streamgauge.plan.query import Query, every
from streamgauge.plan.registry import Record, Registry, Taken
from streamgauge.plan.seeds import kept_whole
from streamgauge.plan.summary import named_model
from streamgauge.plan.technique import techniques
from streamgauge.promise.promise import Promise
from streamgauge.promise.summary import Summary
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Decay, Range, Rows
from streamgauge.work.across.operator import AcrossOperator
from streamgauge.work.promise.aggregates import AggregateOperator
from streamgauge.work.summaries import offers

pytestmark = pytest.mark.slow

WINDOW = Range("10 s")
PAIR = (column("user"),)
BUDGET = Promise(
    "weighted",
    (Expr("estimate", (Expr("column", value="user"),), "count"),),
    probes=10,
    summaries=(("web", "users"),),
)
ROUGH = Contract.rank(0.1, confidence=0.95)
CLOSE = Contract.relative(0.05, confidence=0.95)


def _across(name: str, op: str) -> Query:
    parts = tuple(Part(stream, WINDOW, PAIR) for stream in ("web", "shop"))
    select = Aggregate("set_size", argument=f"(p0 {op} p1)")
    return Query(name, "web", select, window=WINDOW, parts=parts, contract=ROUGH)


def _on(name: str, select: Aggregate, contract: Contract | None = None, **more: Any) -> Query:
    more.setdefault("window", WINDOW)
    return Query(name, "web", select, contract=contract or Contract.exact(), **more)


SKETCHED = (
    _on("users", distinct("user"), CLOSE),
    _on("late", quantile("v", 0.9), Contract.relative(0.05)),
    _on("top", top_k("user", 3), Contract.rank(0.05), answer=every("10 s")),
    _across("both", "&"),
)
# Each with the technique that is to answer it, and the class whose state answers.
ANSWERED = (
    (_on("mean", avg("v")), "windows of time", "PaneOperator"),
    (_on("newest", avg("v"), window=Rows(5)), "windows of rows", "RingOperator"),
    (
        _on("fading", avg("v"), window=Decay("10 s"), answer=every("10 s")),
        "decaying windows",
        "DecayOperator",
    ),
    (_on("now", avg("v"), window=None), "latest values", "LatestOperator"),
    (
        Query("kept", "plant", avg("v"), contract=Contract.absolute(1.0, confidence=1.0)),
        "source bounds",
        "BoundsOperator",
    ),
    (Query("most", "plant", maximum("v")), "source bounds", "BoundsOperator"),
    (
        _on("rough", avg("v"), Contract.absolute(1.0, confidence=0.9), window=None),
        "deferral",
        "DeferralOperator",
    ),
    (
        _on("largest", avg("v"), window=None, over=Over("max", WINDOW)),
        "deferral",
        "DeferralOperator",
    ),
    (_on("all", distinct("user")), "sketches over windows", "SummaryOperator"),
    (_on("above", count_when("v", ">", "avg")), "sketches over windows", "SummaryOperator"),
    *((query, "sketches over windows", "SummaryOperator") for query in SKETCHED[:3]),
    (_across("both", "&"), "sketches across streams", "AcrossOperator"),
    (_across("any", "|"), "sketches across streams", "AcrossOperator"),
    (_on("few", avg("v"), promise=BUDGET), "aggregates under a work budget", "AggregateOperator"),
)


def _declared(root: Path) -> list[Record]:
    schema = Schema.of(user="string", ts="time", v="float")
    wide = Schema.of(user="string", ts="time", v="float", half="float")
    streams = []
    for name in ("web", "shop", "plant"):
        (root / name).mkdir(exist_ok=True)
        source = (("format", "csv"), ("kind", "files"), ("path", str(root / name)))
        of = {"width": "half"} if name == "plant" else {}
        columns = wide if of else schema
        streams.append(Stream(name, columns, "ts", ("user",), source, **of))
    users = Summary("users", "web", "user", MINUTE)
    return [
        *({"do": "stream", "stream": stream.as_dict()} for stream in streams),
        {"do": "summary", "summary": users.as_dict()},
    ]


def _register(*queries: Query, do: str = "register", **more: Any) -> Record:
    return {"do": do, "queries": [query.as_dict() for query in queries], **more}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    opened = Home.open(tmp_path / "home", shards=1)
    for record in _declared(tmp_path):
        submit(opened, record)
    return opened


@pytest.fixture
def unasked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the queries for which somebody was asked, from here on."""
    asked: list[str] = []
    bids = bidding.bids

    def counted(query: Query, *args: Any) -> Any:
        asked.append(query.name)
        return bids(query, *args)

    monkeypatch.setattr(bidding, "bids", counted)
    return asked


def test_a_replay_chooses_nothing(home: Home, unasked: list[str]) -> None:
    submit(home, _register(*SKETCHED, _on("mean", avg("v")), seed=77))
    submit(
        home,
        _register(
            replace(SKETCHED[0], contract=Contract.relative(0.2, confidence=0.9)), do="alter"
        ),
    )
    lander = Lander(home, max_rows=10)
    assert lander.land() == 1
    assert set(unasked) == {"users", "late", "top", "both", "mean"}
    unasked.clear()
    known = registry_at(home, 1)
    again = Lander(home, max_rows=10)
    again.save_snapshot()
    for replayed in (known, again.registry, registry_at(home, 1)):
        assert replayed.queries == lander.registry.queries
        assert replayed.seed == 77
    assert unasked == []
    kinds = {s.name: json.loads(s.model)[0] for s in known.queries.values() if s.model}
    assert kinds == {
        "users": "hll",
        "late": "log_histogram",
        "top": "space_saving",
        "both": "theta",
    }


def test_a_fresh_process_that_replays_imports_only_what_answers(home: Home) -> None:
    submit(home, _register(SKETCHED[0]))
    Lander(home, max_rows=10).land()
    text = (
        "import sys; from pathlib import Path; from streamgauge.log.home import Home; "
        "from streamgauge.engine.catalog import registry_at; "
        "from streamgauge.plan.summary import named_model; "
        f"r = registry_at(Home.open(Path({home.path!r}), shards=1), 1); "
        "print(named_model(r.queries['users'].model).name, "
        "sorted(m for m in sys.modules if m.startswith('streamgauge.synopses.quantiles')))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "hll []"


def test_another_release_goes_by_what_was_chosen(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(home, _register(SKETCHED[0]))
    Lander(home, max_rows=10).land()
    monkeypatch.setattr(offers, "STANDING", ("theta",))
    assert json.loads(registry_at(home, 1).queries["users"].model)[0] == "hll"
    submit(home, _register(replace(SKETCHED[0], name="more")))
    lander = Lander(home, max_rows=10)
    assert lander.land() == 2
    models = [json.loads(s.model)[0] for s in lander.registry.queries.values()]
    assert models == ["hll", "theta"]


def test_who_writes_pages_decides(home: Home) -> None:
    """Whatever a record in the inbox says was taken."""
    submit(
        home,
        _register(
            SKETCHED[0], taken=[["sketches over windows", '["hll", {"lg_k": 4}, 1]']], born=9
        ),
    )
    lander = Lander(home, max_rows=10)
    assert lander.land() == 1
    (record,) = (c for c in Journal(home).page(1).changes if c["do"] == "register")
    ((technique, model),) = record["taken"]
    assert (technique, record["born"]) == ("sketches over windows", 1)
    assert named_model(model).guarantee.epsilon <= 0.05
    assert lander.registry.queries["users"].born == 1


def test_a_query_that_was_refused_stays_refused_without_a_choice(
    home: Home, unasked: list[str]
) -> None:
    held = _on("held", distinct("user"), CLOSE)
    not_held = _on("not_held", avg("v"), Contract.rank(0.01))
    twice = _on("held", avg("v"))
    submit(home, _register(held, not_held, twice, _on("mean", avg("v"))))
    submit(home, _register(not_held, replace(held, select=avg("v")), do="alter"))
    lander = Lander(home, max_rows=10)
    assert lander.land() == 1
    page = Journal(home).page(1)
    told = [change["taken"] for change in page.changes if "taken" in change]
    assert [[one is not None for one in taken] for taken in told] == [
        [True, False, False, True],
        [False, True],
    ]
    assert len(page.refused) == 3
    unasked.clear()
    assert registry_at(home, 1).queries == lander.registry.queries
    assert unasked == []


def test_pages_and_snapshots_of_earlier_releases_say_less_and_mean_the_same(tmp_path: Path) -> None:
    records = [*_declared(tmp_path), _register(*(query for query, *_ in ANSWERED), seed=5)]
    old, new = Registry(), Registry()
    assert old.apply(records, epoch=1) == []
    decided, refused = new.decide(records, epoch=1)
    assert refused == []
    assert decided[:-1] == records[:-1]
    assert old.queries == new.queries
    assert Registry().apply(decided, epoch=1) == []
    (*declared, asked) = decided
    named = [[_former(one), one.model] for one in asked["taken"]]
    told = Registry()
    assert told.apply([*declared, {**asked, "taken": named}], epoch=1) == []
    assert told.queries == new.queries
    data = new.as_dict()
    assert Registry.from_dict(data).queries == new.queries
    for one, (former, _) in zip(data["queries"], named, strict=True):
        one["technique"] = former
    assert Registry.from_dict(data).queries == new.queries
    for one in data["queries"]:
        del one["technique"]
    assert Registry.from_dict(data).queries == new.queries


def _former(offer: Taken) -> str:
    """The name of an offer as pages had it when offers had names of their own."""
    kept = "kept values" if offer.model and kept_whole(offer.model) else "synopsis"
    names = {
        "source bounds": "filters at the sources",
        "deferral": "deferral",
        "sketches over windows": kept,
        "sketches across streams": "sketch a stream",
        "aggregates under a work budget": "promising strata",
    }
    return names.get(offer.technique, "exact panes")


def test_a_window_that_is_another_now_moves_its_queries(home: Home, unasked: list[str]) -> None:
    submit(home, {"do": "window", "name": "w", "window": WINDOW.as_dict()})
    submit(home, _register(_on("mean", avg("v"), window="w")))
    submit(home, _register(_on("users", distinct("user"), CLOSE, window="w")))
    Lander(home, max_rows=10).land()
    before = registry_at(home, 1).queries
    forged = {"mean": ["sketches over windows", "x"]}
    submit(home, {"do": "window", "name": "w", "window": Rows(5).as_dict(), "taken": forged})
    submit(home, {"do": "window", "name": "w", "window": Range("1 min").as_dict()})
    submit(home, {"do": "drop", "names": ["users"]})
    submit(home, {"do": "window", "name": "w", "window": Rows(5).as_dict(), "taken": forged})
    lander = Lander(home, max_rows=10)
    assert lander.land() == 2
    # Distinct counts are of windows of time: the first change is refused.
    assert len(Journal(home).page(2).refused) == 1
    unasked.clear()
    after = registry_at(home, 2).queries
    assert unasked == []
    assert after == lander.registry.queries
    assert [before["mean"].technique, after["mean"].technique] == [
        "windows of time",
        "windows of rows",
    ]


def test_the_exact_query_that_watches_another_is_told_too(tmp_path: Path) -> None:
    registry = Registry()
    registry.apply(_declared(tmp_path), epoch=1)
    shadow = _on("users.shadow", distinct("user"))
    (record,), refused = registry.decide([{"do": "shadow", "query": shadow.as_dict()}], epoch=2)
    assert refused == []
    assert Taken(*record["taken"][0]).technique == "sketches over windows"


def _work(running: Any) -> dict[str, str]:
    """What really runs for each query: the class that holds its state."""
    found = {}
    for run in running.runs.values():
        for key, standings in run.plan.operators.items():
            for standing in standings:
                found[standing.name] = type(run.state.pieces[key.text()]).__name__
    for operator in running.state.operators.values():
        assert isinstance(operator, (AcrossOperator, AggregateOperator))
        found[operator.compiled.standing.name] = type(operator).__name__
    return found


def test_the_technique_whose_offer_was_taken_is_what_runs(home: Home) -> None:
    submit(home, _register(*(query for query, *_ in ANSWERED)))
    lander = Lander(home, max_rows=10)
    assert lander.land() == 1
    assert Journal(home).page(1).refused == ()
    commit(home, 0, [shard.run(home, 0, 0, 1)], 0.0)
    standings = lander.registry.queries
    runs = _work(shard._RUNNING[home.path, 0])
    expected = {query.name: (technique, ran) for query, technique, ran in ANSWERED}
    assert {name: (standings[name].technique, ran) for name, ran in runs.items()} == expected
    kept = {s.name: s.model for s in standings.values()}
    for query, technique, _ in ANSWERED:
        keeps = technique in ("sketches over windows", "sketches across streams")
        assert bool(kept[query.name]) == keeps
    named = {technique.name for technique in techniques() if not technique.rows}
    assert {technique for _, technique, _ in ANSWERED} == named
    shard.forget(home)


@pytest.mark.parametrize("query", [query for query, *_ in ANSWERED], ids=lambda query: query.name)
def test_what_answers_can_be_told_without_choosing(query: Query) -> None:
    known = Statistics(bounds=query.stream == "plant")
    offer = bidding.taken(query, known)
    assert answered_by(query, offer.model, known) == offer.technique
