"""Queries about network traffic from the papers: run, restarted, held against the reference.

Here are the three of a provider's links, the three of router streams, and the five of hosts.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import MINUTE, SECOND
from streamgauge.streams.schema import Schema
from tests.engine.stage import Stage, at, rows_of
from tests.oracles.reference import Row
from tests.oracles.rows import relation

pytestmark = pytest.mark.slow

PACKETS = Schema.of(ts="time", saddr="string", daddr="string", id="int", length="int")
N_PAGES = 4


def link(seed: int, n: int, seconds: int, *, hosts: int = 8) -> list[Row]:
    """Packets of a link; a few pairs send most."""
    dice = np.random.default_rng(seed)
    times = np.sort(dice.integers(0, seconds * 4, n)) / 4
    ends = dice.zipf(1.5, (n, 2)) % hosts
    lengths = dice.choice([40, 576, 1500], n, p=[0.5, 0.25, 0.25])
    return [
        Row(at(float(t)), {"saddr": f"h{a}", "daddr": f"h{b}", "id": i, "length": int(size)})
        for i, (t, (a, b), size) in enumerate(zip(times, ends, lengths, strict=True))
    ]


def customer(backbone: list[Row], share: float) -> list[Row]:
    """The packets of a link that were seen on another one a moment before."""
    dice = np.random.default_rng(1)
    seen = [row for row in backbone if dice.random() < share]
    delays = dice.integers(0, 3 * SECOND, len(seen))
    moved = [Row(row.ts - int(d), row.values) for row, d in zip(seen, delays, strict=True)]
    return sorted((row for row in moved if row.ts >= at(0)), key=lambda row: row.ts)


# A provider's links


@pytest.mark.parametrize("shards", [1, 3])
def test_the_load_of_each_minute(tmp_path: Path, shards: int) -> None:
    stage = Stage(tmp_path, shards)
    stage.stream("pt_b", PACKETS)
    stage.gauge.sql("""
        CREATE QUERY window_form AS
        SELECT SUM(length) AS load FROM pt_b [RANGE 1 MINUTE SLIDE 1 MINUTE]
        HAVING SUM(length) > 9000;
        CREATE QUERY by_minute AS
        SELECT getminute(ts) AS minute, SUM(length) AS load FROM pt_b
        GROUP BY getminute(ts) HAVING SUM(length) > 9000 EVERY 1 MINUTE;
        CREATE QUERY at_once AS
        SELECT getminute(ts) AS minute, SUM(length) AS load FROM pt_b
        GROUP BY getminute(ts) HAVING SUM(length) > 9000;
    """)
    rows = link(1, 150, 480)
    stage.pages_of(N_PAGES, pt_b=rows)
    stage.advance(600)
    stage.check("window_form", "by_minute", "at_once")
    loads: Counter[int] = Counter()
    for row in rows:
        loads[row.ts // MINUTE] += row.values["length"]
    loud = Counter((minute, load) for minute, load in loads.items() if load > 9000)
    assert 2 < len(loud) < len(loads)
    assert stage.held("by_minute") == stage.held("at_once") == loud


def test_the_threshold_of_an_alarm_can_be_changed(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.stream("pt_b", PACKETS)
    text = """QUERY alarm AS SELECT getminute(ts) AS minute, SUM(length) AS load FROM pt_b
              GROUP BY getminute(ts) HAVING SUM(length) > {}"""
    stage.gauge.sql("CREATE " + text.format(9000))
    rows = link(1, 150, 480)
    stage.page(pt_b=rows[:80])
    stage.gauge.sql("ALTER " + text.format(4000))
    stage.page(pt_b=rows[80:])
    stage.advance(600)
    view = stage.gauge.registry().query("alarm").view
    world = stage.world(view)
    assert stage.held("alarm") == relation(view.plan, world, world.closed() or 0)
    assert {load > 9000 for _, load in stage.held("alarm")} == {True, False}


def test_the_share_of_a_customer(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 2)
    for name in ("pt_c", "pt_b"):
        stage.stream(name, PACKETS)
    share = """
        SELECT (SELECT COUNT(*) FROM pt_c [RANGE {0}] AS c, pt_b [RANGE {0}] AS b
                WHERE c.saddr = b.saddr AND c.daddr = b.daddr AND c.id = b.id)
               / COUNT(*) AS share FROM pt_b [RANGE {0}]
    """
    stage.gauge.sql(f"""
        CREATE QUERY share AS {share.format("10 MINUTES")};
        CREATE QUERY lately AS {share.format("20 SECONDS")};
        CREATE QUERY now_and_then AS {share.format("20 SECONDS")} EVERY 10 SECONDS;
    """)
    backbone = link(2, 50, 70)
    seen = customer(backbone, 0.3)
    stage.pages_of(N_PAGES, pt_c=seen, pt_b=backbone)
    stage.advance(300)
    stage.check("share", "lately", "now_and_then")
    (row,) = stage.held("share")
    assert row == (pytest.approx(len(seen) / len(backbone)),)


def test_the_packets_of_a_customer_within_an_error(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 2)
    for name in ("pt_c", "pt_b"):
        stage.stream(name, PACKETS)
    stage.gauge.sql("""
        CREATE QUERY met AS
        SELECT COUNT(*) AS n FROM pt_c [RANGE 1 MINUTE] AS c, pt_b [RANGE 1 MINUTE] AS b
        WHERE c.saddr = b.saddr AND c.daddr = b.daddr AND c.id = b.id
        EVERY 20 SECONDS WITHIN 10 PERCENT RANK CONFIDENCE 99.99%
    """)
    backbone = link(2, 2000, 120)
    seen = customer(backbone, 0.3)
    stage.pages_of(N_PAGES, pt_c=seen, pt_b=backbone)
    stage.advance(150)
    given = stage.numbers("met")
    truths, pairs = {}, {}
    for when in {answer.as_of for answer in given}:
        links = [
            {row.values["id"] for row in rows if when - MINUTE < row.ts <= when}
            for rows in (seen, backbone)
        ]
        truths[when] = float(len(links[0] & links[1]))
        pairs[when] = len(links[0]) * len(links[1])
    check_bars(given, truths, pairs)
    assert max(answer.high - answer.low for answer in given) > 0


HEAVY = """
    WITH load AS (SELECT saddr, daddr, SUM(length) AS traffic FROM pt_b {} GROUP BY saddr, daddr)
    SELECT saddr, daddr, traffic FROM load AS l1
    WHERE (SELECT COUNT(*) FROM load AS l2 WHERE l2.traffic < l1.traffic)
        > (SELECT 0.95 * COUNT(*) FROM load)
    ORDER BY traffic
"""


def test_the_heaviest_pairs(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 2)
    stage.stream("pt_b", PACKETS)
    stage.gauge.sql(f"""
        CREATE QUERY always AS {HEAVY.format("")};
        CREATE QUERY lately AS {HEAVY.format("[RANGE 40 SECONDS]")};
        CREATE QUERY refreshed AS {HEAVY.format("")} EVERY 10 SECONDS;
        CREATE QUERY stored AS {HEAVY.format("")} EVERY 1 SECOND EMIT STORE;
    """)
    rows = link(3, 100, 80, hosts=13)
    stage.pages_of(N_PAGES, pt_b=rows)
    stage.advance(200)
    stage.check("always", "refreshed", "lately")
    load: Counter[tuple[str, str]] = Counter()
    for row in rows:
        load[row.values["saddr"], row.values["daddr"]] += row.values["length"]
    assert len(load) > 20
    heavy = [
        (*pair, n) for pair, n in load.items()
        if sum(other < n for other in load.values()) > 0.95 * len(load)
    ]  # fmt: skip
    assert heavy
    given = stage.gauge.rows("always").to_pylist()
    assert [tuple(row.values()) for row in given] == sorted(heavy, key=lambda row: row[2])
    assert stage.held("stored") == Counter(heavy)


def test_no_pair_of_twenty_is_among_the_top_five_percent(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.stream("pt_b", PACKETS)
    stage.gauge.sql(f"CREATE QUERY heavy AS {HEAVY.format('')}")
    cells = [(i, "a", f"b{i}", i, 100 + i) for i in range(21)]
    names = "saddr daddr id length"
    stage.page(pt_b=rows_of(names, *cells[:20]))
    stage.advance(20.5)
    assert stage.held("heavy") == Counter()
    stage.page(pt_b=rows_of(names, (21, *cells[20][1:])))
    stage.advance(30)
    assert stage.held("heavy") == Counter({("a", "b20", 120): 1})
    stage.check("heavy")


# Router streams

ROUTERS = ("r1", "r2", "r3")
PAIRS = "SELECT DISTINCT saddr, daddr FROM {} [RANGE 60 SECONDS]"
SETS = f"""
    SELECT COUNT(*) AS n FROM (
        ({PAIRS.format("r1")} INTERSECT {PAIRS.format("r2")}) EXCEPT {PAIRS.format("r3")})
"""
JOINED = """
    SELECT COUNT(*) AS n FROM r1 [RANGE 60 SECONDS], r2 [RANGE 60 SECONDS]
    WHERE r1.saddr = r2.daddr
"""
TOP = """
    SELECT saddr, daddr, COUNT(*) AS frequency FROM r1 [RANGE 60 SECONDS]
    GROUP BY saddr, daddr ORDER BY COUNT(*) DESC LIMIT 10
"""


def routers(
    tmp_path: Path, shards: int, n_rows: int, text: str
) -> tuple[Stage, dict[str, list[Row]]]:
    stage = Stage(tmp_path, shards)
    for name in ROUTERS:
        stage.stream(name, PACKETS)
    stage.gauge.sql(text)
    rows = {name: link(10 + k, n_rows, 120, hosts=20) for k, name in enumerate(ROUTERS)}
    stage.pages_of(N_PAGES, **rows)
    stage.advance(150)
    return stage, rows


@pytest.mark.parametrize("shards", [1, 3])
def test_router_streams_exactly(tmp_path: Path, shards: int) -> None:
    text = f"""
        CREATE QUERY top AS {TOP};
        CREATE QUERY sets AS {SETS};
        CREATE QUERY joined AS {JOINED};
    """
    stage, _ = routers(tmp_path, shards, 40, text)
    stage.check("top", "sets", "joined")


def during(rows: list[Row], as_of: int) -> list[tuple[str, str]]:
    """The pairs of the packets of a minute."""
    return [
        (row.values["saddr"], row.values["daddr"])
        for row in rows
        if as_of - MINUTE < row.ts <= as_of
    ]


def check_bars(given: list[Answer], truths: dict[int, float], whole: dict[int, int]) -> None:
    """The truth is in each bar, which is as narrow as was promised: a tenth of the whole."""
    assert len(given) > 3
    for answer in given:
        assert answer.value is not None
        assert answer.low <= truths[answer.as_of] <= answer.high, answer
        reach = max(answer.high - answer.value, answer.value - answer.low)
        assert reach <= 0.1 * whole[answer.as_of], answer


@pytest.mark.parametrize("shards", [1, 2])
def test_router_streams_within_an_error(tmp_path: Path, shards: int) -> None:
    """All bars at once: their chances of failure, one in 10 000 each, are far from adding up."""
    terms = "EVERY 20 SECONDS WITHIN 10 PERCENT RANK CONFIDENCE 99.99%"
    text = f"""
        CREATE QUERY top AS {TOP} EVERY 20 SECONDS WITHIN 0.5 PERCENT RANK CONFIDENCE 99.99%;
        CREATE QUERY sets AS {SETS} {terms};
        CREATE QUERY joined AS {JOINED} {terms};
    """
    stage, rows = routers(tmp_path, shards, 2000, text)
    for name in ("top", "sets", "joined"):
        assert "spends 0" not in stage.gauge.explain(name).splitlines()[2]
    counts = {
        when: {name: during(found, when) for name, found in rows.items()}
        for when in sorted({a.as_of for a in stage.numbers("sets")})
    }
    sets = {
        when: len((set(sent["r1"]) & set(sent["r2"])) - set(sent["r3"]))
        for when, sent in counts.items()
    }
    packets = {when: sum(map(len, sent.values())) for when, sent in counts.items()}
    check_bars(stage.numbers("sets"), sets, packets)
    joined = {}
    for when, sent in counts.items():
        ends = Counter(daddr for _, daddr in sent["r2"])
        joined[when] = sum(ends[saddr] for saddr, _ in sent["r1"])
    pairs = {when: len(sent["r1"]) * len(sent["r2"]) for when, sent in counts.items()}
    check_bars(stage.numbers("joined"), joined, pairs)
    listed: set[tuple[object, ...]] = set()
    for answer in stage.numbers("top"):
        if answer.ends_group:
            assert answer.group in listed
            listed.remove(answer.group)
            continue
        listed.add(answer.group)
        sent = Counter(during(rows["r1"], answer.as_of))
        assert answer.low <= sent[answer.group] <= answer.high
        assert answer.high - answer.low <= 0.01 * sent.total()
    assert listed == {answer.group for answer in stage.gauge.latest("top")}


# Hosts of an organization

HOSTS = Schema.of(
    ts="time", host="string", origin="string", login_requests="float", bytes_in="float",
    syn_packets="float", dns_lookups="float", external_bytes="float", importance="float",
)  # fmt: skip


def counters(n: int = 80) -> list[Row]:
    dice = np.random.default_rng(20)
    names = [name for name, kind in HOSTS.columns if kind == "float"]
    cells = np.round(dice.gamma(2.0, 4.0, (n, len(names))) * 8) / 8
    hosts = dice.choice(["alpha", "beta", "gamma", "delta"], n)
    return [
        Row(
            at(i),
            {
                "host": str(host),
                "origin": "external" if host in ("alpha", "beta") else "internal",
                **{name: float(cell) for name, cell in zip(names, row, strict=True)},
            },
        )
        for i, (host, row) in enumerate(zip(hosts, cells, strict=True))
    ]


@pytest.mark.parametrize("shards", [1, 3])
def test_hosts(tmp_path: Path, shards: int) -> None:
    stage = Stage(tmp_path, shards)
    stage.stream("hosts", HOSTS, key="host")
    newest = "hosts [PARTITION BY host ROWS 1]"
    stage.gauge.sql(f"""
        CREATE QUERY q1 AS
        SELECT SUM(login_requests) FROM {newest} WHERE origin = 'external' WITHIN 0.5;
        CREATE QUERY q2 AS SELECT AVG(bytes_in) FROM {newest} GUARANTEED WITHIN 500;
        CREATE QUERY q3 AS SELECT MAX(syn_packets) FROM {newest} ON CHANGE OF 2.5;
        CREATE QUERY q4 FOR EACH host IN ('alpha', 'beta', 'gamma') AS
        SELECT AVG(dns_lookups) FROM {newest} GUARANTEED WITHIN 5 FRESH 1 SECOND;
        CREATE QUERY q5 AS
        SELECT AVG(external_bytes WEIGHT importance) FROM hosts [RANGE 1 MINUTE]
        EVERY 10 SECONDS WITHIN 5 PERCENT;
    """)
    rows = counters()
    stage.pages_of(N_PAGES, hosts=rows)
    stage.advance(100)
    stage.check("q1", "q2", "q3", "q4[alpha]", "q4[beta]", "q4[gamma]", "q5")
    for answer in stage.numbers("q2"):
        last = {r.values["host"]: r.values["bytes_in"] for r in rows if r.ts <= answer.as_of}
        assert answer.value == pytest.approx(np.mean(list(last.values())))


def test_latencies_along_a_path(tmp_path: Path) -> None:
    """The other example of the same paper: the queues of a path's routers, added up."""
    stage = Stage(tmp_path, 2)
    stage.stream("queues", Schema.of(ts="time", router="string", latency="float"), key="router")
    stage.table(
        "paths", Schema.of(path="string", router="string", fixed="float"),
        [{"path": p, "router": f"r{k}", "fixed": k / 4} for p, n in (("x", 3), ("y", 5))
         for k in range(n)],
    )  # fmt: skip
    stage.gauge.sql("""
        CREATE QUERY latencies AS
        SELECT p.path, SUM(q.latency + p.fixed) AS total
        FROM queues [PARTITION BY router ROWS 1] AS q JOIN paths AS p ON q.router = p.router
        GROUP BY p.path;
        CREATE QUERY x AS
        SELECT SUM(latency) FROM queues [PARTITION BY router ROWS 1]
        WHERE router IN ('r0', 'r1', 'r2');
    """)
    cells = [(i, f"r{(7 * i) % 5}", (i * i % 23) / 8) for i in range(60)]
    stage.pages_of(N_PAGES, queues=rows_of("router latency", *cells))
    stage.advance(100)
    stage.check("latencies", "x")
