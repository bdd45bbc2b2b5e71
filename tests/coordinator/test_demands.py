"""What standing queries ask of objects."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.coordinator.cache import Bound
from streamgauge.coordinator.demands import Asked, Demands, Roll, asked_of, moved
from streamgauge.log.home import Home
from streamgauge.operators.aggregate import avg, count, maximum, minimum, total
from streamgauge.operators.predicate import col
from streamgauge.plan.members import Members
from streamgauge.plan.query import Query, every, on_change
from streamgauge.plan.registry import Standing
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table
from streamgauge.windows.window import Range
from tests.coordinator.world import STREAM

pytestmark = pytest.mark.slow

SCHEMA = Schema.of(host="string", kind="string", ts="time", load="float", width="float")
HOSTS = Stream("hosts", SCHEMA, "ts", ("host", "kind"), (("kind", "edge"),), width="width")
OWED = Contract.absolute(3.0)


def bound(*key: str, value: float = 10.0, width: float = 0.0, pad: float = 0.0) -> Bound:
    told = not math.isnan(value)
    made = Bound(key, "agent", 0, value, pad=pad, told=told)
    made.grants = [(0, 0, width)]
    return made


BOUNDS = [bound("a", "cpu"), bound("a", "disk"), bound("b", "cpu"), bound("b", "disk")]


def ask(*queries: Query, bounds: list[Bound] | None = None, **tables: Table) -> Asked:
    standing = [
        Standing(n, query, technique="windows of time" if query.window else "source bounds")
        for n, query in enumerate(queries)
    ]
    return asked_of(standing, Roll.of(HOSTS, BOUNDS if bounds is None else bounds), tables)


def query(select: Any = None, **more: Any) -> Query:
    more.setdefault("contract", OWED)
    return Query("q", "hosts", select or total("load"), **more)


def test_a_sum_shares_twice_what_it_is_owed() -> None:
    asked = ask(query())
    assert asked.constraints.held(np.ones(4)).tolist() == [4.0]
    assert asked.constraints.budgets.tolist() == [6.0]
    assert asked.every.tolist() == []


def test_an_average_counts_who_has_a_value() -> None:
    bounds = [*BOUNDS[:3], bound("b", "disk", value=math.nan)]
    asked = ask(query(avg("load")), bounds=bounds)
    assert asked.constraints.held(np.ones(4)) == pytest.approx([4.0 / 3.0])


def test_extremes_limit_each_member() -> None:
    for select in (minimum("load"), maximum("load")):
        assert ask(query(select)).constraints.caps.tolist() == [6.0] * 4


def test_an_exact_query_leaves_no_width() -> None:
    asked = ask(query(contract=Contract.exact(), answer=on_change(2.0)))
    assert asked.constraints.caps.tolist() == [0.0] * 4


def test_a_count_asks_for_no_value() -> None:
    assert ask(query(count())).constraints.unqueried.all()


def test_nobody_asks_for_what_no_query_reads() -> None:
    asked = ask(Query("other", "elsewhere", total("load")))
    assert asked.constraints.unqueried.all()
    assert (asked.every.tolist(), asked.sample) == ([], None)


def test_series_and_weights() -> None:
    asked = ask(query(series=("a|cpu", "b|disk", "nowhere"), weights=(2.0, -3.0, 5.0)))
    assert asked.constraints.members.tolist() == [0, 3]
    assert asked.constraints.weights.tolist() == [2.0, 3.0]
    mean = ask(query(avg("load"), series=("a|cpu", "b|disk"), weights=(1.0, 3.0)))
    assert mean.constraints.weights.tolist() == [0.25, 0.75]
    nothing = ask(query(avg("load"), series=("a|cpu", "b|disk"), weights=(1.0, -1.0)))
    assert nothing.constraints.caps.tolist() == [0.0, math.inf, math.inf, 0.0]


def test_conditions_on_the_key_choose_objects() -> None:
    asked = ask(query(where=(col("kind") == "cpu") & ~(col("host") == "c")))
    assert asked.constraints.members.tolist() == [0, 2]


def test_groups_have_a_budget_each() -> None:
    asked = ask(query(group_by=("kind",)))
    assert asked.constraints.budgets.tolist() == [6.0, 6.0]
    assert asked.constraints.members.tolist() == [0, 2, 1, 3]


def test_members_come_from_a_table(tmp_path: Path) -> None:
    schema = Schema.of(symbol="string", ts="time", load="float", width="float")
    stream = Stream("hosts", schema, "ts", ("symbol",), (("kind", "edge"),), width="width")
    rows = {"p": ["x", "x", "y"], "symbol": ["s", "t", "t"], "n": [2.0, 1.0, 4.0]}
    path = tmp_path / "held.parquet"
    pq.write_table(pa.table(rows), path)
    table = Table("held", Schema.of(p="string", symbol="string", n="float"), str(path), "")
    asked = asked_of(
        [
            Standing(
                0, query(members=Members("held", "symbol", ("p",), "n")), technique="source bounds"
            )
        ],
        Roll.of(stream, [bound("s"), bound("t")]),
        {"held": table},
    )
    # A query of one object is a cap of it.
    assert asked.constraints.caps.tolist() == pytest.approx([math.inf, 1.5])
    assert asked.constraints.weights.tolist() == [2.0, 1.0]


def test_windows_get_every_reading_of_what_they_read() -> None:
    window = Range("1 minute")
    assert ask(query(count(), window=window)).every.tolist() == [0, 1, 2, 3]
    chosen = query(count(), window=window, where=col("host") == "b")
    assert ask(chosen).every.tolist() == [2, 3]
    by_value = query(count(), window=window, where=col("load") > 3.0)
    assert ask(by_value).every.tolist() == [0, 1, 2, 3]


def test_a_share_of_the_value_follows_the_value() -> None:
    owed = Contract.relative(0.1)
    asked = ask(query(contract=owed))
    assert asked.constraints.budgets.tolist() == pytest.approx([2.0 * 0.95 * 0.1 * 40.0])
    assert not moved(asked, HOSTS, BOUNDS)
    larger = [bound("a", "cpu", value=15.0), *BOUNDS[1:]]
    assert moved(asked, HOSTS, larger)
    # Of a bar it is the end nearest to zero; across zero nothing is left.
    wide = [bound("a", "cpu", width=20.0), *BOUNDS[1:]]
    assert ask(query(contract=owed), bounds=wide).constraints.budgets.tolist() == pytest.approx(
        [2.0 * 0.95 * 0.1 * 30.0]
    )
    across = [bound("a", "cpu", value=-30.0), *BOUNDS[1:]]
    assert ask(query(contract=owed), bounds=across).constraints.caps.tolist() == [0.0] * 4
    assert (
        ask(query(minimum("load"), contract=owed), bounds=wide).constraints.caps.tolist()
        == [0.0] * 4
    )


def test_padding_is_taken_from_what_is_owed() -> None:
    padded = [bound(*one.key, pad=0.5) for one in BOUNDS]
    assert ask(query(), bounds=padded).constraints.budgets.tolist() == [4.0]
    assert ask(query(maximum("load")), bounds=padded).constraints.caps.tolist() == [5.5] * 4
    padded[0].pad = math.inf
    assert ask(query(), bounds=padded).constraints.caps.tolist() == [0.0] * 4


def test_readings_may_be_as_rare_as_all_answers_allow() -> None:
    assert ask(query(answer=every("10 s")), query(answer=every("4 s"))).sample == 2.0
    assert ask(query(answer=every("10 s")), query(answer=on_change())).sample is None


def test_a_confidence_is_as_good_as_a_guarantee() -> None:
    asked = ask(query(contract=Contract.absolute(3.0, confidence=0.9)))
    assert asked.constraints.budgets.tolist() == [6.0]


def test_an_empty_home_asks_for_nothing(tmp_path: Path) -> None:
    demands = Demands(Home.open(tmp_path, shards=1), STREAM)
    assert demands.follow()
    assert not demands.follow()
    assert demands.build([]).constraints.n_objects == 0
