"""Tables of series and shards say who needs a row, and travel in a page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import streamgauge as sg
from streamgauge.engine import subscriptions
from streamgauge.engine.distribution import SUBSCRIBED, inputs_of
from streamgauge.engine.subscriptions import Subscriptions, subscriptions_of
from streamgauge.plan.sharing import StreamPlan, share


def planned(tmp_path: Path, *series: tuple[str, ...] | None) -> StreamPlan:
    """The input of a query for each list of series, None for all; their numbers are 0, 1, 2 ..."""
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.sql(f"CREATE STREAM s (ts TIME, k STRING, x FLOAT) FROM FILES '{tmp_path}' TIME ts KEY k")
    window = sg.Latest()
    gauge.register(
        *(
            sg.Query(f"q{n}", "s", sg.avg("x"), series=listed, window=None if listed else window)
            for n, listed in enumerate(series)
        )
    )
    gauge.step()
    registry = gauge.registry()
    return inputs_of(share(registry, registry.stream("s")))[SUBSCRIBED]


@pytest.mark.parametrize("shards", [2, 9, 16])
def test_a_series_goes_to_the_shards_of_the_queries_that_list_it(
    tmp_path: Path, shards: int
) -> None:
    found = subscriptions_of(planned(tmp_path, ("a", "b"), ("b", "c"), ("b",)), shards)
    assert found is not None
    there = Subscriptions.from_dict(json.loads(json.dumps(found.as_dict())))
    wanted = [set(row.nonzero()[0].tolist()) for row in there.of(["a", "b", "c", "d"])]
    assert wanted == [{0}, {0, 1, 2 % shards}, {1}, set()]


def test_a_shard_that_asks_about_all_series_is_sent_no_rows(tmp_path: Path) -> None:
    found = subscriptions_of(planned(tmp_path, ("a",), None), 3)
    assert found is not None
    there = Subscriptions.from_dict(found.as_dict())
    assert there.sent.tolist() == [True, False, True]
    assert there.of(["a"]).tolist() == [[True, False, False]]


def test_a_table_without_series_travels(tmp_path: Path) -> None:
    found = subscriptions_of(planned(tmp_path, None), 2)
    assert found is not None
    assert not Subscriptions.from_dict(found.as_dict()).of(["a"]).any()


def test_rows_are_not_sent_where_all_shards_ask_about_all_series(tmp_path: Path) -> None:
    assert subscriptions_of(planned(tmp_path, None, None), 2) is None


def test_series_of_one_hash_go_to_the_shards_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty-two bits are few: of a hundred thousand names one pair or another has the same."""
    monkeypatch.setattr(
        subscriptions, "_hashes", lambda names: np.array([ord(n[0]) for n in names], np.uint32)
    )
    found = subscriptions_of(planned(tmp_path, ("a1", "b1"), ("a2",), ("b2", "c")), 3)
    assert found is not None
    there = Subscriptions.from_dict(found.as_dict())
    wanted = [set(row.nonzero()[0].tolist()) for row in there.of(["a1", "a2", "b1", "b2", "c"])]
    assert wanted == [{0, 1}, {0, 1}, {0, 2}, {0, 2}, {2}]
