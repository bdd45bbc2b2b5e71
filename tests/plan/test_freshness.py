"""Freshness that is owed: who spends it, and what is refused."""

from __future__ import annotations

import pytest

import streamgauge as sg
from streamgauge.kernel.errors import ContractUnsatisfiable


@pytest.fixture
def gauge(tmp_path: object) -> sg.Gauge:
    gauge = sg.connect(f"{tmp_path}/home", engine="local")
    gauge.stream("plant", sg.plant(n_sensors=4), key="series", time="ts", late=sg.Late.allow("5 s"))
    return gauge


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("SELECT AVG(value) FROM plant [NOW] EVERY 10 SECONDS FRESH 15 SECONDS", "16 s"),
        ("SELECT * FROM plant [RANGE 1 MINUTE SLIDE 30 SECONDS] FRESH 30 SECONDS", "36 s"),
        ("SELECT * FROM plant WHERE value > 1 FRESH 5 SECONDS", "6 s"),
    ],
)
def test_what_cannot_be_that_fresh_is_refused(gauge: sg.Gauge, text: str, held: str) -> None:
    with pytest.raises(ContractUnsatisfiable, match="cannot be as fresh") as caught:
        gauge.sql(text)
    assert caught.value.hint.startswith(f"FRESH {held} can be held")
    nearest = text[: text.rindex("FRESH")] + f"FRESH '{held}'"
    assert f"fresh within {held} of {held}" in gauge.sql(nearest, name="q").explain()


def test_explain_says_who_spends_it(gauge: sg.Gauge) -> None:
    query = gauge.sql("SELECT AVG(value) FROM plant [NOW] EVERY 10 SECONDS FRESH 1 MINUTE")
    last = query.explain().splitlines()[-1]
    assert last == (
        "fresh within 16 s of 1 min: late rows waited for 5 s + tick 1 s + cadence 10 s"
    )
