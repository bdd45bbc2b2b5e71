"""Reading the origin of a table, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamgauge.engine.spark.jdbc import read_jdbc
from streamgauge.kernel.errors import SourceFailure
from streamgauge.log.tables import in_our_types, ordered, read_lake, read_rows
from streamgauge.streams.origin import Origin


def read_origin(origin: Origin, session: Callable[[], Any]) -> pa.Table:
    """All rows, in the types that columns have here.

    Parameters
    ----------
    origin
        What is read.
    session
        Gives the Spark session that databases are read with; not called for anything else.
    """
    if origin.kind == "file":
        return read_rows(Path(origin.place))
    if origin.kind == "delta":
        return read_lake(origin)
    found = read_jdbc(session(), origin)
    try:
        # A database gives rows in any order, which would pass for a change.
        return ordered(in_our_types(found))
    except pa.ArrowInvalid as error:
        raise SourceFailure(
            f"cannot keep the rows of {origin}", str(error), "leave that column out with QUERY"
        ) from None
