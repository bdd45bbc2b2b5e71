"""Trial: a registry as it would be, and the records and files that lead to it.

Nothing is touched until a whole script fits; then all of it is left in the inbox.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamgauge.kernel.errors import BindError, StreamgaugeError
from streamgauge.log import inbox
from streamgauge.log.home import Home, check_directory_name
from streamgauge.log.segments import write_parquet
from streamgauge.log.tables import read_rows, same_rows
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Record, Registry, Standing
from streamgauge.plan.seeds import draw_seed
from streamgauge.plan.view import View
from streamgauge.sources.records import check_columns
from streamgauge.sources.table import KINDS
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table

_KINDS = (
    "streams", "windows", "queries", "tables", "functions", "names", "summaries", "alerts", "sinks",
)  # fmt: skip
_BULK = {"register": "queries", "alter": "queries", "pause": "names", "resume": "names",
         "drop": "names"}  # fmt: skip


class Trial:
    """Changes tried on a copy of a registry.

    Parameters
    ----------
    registry
        What holds before.

    Examples
    --------
    >>> from streamgauge.windows.window import Rows
    >>> before = Registry()
    >>> trial = Trial(before)
    >>> trial.apply({"do": "window", "name": "few", "window": Rows(3).as_dict()})
    >>> list(trial.registry.windows), list(before.windows), len(trial.records)
    (['few'], [], 1)
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = copied(registry)
        self.records: list[Record] = []
        self._epoch = registry.epoch + 1
        self._files: list[tuple[Path, pa.Table]] = []

    def apply(self, record: Record) -> None:
        """Make one change, or raise why it does not fit."""
        if record["do"] in ("stream", "table"):
            check_directory_name(record["do"], record[record["do"]]["name"])
        if record["do"] == "stream":
            _check_records(Stream.from_dict(record["stream"]))
        fresh = self._draw(record["do"])
        if refused := self.registry.apply([record], epoch=self._epoch):
            raise refused[0]
        names = [query["name"] for query in record["queries"]] if fresh else ()
        self._note({**record, **self._drawn(names, fresh=fresh)})

    def _note(self, record: Record) -> None:
        # Thousands of statements of one kind become one record.
        last, key = self.records[-1] if self.records else None, _BULK.get(record["do"])
        if last is not None and key is not None and last["do"] == record["do"]:
            last[key].extend(record[key])
            if "seed" in record:
                last["seed"] = record["seed"]
        else:
            self.records.append(record if key is None else {**record, key: list(record[key])})

    def keep(self, path: Path, rows: pa.Table) -> None:
        """Write a file of the home when all is done."""
        self._files.append((path, rows))

    def same(self, table: Table, rows: pa.Table) -> bool:
        """Whether the copy that is kept of a table holds these very rows."""
        waiting = dict(self._files)
        path = Path(table.path)
        if path not in waiting and not path.exists():
            return False
        return same_rows(rows, waiting[path] if path in waiting else read_rows(path))

    def leave(self, home: Home) -> tuple[str, ...]:
        """Leave all records in the inbox, files before them; return the names of the records."""
        self.write_files()
        return tuple(inbox.submit(home, record) for record in self.records)

    def write_files(self) -> None:
        """Write the files that records refer to, which come before them."""
        for path, rows in self._files:
            write_parquet(path, rows)

    def register(self, queries: list[Query | View]) -> None:
        """Register queries, all or none."""
        self._all("register", queries)

    def alter(self, queries: list[Query | View]) -> None:
        """Replace queries of the same names."""
        self._all("alter", queries)

    def _all(self, do: str, queries: list[Query | View]) -> None:
        fresh = self._draw(do)
        for query in queries:
            self.registry.take(do, query, epoch=self._epoch)
        drawn = self._drawn([query.name for query in queries], fresh=fresh)
        if queries:
            self._note({"do": do, "queries": [query.as_dict() for query in queries], **drawn})

    def _draw(self, do: str) -> bool:
        """Draw the seed of all sketches where there is none yet; whether it was drawn."""
        if self.registry.seed is not None or do not in ("register", "alter"):
            return False
        self.registry.seed = draw_seed()
        return True

    def _drawn(self, names: Iterable[str], *, fresh: bool) -> Record:
        """What a record says of a seed drawn for it; nothing where no query needs a sketch."""
        if not fresh:
            return {}
        if any(self.registry.queries[name].model for name in names):
            return {"seed": self.registry.seed}
        self.registry.seed = None
        return {}

    def standing(self, name: str) -> Standing | None:
        """A registered query, or None."""
        return self.registry.queries.get(name)

    def free(self, kind: str, name: str) -> None:
        """Raise when something else that FROM could mean has a name already."""
        taken: dict[str, Collection[str]] = {
            "stream": self.registry.streams,
            "table": self.registry.tables,
            "view": self.registry.names,
            "query": self.registry.queries,
        }
        for other, names in taken.items():
            if other != kind and name in names:
                raise BindError(
                    f"the name {name!r} is taken",
                    f"there is a {other} of that name",
                    f"choose another name for the {kind}",
                )


def copied(registry: Registry) -> Registry:
    """A registry that can be changed without changing the first; what it holds are values."""
    trial = copy(registry)
    for kind in _KINDS:
        setattr(trial, kind, copy(getattr(registry, kind)))
    return trial


def located(error: StreamgaugeError, line: int) -> StreamgaugeError:
    """The same error, saying at which line of a script its statement begins."""
    told: Any = type(error)
    found: StreamgaugeError = told(
        error.what, f"{error.detail}; in the statement at line {line}", error.hint
    )
    found.place = error.place
    return found


def _check_records(stream: Stream) -> None:
    """Raise when records of a log cannot fill the columns of their stream."""
    source = stream.source_dict()
    kind = KINDS[source["kind"]]
    if kind.batches:
        check_columns(stream.schema, source["format"], kind.beside)
