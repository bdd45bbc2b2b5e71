"""Bound queries give the rows that DuckDB gives for the same text over the same windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings

from streamgauge.language.parse import parse
from streamgauge.language.statements import Ask
from streamgauge.operators.functions import in_force
from streamgauge.plan.bind import bind
from streamgauge.plan.nodes import Streamed
from streamgauge.plan.registry import Registry
from streamgauge.plan.rewrite import rewrite
from streamgauge.streams.table import Table
from tests.kit.feeds import FUNCTIONS, GIVEN, ROOMS, Feed, feeds
from tests.kit.rows import alike
from tests.oracles.rows import Bag, World, relation

pytestmark = pytest.mark.slow

# What stands for a source in a text: as we write it, and the columns that DuckDB gets to see.
SOURCES = {
    "M": ("meters [RANGE 6 SECONDS]", "k VARCHAR, x DOUBLE, n BIGINT"),
    "D": ("doors [RANGE 10 SECONDS]", "k VARCHAR, n BIGINT, y DOUBLE, up BOOLEAN"),
    "R": ("rooms", "k VARCHAR, label VARCHAR, n BIGINT"),
    "S": ("stock", "k VARCHAR, n BIGINT"),
}
EXAMPLES = 6
TEXTS = (
    "SELECT k, x FROM {M} WHERE x > 0 AND n IS NOT NULL",
    "SELECT DISTINCT k FROM {M}",
    "SELECT m.k, d.y FROM {M} m, {D} d WHERE m.k = d.k AND m.n < d.n",
    "SELECT m.k, d.y, r.label FROM {M} m JOIN {D} d ON m.k = d.k JOIN {R} r ON d.n = r.n",
    "SELECT m.k, r.label FROM {M} m LEFT JOIN {R} r ON m.k = r.k AND r.n > 0",
    "SELECT m.k, r.label FROM {M} m LEFT JOIN {R} r USING (k) WHERE r.label IS NULL",
    "SELECT k, m.n, r.n FROM {M} m JOIN {R} r USING (k)",
    "SELECT m.k, r.label FROM {M} m RIGHT JOIN {R} r ON m.k = r.k AND m.n > 0 WHERE r.n > 0",
    "SELECT k, m.x, r.label FROM {M} m RIGHT OUTER JOIN {R} r USING (k)",
    "SELECT m.k, d.k, d.y FROM {M} m FULL JOIN {D} d ON m.k = d.k AND m.n < d.n AND d.y > 0",
    "SELECT m.k, d.y FROM {M} m FULL OUTER JOIN {D} d ON m.k = d.k WHERE m.x > 0 OR d.y > 0",
    "SELECT COALESCE(m.k, d.k), COUNT(*) FROM {M} m FULL JOIN {D} d ON m.k = d.k GROUP BY 1",
    "SELECT * FROM (SELECT m.k, m.n FROM {M} m SEMI JOIN {D} d ON m.k = d.k AND m.n < d.n) s",
    "SELECT m.k, m.x FROM {M} m SEMI JOIN {D} d USING (k) WHERE m.x > 0",
    "SELECT m.k, m.n FROM {M} m ANTI JOIN {D} d ON m.k = d.k AND d.n > 0 WHERE m.n > 0",
    "SELECT m.k, m.n FROM {M} m ANTI JOIN {R} r ON m.n < r.n",
    "SELECT m.k, r.n FROM {M} m ANTI JOIN {D} d ON m.k = d.k FULL JOIN {R} r ON m.k = r.k",
    "SELECT m.k, m.n, d.k, d.n FROM {M} m ASOF JOIN {D} d ON m.k = d.k AND m.n >= d.n",
    "SELECT m.n, d.n FROM {M} m ASOF JOIN {D} d ON d.n > m.n WHERE m.x > 0 AND d.n > 1",
    "SELECT m.k, d.n FROM {M} m ASOF LEFT JOIN {D} d ON m.k = d.k AND m.n > d.n WHERE m.n > 0",
    "SELECT k, m.n, d.n FROM {M} m ASOF JOIN {D} d USING (k, n)",
    "SELECT k, COUNT(*), SUM(n), MIN(x) FROM {M} GROUP BY k",
    "SELECT k, SUM(n) + COUNT(x) AS t FROM {M} GROUP BY k HAVING COUNT(*) > 1",
    "SELECT COUNT(*), SUM(n), COUNT(DISTINCT k) FROM {M} WHERE x > 1",
    "SELECT COUNT(*) FILTER (WHERE x > 0) AS c, MAX(n) FROM {M}",
    "SELECT n % 2 AS odd, COUNT(*) FROM {D} GROUP BY n % 2",
    "SELECT k FROM {M} UNION SELECT k FROM {D}",
    "SELECT k, n FROM {M} UNION ALL SELECT k, n FROM {S}",
    "SELECT k, n FROM {M} EXCEPT ALL SELECT k, n FROM {S}",
    "SELECT k FROM {M} INTERSECT SELECT k FROM {D} EXCEPT SELECT k FROM {R}",
    "SELECT k, n FROM {M} WHERE n IN (SELECT n FROM {R})",
    "SELECT k, n FROM {M} WHERE n NOT IN (SELECT n FROM {R})",
    "SELECT k, n FROM {M} WHERE n NOT IN (SELECT n FROM {R} WHERE n > 5)",
    "SELECT k, n FROM {M} WHERE n IN (SELECT n FROM {R}) OR x > 1",
    "SELECT k, n FROM {M} m WHERE EXISTS (SELECT 1 FROM {R} r WHERE r.k = m.k)",
    "SELECT k, n FROM {M} m WHERE NOT EXISTS (SELECT 1 FROM {R} r WHERE r.k = m.k)",
    "SELECT k, n FROM {M} m WHERE EXISTS (SELECT 1 FROM {R} r WHERE r.k = m.k AND r.n < m.n)",
    "SELECT k, n FROM {M} m WHERE NOT EXISTS (SELECT 1 FROM {R} r WHERE r.n <= m.n)",
    "SELECT k FROM {M} m WHERE EXISTS (SELECT 1 FROM {R} r WHERE m.k IS NULL OR r.k = m.k)",
    "SELECT k FROM {M} WHERE EXISTS (SELECT 1 FROM {R} WHERE n > 1)",
    "SELECT k FROM {M} m WHERE n IN (SELECT n FROM {R} r WHERE r.k = m.k)",
    "SELECT k, x FROM {M} WHERE x > (SELECT AVG(y) FROM {D})",
    "SELECT k, x - (SELECT MIN(y) FROM {D}) AS up FROM {M}",
    "SELECT k, (SELECT COUNT(*) FROM {D} d WHERE d.k = m.k) AS c FROM {M} m",
    "SELECT k, (SELECT SUM(d.n) FROM {D} d WHERE d.k = m.k AND d.y > 0) AS c FROM {M} m",
    "SELECT k FROM {M} m WHERE (SELECT COUNT(*) FROM {D} d WHERE d.n < m.n) > 1",
    "SELECT k FROM {M} m WHERE (SELECT COUNT(*) FROM {D} d WHERE d.n < m.n AND d.k = m.k) < 2",
    "SELECT k, COUNT(*) FROM {M} GROUP BY k HAVING COUNT(*) > (SELECT COUNT(*) FROM {R})",
    "SELECT k, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM {M}) AS share FROM {M} GROUP BY k",
    "SELECT a.k, a.c FROM (SELECT k, COUNT(*) AS c FROM {M} GROUP BY k) a WHERE a.c > 1",
    "WITH t AS (SELECT k, SUM(n) AS s FROM {D} GROUP BY k) SELECT k, s FROM t a "
    "WHERE (SELECT COUNT(*) FROM t b WHERE b.s < a.s) >= (SELECT 0.5 * COUNT(*) FROM t)",
    "SELECT CASE WHEN n > 1 THEN 'many' WHEN n > 0 THEN 'one' END AS w, k FROM {D} WHERE up",
    "SELECT a.k FROM {M} a, {M} b WHERE a.n = b.n AND a.n > 0 AND b.x < 1 AND a.k = 'a'",
    "SELECT k, n FROM {M} WHERE n = 1 + 1 - 1 AND 2 > 1",
    "SELECT s.k, c FROM (SELECT k, COUNT(*) AS c FROM {M} GROUP BY k) s WHERE s.k = 'a'",
    "SELECT k FROM (SELECT k, n FROM {M} UNION ALL SELECT k, n FROM {R}) u WHERE n > 0",
)


@pytest.fixture(autouse=True, scope="module")
def functions_in_force() -> Iterator[None]:
    with in_force(given=GIVEN):
        yield


def registry_of(feed: Feed) -> Registry:
    tables = {"rooms": Table("rooms", ROOMS, "", "")}
    streams = {stream.name: stream for stream in feed.streams}
    return Registry(streams=streams, tables=tables, functions=FUNCTIONS)


def bound_rows(text: str, feed: Feed, world: World, instant: int) -> tuple[Bag, Bag]:
    """Rows of the plan as bound, and as rewritten."""
    registry = registry_of(feed)
    statement = parse(text)
    assert isinstance(statement, Ask)
    node = bind(statement.query, registry)
    node = node.input if isinstance(node, Streamed) else node
    changed = rewrite(node, FUNCTIONS, frozenset({"stock"}))
    return relation(node, world, instant), relation(changed, world, instant)


def peer_of(feed: Feed, world: World, instant: int) -> duckdb.DuckDBPyConnection:
    """DuckDB with what the sources hold at an instant."""
    peer = duckdb.connect()
    for name, (ours, columns) in SOURCES.items():
        peer.execute(f"CREATE TABLE {name} ({columns})")
        names = [part.split()[0] for part in columns.split(", ")]
        whole, _ = bound_rows(f"SELECT {', '.join(names)} FROM {ours}", feed, world, instant)
        rows = list(whole.elements())
        if rows:
            places = ", ".join("?" for _ in names)
            peer.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
    return peer


@given(feed=feeds(max_rows=6))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
def test_a_bound_query_means_what_sql_means(feed: Feed) -> None:
    world = feed.world()
    for instant in world.instants(feed.end)[2::7]:
        peer = peer_of(feed, world, instant)
        for text in TEXTS:
            rows = peer.execute(text.format(**{name: name for name in SOURCES})).fetchall()
            expected = alike(Counter(rows))
            ours = text.format(**{name: source for name, (source, _) in SOURCES.items()})
            bound, rewritten = bound_rows(ours, feed, world, instant)
            assert alike(bound) == expected, text
            assert alike(rewritten) == expected, text
