"""Streamgauge on Spark: deferred queries as one family, as two families, or one by one.

The form is `family` (averages), `mixed` (half averages, half sliding maxima) or `separate`.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg
from bench.data import Card
from bench.harness import Outcome, Task
from bench.peers.ours import drained, fresh_gauge
from streamgauge.kernel.time import SECOND
from streamgauge.plan.members import Members
from streamgauge.plan.over import Over

STREAM = "plant"
CONFIDENCE = 0.9


def installed() -> bool:
    """It always is."""
    return True


def run(task: Task) -> Outcome:
    """Register everything, take all rows, stop; figures come from the commits."""
    card = Card.read(task.prepared)
    gauge = fresh_gauge(task, card.batch)
    gauge.stream(
        STREAM,
        source=sg.files(card.path("rows")),
        time="ts",
        key="series",
        tick=card.tick / SECOND,
    )
    if task.form == "separate":
        queries = separate(card, task.queries)
    else:
        queries = families(gauge, card, task.queries, mixed=task.form == "mixed")
    begun = time.perf_counter()
    gauge.register(*queries)
    registered = time.perf_counter() - begun
    outcome = drained(gauge, task.seconds)
    outcome.facts["register_seconds"] = registered
    return outcome


def owed(card: Card) -> sg.Contract:
    """What every query is owed."""
    return sg.Contract.absolute(card.epsilon, confidence=CONFIDENCE)


def families(gauge: sg.Gauge, card: Card, queries: int, *, mixed: bool) -> list[sg.Query]:
    """One family of averages, or one of averages and one of their sliding maxima."""
    half = queries // 2 if mixed else queries
    asked: list[tuple[str, int, int, Over | None]] = [("family", 0, half, None)]
    if mixed:
        asked.append(("peaks", half, queries, Over("max", sg.Range("30 minutes"))))
    found = []
    for name, first, last, over in asked:
        path = Path.cwd() / f"{name}.parquet"
        pq.write_table(holdings(card, first, last), path)
        gauge.create_table(f"{name}_members", path)
        members = Members(f"{name}_members", "series", ("cell",))
        found.append(
            sg.Query(name, STREAM, sg.avg("value"), members=members, over=over, contract=owed(card))
        )
    return found


def holdings(card: Card, first: int, last: int) -> pa.Table:
    """The table of members of some cells: cell number and series."""
    members = card.members()[first:last]
    cells = np.repeat(np.arange(first, first + len(members)), members.shape[1])
    names = pa.DictionaryArray.from_arrays(pa.array(members.ravel()), pa.array(card.series))
    return pa.table({"cell": cells, "series": names.cast(pa.string())})


def separate(card: Card, queries: int) -> list[sg.Query]:
    """The same averages, each a query of its own."""
    contract = owed(card)
    return [
        sg.Query(
            f"avg-{number:06d}",
            STREAM,
            sg.avg("value"),
            series=tuple(card.series[place] for place in row),
            contract=contract,
        )
        for number, row in enumerate(card.members()[:queries].tolist())
    ]
