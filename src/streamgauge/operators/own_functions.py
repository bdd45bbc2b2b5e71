"""Calls of functions that users wrote: arrays in, one array out, checked.

Numbers, bools, times and durations go in as floats with NaN for null, texts as objects with None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.allowed import NOTHING
from streamgauge.kernel.errors import EngineFailure
from streamgauge.operators.arithmetic import whole
from streamgauge.operators.datum import FLOAT, FORMS, finite
from streamgauge.operators.function_process import PROCESS, CallFailed
from streamgauge.operators.functions import Function


def call_own(function: Function, args: Sequence[tuple[str, pa.Array]]) -> pa.Array:
    """Call a function on columns, each with its type; the result has the type it declares."""
    rows = len(args[0][1])
    if rows == 0:
        return pa.array([], FORMS[function.returns])
    run = function.given()
    result = _here(function, run, args) if run is not None else _apart(function, args)
    if result.shape != (rows,):
        raise _failure(function, f"it returned the shape {result.shape} for {rows} rows")
    try:
        return _typed(result, function.returns)
    except (TypeError, ValueError, OverflowError) as error:
        raise _failure(function, f"its result is no {function.returns}: {error}") from error


def _here(
    function: Function, run: Callable[..., Any], args: Sequence[tuple[str, pa.Array]]
) -> npt.NDArray[Any]:
    """Call a function of the embedding program."""
    given = [_plain(kind, column) for kind, column in args]
    try:
        with np.errstate(all="ignore"):
            return np.asarray(run(*given))
    except Exception as error:
        raise _failure(function, f"it raised {type(error).__name__}: {error}") from error


def _apart(function: Function, args: Sequence[tuple[str, pa.Array]]) -> npt.NDArray[Any]:
    """Call a function in the process of functions."""
    columns = [_sent(kind, column) for kind, column in args]
    try:
        found = PROCESS.call(function.target, function.allowed(), columns)
    except CallFailed as error:
        raise _failure(function, str(error)) from None
    result: npt.NDArray[Any] = found.to_numpy(zero_copy_only=False)
    return result


def aggregate_own(function: Function, groups: pa.ListArray) -> list[Any]:
    """Call an aggregate on the values of each group; a number that is not finite is null."""
    run = function.given()
    allowed = function.allowed() if run is None else NOTHING
    try:
        if run is not None:
            values, ends = groups.values.to_numpy(zero_copy_only=False), groups.offsets.to_numpy()
            found = [run(values[a:b]) for a, b in pairwise(ends)]
        else:
            found = PROCESS.aggregate(function.target, allowed, groups).to_pylist()
    except CallFailed as error:
        raise _aggregate_failure(function, groups, str(error)) from None
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise _aggregate_failure(function, groups, f"it raised {error!r}") from error
    plain = [item.item() if isinstance(item, np.generic) else item for item in found]
    return [None if isinstance(x, float) and not math.isfinite(x) else x for x in plain]


def _aggregate_failure(function: Function, groups: pa.ListArray, detail: str) -> EngineFailure:
    return EngineFailure(
        f"aggregate {function.name!r} failed",
        f"{function.target} of {len(groups)} groups, {len(groups.values)} values: {detail}",
        "correct the function; it gets the sorted values of a group that are not null",
    )


def _sent(kind: str, column: pa.Array) -> pa.Array:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if kind == "string":
        return pc.cast(whole, pa.string())
    return pc.cast(whole, FLOAT, safe=False)


def _plain(kind: str, column: pa.Array) -> npt.NDArray[Any]:
    if kind == "string":
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=object)
    floats = pc.cast(column, FLOAT, safe=False)
    return np.array(pc.fill_null(floats, np.nan).to_numpy(zero_copy_only=False))


def _typed(result: npt.NDArray[Any], kind: str) -> pa.Array:
    if kind == "string":
        return pa.array(result, FORMS[kind], from_pandas=True)
    if result.dtype.kind == "M":
        result = result.astype("datetime64[us]")
        return pa.array(result.astype(np.int64), FORMS[kind], mask=np.isnat(result))
    if kind in ("int", "time") and result.dtype.kind in "iu":
        return pa.array(result).cast(FORMS[kind])
    floats = finite(pa.array(result.astype(np.float64), FLOAT, from_pandas=True))
    if kind == "bool":
        return pc.not_equal(floats, 0.0)
    return floats if kind == "float" else whole(floats)


def _failure(function: Function, detail: str) -> EngineFailure:
    return EngineFailure(
        f"function {function.name!r} failed",
        f"{detail}; it is {function.target}",
        "mend the function and start again; the page is run once more",
    )
