"""Answers about a changing set: what leaves it says so once, and every reader loses it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import streamgauge as sg
from streamgauge.alerts.judge import Panel, turns
from streamgauge.checks.work import Way, check_work
from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import SECOND
from streamgauge.plan.alert import Alert, Target
from streamgauge.sinks.batch import Batch
from streamgauge.sinks.table import newest
from streamgauge.sinks.topic import records_of

WAYS = (Way(), Way(4, 1, True), Way(3, 2), Way(2, 3, True), Way(2, 16, True))
SHOP = "CREATE STREAM shop (ts TIME, host STRING, page STRING) FROM FILES '{rows}' TIME ts KEY host"
TOP = "SELECT host, TOP_K(page, 2) FROM shop [RANGE 10 SECONDS] GROUP BY host EVERY 5 SECONDS"
EXACT = "SELECT TOP_K(page, 1) FROM shop [RANGE 10 SECONDS] EVERY 5 SECONDS"
# What is looked at in each stretch of ten seconds; host b says nothing after the first.
LOOKED = {"a": ("xxxyyz", "xyyyzz", "zzzz", "z"), "b": ("xx", "", "", "")}


def visits() -> pa.Table:
    found = [
        (10 * stretch * SECOND + place * SECOND + SECOND // 2, host, page)
        for host, stretches in LOOKED.items()
        for stretch, pages in enumerate(stretches)
        for place, page in enumerate(pages)
    ]
    ts, hosts, pages = zip(*sorted(found), strict=True)
    return pa.table({"ts": pa.array(ts, pa.timestamp("us", "UTC")), "host": hosts, "page": pages})


def run(root: Path, rows: pa.Table, stream: str, **queries: str) -> sg.Gauge:
    """Rows in three epochs."""
    place = root / "rows"
    place.mkdir()
    gauge = sg.connect(root / "home", engine="local", shards=2)
    gauge.sql(stream.replace("{rows}", str(place)))
    for name, text in queries.items():
        gauge.sql(f"CREATE QUERY {name} AS {text}")
    for number, part in enumerate(np.array_split(np.arange(len(rows)), 3)):
        pa.parquet.write_table(rows.take(part), place / f"{number}.parquet")
        gauge.step()
    return gauge


def standing(answers: list[Answer]) -> dict[tuple[Any, ...], float | None]:
    """What a reader holds who takes each answer in and drops what has left."""
    held: dict[tuple[Any, ...], float | None] = {}
    for answer in answers:
        if answer.ends_group:
            assert answer.group in held, f"{answer.group} left twice"
            del held[answer.group]
        else:
            held[answer.group] = answer.value
    return held


@pytest.mark.parametrize("text", [f"{TOP} WITHIN 1% RANK", TOP, EXACT])
def test_an_item_that_drops_out_of_a_list_says_so_once(tmp_path: Path, text: str) -> None:
    gauge = run(tmp_path, visits(), SHOP, top=text)
    given = list(gauge.subscribe("top", since_epoch=0, timeout=0))
    gone = [answer for answer in given if answer.basis == "empty"]
    assert gone
    assert all(answer.value is None and answer.contract_met for answer in gone)
    assert all(math.isnan(answer.low) and not answer.charges for answer in gone)
    assert standing(given) == {a.group: a.value for a in gauge.latest("top")}


def test_all_readers_of_a_list_agree(tmp_path: Path) -> None:
    gauge = run(tmp_path, visits(), SHOP, top=EXACT)
    table = gauge.answers("top")
    held = newest(table)
    left = [row["key"] for row in held.to_pylist() if row["basis"] == "empty"]
    kept = [row["key"] for row in held.to_pylist() if row["basis"] != "empty"]
    assert (left, kept) == (['["x"]', '["y"]'], ['["z"]'])
    told = records_of(Batch(1, table)).to_pylist()
    last = {row["key"]: b'"basis":"empty"' in row["value"] for row in told}
    assert last == {b'top["x"]': True, b'top["y"]': True, b'top["z"]': False}
    there = (Target("mail", "out", "ops@example.org"),)
    panel = Panel([Alert("busy", "top", "certainly above", 2.0, targets=there)])
    turned = [(turn.group, turn.raised) for turn in turns(panel, table, {})[1]]
    assert turned == [
        ('["x"]', True),
        ('["y"]', True),
        ('["x"]', False),
        ('["z"]', True),
        ('["y"]', False),
    ]


def test_lists_do_not_depend_on_cuts_shards_or_reloads(tmp_path: Path) -> None:
    asked = [f"CREATE QUERY q{n} AS {text}" for n, text in enumerate((TOP, EXACT))]
    assert check_work(tmp_path, [SHOP, *asked, visits()], WAYS) > 20
