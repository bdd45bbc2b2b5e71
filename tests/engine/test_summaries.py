"""Standing queries answered from synopses: bars hold beside the exact twin, whatever was cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import streamgauge as sg
from streamgauge.checks.trials import cutoff
from streamgauge.contracts.answer import Answer
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, UnsupportedWindow
from streamgauge.kernel.time import DAY, SECOND, instant
from streamgauge.plan.query import Query
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from tests.kit.replay import replay
from tests.oracles.reference import Arrival, Row

pytestmark = pytest.mark.slow

START = instant("2026-01-01T00:00:00Z")
SCHEMA = Schema.of(host="string", ts="time", user="string", code="int", latency="float")
APPROXIMATE = {
    "slow": (sg.quantile("latency", 0.9), sg.Contract.relative(0.02)),
    "middle": (sg.median("latency"), sg.Contract.rank(0.02, confidence=0.95)),
    "users": (sg.distinct("user"), sg.Contract.relative(0.1, confidence=0.95)),
    "codes": (sg.distinct("code"), sg.Contract.relative(0.1, confidence=0.95)),
    "one": (sg.frequency("user", "u1"), sg.Contract.rank(0.02)),
}


def stream(late: Late) -> Stream:
    return Stream("web", SCHEMA, "ts", ("host",), (), late=late, keep=365 * DAY, future=None)


def rows(n: int, *, back: bool) -> tuple[Row, ...]:
    rng = np.random.default_rng(n)
    times = START + np.sort(rng.integers(0, 90 * SECOND, n))
    if back:
        times = times - np.where(rng.random(n) < 0.02, 7 * SECOND, 0)
    users, hosts = rng.zipf(1.4, n) % 400, rng.integers(0, 3, n)
    latency = np.round(rng.lognormal(3.0, 1.0, n), 3)
    return tuple(
        Row(
            int(times[i]),
            {
                "host": f"h{hosts[i]}",
                "user": None if i % 97 == 0 else f"u{users[i]}",
                "code": int(users[i]) * 1024,
                "latency": float("nan") if i % 101 == 0 else float(latency[i]),
            },
        )
        for i in range(n)
    )


def queries() -> list[Query]:
    windows = {
        "slide": (sg.Range("20 s", slide="5 s"), sg.on_close()),
        "jump": (sg.Range("10 s", slide="10 s"), sg.every("10 s")),
        "all": (sg.Landmark("2026-01-01"), sg.every("15 s")),
        "now": (sg.Now(), sg.on_change()),
    }
    asked = []
    for name, (select, contract) in APPROXIMATE.items():
        for kind, (window, cadence) in windows.items():
            for suffix, owed in (("", contract), ("_exact", sg.Contract.exact())):
                asked.append(
                    Query(
                        f"{name}_{kind}{suffix}",
                        "web",
                        select,
                        window=window,
                        group_by=("host",) if kind == "slide" else (),
                        # On change, the twin would answer at other instants.
                        answer=sg.every("1 s") if kind == "now" else cadence,
                        contract=owed,
                    )
                )
    return asked


def pages(web: Stream, sent: tuple[Row, ...], cuts: int) -> list[Arrival]:
    changes = (
        {"do": "stream", "stream": web.as_dict()},
        {"do": "register", "queries": [query.as_dict() for query in queries()]},
    )
    size = -(-len(sent) // cuts)
    parts = [sent[i : i + size] for i in range(0, len(sent), size)]
    return [Arrival(changes if i == 0 else (), {"web": part}) for i, part in enumerate(parts)]


def answers(path: Path, web: Stream, sent: tuple[Row, ...], **how: int | bool) -> list[Answer]:
    cuts = int(how.pop("cuts", 3))
    return replay(path, web, pages(web, sent, cuts), **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("late", [Late.drop(), Late.revise(20)], ids=["drop", "revise"])
def test_bars_hold_the_exact_answer(tmp_path: Path, late: Late) -> None:
    found = answers(tmp_path, stream(late), rows(4000, back=True))
    keyed = {(a.query, a.group, a.as_of, a.revision): a for a in found}
    judged: dict[str, list[bool]] = {}
    for (query, group, as_of, revision), answer in keyed.items():
        twin = keyed.get((f"{query}_exact", group, as_of, revision))
        if query.endswith("_exact") or twin is None or twin.value is None:
            continue
        assert answer.value is not None
        assert answer.basis != "exact"
        judged.setdefault(query, []).append(answer.low <= twin.value <= answer.high)
    assert len(judged) == 20
    for query, held in judged.items():
        # Neighbouring windows share rows: one group of windows is one trial, at most.
        sure = APPROXIMATE[query.partition("_")[0]][1].confidence
        assert held.count(False) <= cutoff(len(held), 1.0 - sure), query


def test_answers_do_not_depend_on_pages_shards_or_restarts(tmp_path: Path) -> None:
    web, sent = stream(Late.drop()), rows(1500, back=True)
    one = answers(tmp_path / "one", web, sent)
    two = answers(tmp_path / "two", web, sent, cuts=11)
    three = answers(tmp_path / "three", web, sent, cuts=5, shards=3, forget=True)
    plain = [sorted(repr(replace(a, epoch=0)) for a in found) for found in (one, two, three)]
    assert plain[0] == plain[1]
    assert plain[0] == plain[2]


def test_charges_say_who_widened_the_bar(tmp_path: Path) -> None:
    found = answers(tmp_path, stream(Late.drop()), rows(4000, back=True))
    slow = [a for a in found if a.query == "slow_slide" and a.value is not None]
    assert {a.basis for a in slow} == {"log_histogram"}
    assert all(a.charges[0].by == "log_histogram" for a in slow)
    assert any(charge.by == "late rows" for a in slow for charge in a.charges)
    alone = [a for a in slow if len(a.charges) == 1 and a.coverage == 1.0]
    assert alone
    assert all(a.contract_met for a in alone)
    for a in slow:
        assert sum(charge.width for charge in a.charges) == pytest.approx(a.high - a.low)


def test_top_lists_name_items(tmp_path: Path) -> None:
    web, sent = stream(Late.drop()), rows(3000, back=False)
    top = Query(
        "top", "web", sg.top_k("user", 3), window=sg.Range("30 s"), answer=sg.every("30 s"),
        group_by=("host",), contract=sg.Contract.rank(0.01),
    )  # fmt: skip
    changes = (
        {"do": "stream", "stream": web.as_dict()},
        {"do": "register", "queries": [top.as_dict()]},
    )
    found = replay(tmp_path, web, [Arrival(changes, {"web": sent})])
    assert found
    for answer in found:
        host, user = answer.group
        inside = [
            row.values["user"]
            for row in sent
            if answer.as_of - 30 * SECOND < row.ts <= answer.as_of and row.values["host"] == host
        ]
        assert answer.low <= inside.count(user) <= answer.high
        listed = [a.value for a in found if a.group[0] == host and a.as_of == answer.as_of]
        assert len(listed) == 3
        assert listed == sorted(listed, reverse=True)
        counts = sorted((inside.count(u) for u in set(inside) - {None}), reverse=True)
        # A list of three cannot miss an item that is heavier than all of its bars.
        assert counts[0] <= max(a.high for a in found if a.group[0] == host)


def test_what_cannot_be_held_is_refused(tmp_path: Path) -> None:
    with sg.connect(tmp_path / "home", engine="local") as gauge:
        (tmp_path / "in").mkdir()
        source = sg.files(tmp_path / "in")
        gauge.stream("web", source=source, key="host", time="ts", schema=SCHEMA)

        def ask(select: object, **given: object) -> None:
            asked: dict[str, object] = {"window": sg.Range("10 s"), **given}
            gauge.register(Query("q", "web", select, **asked))  # type: ignore[arg-type]

        with pytest.raises(ContractUnsatisfiable, match="no sketch holds Distinct"):
            ask(sg.distinct("user"), contract=sg.Contract.relative(0.01))
        with pytest.raises(UnsupportedWindow, match="needs a window of time"):
            ask(sg.median("latency"), window=sg.Rows(10))
        with pytest.raises(BindError, match="not a number"):
            ask(sg.median("user"))
        with pytest.raises(BindError, match="does not take"):
            ask(sg.quantile("latency", 1.5))
        with pytest.raises(BindError, match="whole lists"):
            ask(sg.top_k("user", 3))
        with pytest.raises(ContractUnsatisfiable, match="no rank"):
            ask(sg.avg("latency"), contract=sg.Contract.rank(0.01))
