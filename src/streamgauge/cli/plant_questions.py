"""What the demo asks: of a synthetic plant, of pumps with agents, of orders that are pushed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from streamgauge.operators.aggregate import avg, count, maximum, stddev
from streamgauge.operators.predicate import col
from streamgauge.plan.query import Query, every, on_change
from streamgauge.sources.brownian import EPISODE_TICKS
from streamgauge.sources.plant import Plant
from streamgauge.windows.window import Range

STREAM = "plant"
MEMBERS = 9
# Last in the alphabet, so that a list of queries does not begin with thousands of them.
ZONE = "zone-"
WATCH = "watch"
# A move that a zone makes every few minutes of event time.
STEP = 0.5
_WATCHED_EPISODES = 8
_SEED = 9
# Half a bar that a zone leaves after a minute or so of event time.
WIDTH, CONFIDENCE = 0.25, 0.9

# Streams that are not the plant's: pumps whose agents filter, orders that are pushed.
STREAMS = {
    "pumps": """CREATE STREAM pumps
    (pump STRING, valve STRING, ts TIME, value FLOAT, width FLOAT)
    FROM EDGE 'http://127.0.0.1:0' KEY pump, valve TIME ts WIDTH width LATENCY 2 s BEAT 500 ms""",
    "orders": """CREATE STREAM orders
    (shop STRING, ts TIME, item INT, amount FLOAT) FROM PUSH KEY shop TIME ts""",
}
SUMMARY = """CREATE SUMMARY amounts ON orders(amount)
    WITH GRANULARITY 10 SECONDS AND COLLAPSE(2, 2)"""
# Queries by the kernels they need, and by name.
TEXTS = {
    "bounds": {
        "flow": "SELECT SUM(value) FROM pumps GUARANTEED WITHIN 5",
        "flow_of_pumps": "SELECT pump, SUM(value) FROM pumps GROUP BY pump GUARANTEED WITHIN 3",
        "widest_valve": "SELECT MAX(value) FROM pumps GUARANTEED WITHIN 1",
    },
    "promising": {
        "sold": "SELECT COUNT(*) FROM orders [RANGE 10 SECONDS] EVERY 1 SECOND",
        "takings": """SELECT SUM(amount) FROM orders [RANGE 10 SECONDS]
    WHERE item < 60 EVERY 1 SECOND BUDGET PROBES 500""",
        "typical": """SELECT AVG(amount) FROM orders [RANGE 10 SECONDS]
    WHERE item < 60 EVERY 1 SECOND BUDGET PROBES 500""",
    },
    "deferred": {
        "sites": """SELECT site, AVG(value) FROM plant [PARTITION BY series ROWS 1]
    GROUP BY site WITHIN 0.1 CONFIDENCE 0.9""",
    },
    "summaries": {
        "p95": """SELECT kind, QUANTILE(value, 0.95) FROM plant [RANGE 1 MINUTE]
    GROUP BY kind EVERY 1 MINUTE WITHIN 1 PERCENT CONFIDENCE 95%""",
        "speaking": """SELECT COUNT(DISTINCT series) FROM plant [RANGE 1 MINUTE]
    EVERY 1 MINUTE WITHIN 2 PERCENT CONFIDENCE 95%""",
    },
}
# Alerts by the kind of query they are about, and by name.
ALERTS = {
    "promising": {"rush": "ON sold WHEN CERTAINLY ABOVE 20000 CLEAR BELOW 10000"},
    "bounds": {"silent": "ON flow WHEN INTERRUPTED"},
    "deferred": {"distrust": "ON AUDIT WHEN ALARM"},
}


def sensor_names(plant: Plant) -> list[str]:
    """All sensors of a plant that speak at its first tick."""
    names: list[str] = plant.rows(0, 1)[0]["series"].to_pylist()
    return names


def zones(names: list[str], n: int, *, first: int = 0) -> list[Query]:
    """Averages over zones of nine sensors chosen at random, the same every time."""
    members = min(MEMBERS, len(names))
    queries = []
    for place in range(first, first + n):
        drawn = np.random.default_rng([_SEED, place]).choice(len(names), members, replace=False)
        series = tuple(names[i] for i in drawn.tolist())
        name = f"{ZONE}{place:05d}"
        queries.append(Query(name, STREAM, avg("value"), series=series, answer=on_change(STEP)))
    return queries


def deferred(names: list[str], n: int) -> dict[str, str]:
    """The same averages, brought up to date only when a model or a watch says so; by name."""
    return {
        f"{query.name}-deferred": in_words(query, f"WITHIN {WIDTH} CONFIDENCE {CONFIDENCE}")
        for query in zones(names, n)
    }


def in_words(query: Query, terms: str) -> str:
    """An average over some sensors in the language, with its last terms."""
    members = ", ".join(f"'{name}'" for name in query.series or ())
    # A statement of our own language, made of our own names.
    return (
        f"SELECT AVG(value) FROM {query.stream} [PARTITION BY series ROWS 1]\n"  # noqa: S608  # nosec B608
        f"    WHERE series IN ({members}) {terms}"
    )


def created(texts: dict[str, str]) -> str:
    """Questions by name as one script."""
    return ";\n".join(f'CREATE QUERY "{name}" AS {text}' for name, text in texts.items())


def alerts(kind: str, mail: Path) -> dict[str, str]:
    """What is to be told about queries of a kind, by name, each with a mail into a directory."""
    place = str(mail).replace("'", "''")
    return {
        name: f"CREATE ALERT {name} {text} DELIVER TO MAIL '{place}' FOR 'ops@example.org'"
        for name, text in ALERTS.get(kind, {}).items()
    }


def windowed() -> list[Query]:
    """Questions about sites and kinds, answered every minute of event time."""
    minute = every("1 minute")
    short, long = Range("1 minute"), Range("5 minutes", slide="1 minute")
    hot = col("kind") == "temp"
    return [
        Query(
            "heat", STREAM, avg("value"), window=long, where=hot, group_by=("site",), answer=minute
        ),
        Query("spread", STREAM, stddev("value"), window=long, group_by=("kind",), answer=minute),
        Query("peak", STREAM, maximum("value"), window=short, group_by=("kind",), answer=minute),
        Query("mean", STREAM, avg("value"), window=short, group_by=("site", "kind"), answer=minute),
        Query("rows", STREAM, count(), window=short, answer=minute),
    ]


def watch(plant: Plant, names: list[str]) -> Query:
    """An average over sensors of which one falls silent about every quarter of an hour."""
    silent, state = [], None
    for episode in range(_WATCHED_EPISODES):
        table, state = plant.rows(episode * EPISODE_TICKS + EPISODE_TICKS // 2, 1, state)
        speaking = set(table["series"].to_pylist())
        silent += [name for name in names if name not in speaking and name not in silent][:1]
    series = tuple(silent or names[:1])
    return Query(WATCH, STREAM, avg("value"), series=series, answer=on_change(STEP))
