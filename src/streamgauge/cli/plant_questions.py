"""What the demo asks of the synthetic plant."""

from __future__ import annotations

import numpy as np

from streamgauge.operators.aggregate import avg, count, maximum, stddev
from streamgauge.operators.predicate import col
from streamgauge.plan.query import Query, every, on_change
from streamgauge.sources.brownian import EPISODE_TICKS
from streamgauge.sources.plant import Plant
from streamgauge.windows.window import Range

STREAM = "plant"
MEMBERS = 9
WATCH = "watch"
# A move that a portfolio makes every few minutes of event time.
STEP = 0.5
_WATCHED_EPISODES = 8
_SEED = 9


def sensor_names(plant: Plant) -> list[str]:
    """All sensors of a plant that speak at its first tick."""
    names: list[str] = plant.rows(0, 1)[0]["series"].to_pylist()
    return names


def portfolios(names: list[str], n: int, *, first: int = 0) -> list[Query]:
    """Averages over nine sensors chosen at random, the same every time."""
    members = min(MEMBERS, len(names))
    queries = []
    for place in range(first, first + n):
        drawn = np.random.default_rng([_SEED, place]).choice(len(names), members, replace=False)
        series = tuple(names[i] for i in drawn.tolist())
        name = f"portfolio-{place:05d}"
        queries.append(Query(name, STREAM, avg("value"), series=series, answer=on_change(STEP)))
    return queries


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
