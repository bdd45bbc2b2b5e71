"""Functions that users wrote, called on columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.kernel.errors import EngineFailure
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import call, column
from streamgauge.operators.functions import EMBEDDED, Function, Functions, in_force

ROWS = pa.table({"x": [1.0, None, 4.0], "s": ["a", None, "b"], "i": [1, 2, None]})


def fail(x: Any) -> Any:
    raise KeyError("no such sensor")


@pytest.fixture
def own() -> Iterator[Functions]:
    made: dict[str, tuple[Any, str]] = {
        "half": (lambda x: x / 2, "float"),
        "inverse": (lambda x: 1 / (x - 1), "float"),
        "twice": (lambda s: np.array([None if t is None else t + t for t in s], object), "string"),
        "large": (lambda x: x > 2, "bool"),
        "whole": (lambda x: x, "int"),
        "later": (lambda x: x.astype("datetime64[s]"), "time"),
        "fail": (fail, "float"),
        "short": (lambda x: x[:1], "float"),
        "words": (lambda x: np.array(["a"] * len(x)), "float"),
    }
    given = {name: function for name, (function, _) in made.items()}
    with in_force(given={**given, "abs": given["half"]}):
        yield {n: Function(n, f"{EMBEDDED}:{n}", kind) for n, (_, kind) in made.items()}


@pytest.mark.parametrize(
    ("name", "argument", "values"),
    [
        ("half", "x", [0.5, None, 2.0]),
        ("half", "i", [0.5, 1.0, None]),
        ("inverse", "x", [None, None, 1 / 3]),
        ("twice", "s", ["aa", None, "bb"]),
        ("large", "x", [False, False, True]),
        ("whole", "x", [1, None, 4]),
    ],
)
def test_results(own: Functions, name: str, argument: str, values: list[Any]) -> None:
    assert evaluate(call(name, column(argument)), ROWS, own).to_pylist() == values


def test_a_time_may_come_back(own: Functions) -> None:
    times = evaluate(call("later", column("x")), ROWS.slice(0, 1), own)
    assert times.type == pa.timestamp("us", tz="UTC")
    assert times.cast(pa.int64()).to_pylist() == [1_000_000]


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("fail", "it raised KeyError: 'no such sensor'"),
        ("short", "it returned the shape (1,) for 3 rows"),
        ("words", "its result is no float"),
    ],
)
def test_a_failure_names_the_function(own: Functions, name: str, detail: str) -> None:
    with pytest.raises(EngineFailure) as raised:
        evaluate(call(name, column("x")), ROWS, own)
    assert raised.value.what == f"function {name!r} failed"
    assert detail in raised.value.detail


def test_it_is_not_called_without_rows(own: Functions) -> None:
    assert len(evaluate(call("fail", column("x")), ROWS.slice(0, 0), own)) == 0


def test_it_goes_before_a_built_in_one(own: Functions) -> None:
    functions = {"abs": Function("abs", f"{EMBEDDED}:half")}
    assert evaluate(call("abs", column("x")), ROWS, functions).to_pylist() == [0.5, None, 2.0]
