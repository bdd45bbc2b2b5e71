"""Lakes: the rows of a Delta table as it stands, read without a JVM."""

from __future__ import annotations

import pyarrow as pa

from streamgauge.kernel.errors import MissingRuntime, SourceFailure

try:
    import deltalake
except ImportError:
    deltalake = None  # type: ignore[assignment]


def read_delta(place: str) -> pa.Table:
    """All rows of the newest version of a Delta table."""
    if deltalake is None:
        raise MissingRuntime(
            "Delta tables need another package",
            "deltalake is not installed",
            "pip install 'streamgauge[tables]'",
        )
    try:
        # Its own query engine honours rows that are marked as deleted; the Arrow reader does not.
        asked = deltalake.QueryBuilder().register("found", deltalake.DeltaTable(place))
        return pa.table(asked.execute("SELECT * FROM found").read_all())
    except (deltalake.exceptions.DeltaError, OSError, ValueError) as error:
        raise SourceFailure(
            f"cannot read Delta table {place}",
            str(error).strip().splitlines()[0],
            "name the directory that has _delta_log in it",
        ) from None
