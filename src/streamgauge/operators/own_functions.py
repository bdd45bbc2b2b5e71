"""Calls of functions that users wrote: arrays in, one array out, checked.

Numbers, bools, times and durations go in as floats with NaN for null, texts as objects with None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.errors import EngineFailure
from streamgauge.operators.arithmetic import whole
from streamgauge.operators.datum import FLOAT, FORMS, finite
from streamgauge.operators.functions import Function


def call_own(function: Function, args: Sequence[tuple[str, pa.Array]]) -> pa.Array:
    """Call a function on columns, each with its type; the result has the type it declares."""
    rows = len(args[0][1])
    if rows == 0:
        return pa.array([], FORMS[function.returns])
    given = [_plain(kind, column) for kind, column in args]
    run = function.load()
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(run(*given))
    except Exception as error:
        raise _failure(function, f"it raised {type(error).__name__}: {error}") from error
    if result.shape != (rows,):
        raise _failure(function, f"it returned the shape {result.shape} for {rows} rows")
    try:
        return _typed(result, function.returns)
    except (TypeError, ValueError, OverflowError) as error:
        raise _failure(function, f"its result is no {function.returns}: {error}") from error


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
