"""Answers in a table of PostgreSQL: the newest of each query and group.

The answers of an epoch and the number of the epoch are written in one transaction. The number is
in the row of `streamgauge_places` that has the name of the table, so that the table and the place
go together through crashes, and through copies of the database that are put back.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, LiteralString

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from streamgauge.contracts.answer import EMPTY
from streamgauge.kernel.errors import MissingRuntime, TargetFailure
from streamgauge.kernel.secrets import resolved
from streamgauge.plan.sink import Destination
from streamgauge.sinks.batch import Batch
from streamgauge.sinks.encode import charges_json
from streamgauge.targets.target_kind import SinkSite

try:
    import psycopg
    from psycopg import sql
except ImportError:
    psycopg = None  # type: ignore[assignment]

TIMEOUT_SECONDS = 10
PLACES = "streamgauge_places"
COLUMNS: dict[str, LiteralString] = {
    "query": "text",
    "key": "text",
    "value": "double precision",
    "low": "double precision",
    "high": "double precision",
    "confidence": "double precision",
    "as_of": "timestamp with time zone",
    "epoch": "bigint",
    "version": "integer",
    "revision": "integer",
    "coverage": "double precision",
    "basis": "text",
    "charges": "jsonb",
    "contract_met": "boolean",
    "slope": "double precision",
    "share": "double precision",
}
_REQUIRED = tuple(name for name in COLUMNS if name not in ("value", "low", "high"))
_MAKE_PLACES: LiteralString = """
CREATE TABLE IF NOT EXISTS streamgauge_places (
    target text PRIMARY KEY, home text NOT NULL, sink text NOT NULL, born bigint NOT NULL,
    holder text NOT NULL, epoch bigint NOT NULL
)"""
_HOLD: LiteralString = """
INSERT INTO streamgauge_places AS p (target, home, sink, born, holder, epoch)
VALUES (%(target)s, %(home)s, %(sink)s, %(born)s, %(holder)s, %(epoch)s)
ON CONFLICT (target) DO UPDATE SET
    holder = excluded.holder, sink = excluded.sink, born = excluded.born,
    epoch = CASE WHEN (p.sink, p.born) = (excluded.sink, excluded.born)
                 THEN p.epoch ELSE excluded.epoch END
WHERE p.home = excluded.home
RETURNING epoch"""
_MOVE: LiteralString = """
UPDATE streamgauge_places SET epoch = %(epoch)s WHERE target = %(target)s AND holder = %(holder)s"""


class TableWriter:
    """Writes the answers of one sink.

    Parameters
    ----------
    to
        Database and table; the table is made where it is missing.
    home
        What tells the home of the sink from others.
    sink, born
        Name of the sink and the epoch of its birth.
    """

    def __init__(self, to: Destination, home: str, sink: str, born: int) -> None:
        self.to = to
        self.shut_out = False
        self._own: dict[str, Any] = {
            "target": to.place,
            "home": home,
            "sink": sink,
            "born": born,
            "holder": uuid.uuid4().hex,
        }
        self._connection: Any = None

    def connect(self, place: int) -> int:
        """Find the epoch that the table is at; `place` is where a table that is new begins."""
        if psycopg is None:
            raise MissingRuntime(
                "PostgreSQL needs another package",
                "psycopg is not installed",
                "pip install 'streamgauge[postgres]'",
            )
        with self._telling():
            login = self.to.login
            given: dict[str, Any] = {}
            if login.user:
                given = {"user": login.user, "password": login.password()}
            self._connection = psycopg.connect(
                resolved(self.to.address, url=True),
                **given,
                connect_timeout=TIMEOUT_SECONDS,
                application_name="streamgauge",
                options="-c TimeZone=UTC",
            )
            with self._connection.transaction():
                self._make_tables()
                found = self._run(_HOLD, {**self._own, "epoch": place}).fetchone()
            if found is None:
                raise TargetFailure(
                    f"table {self.to.place!r} belongs to another home",
                    f"{PLACES} names the home that writes it",
                    f"choose another table, or delete its row in {PLACES} where that home is gone",
                )
            return int(found[0])

    def write(self, batch: Batch) -> None:
        """Bring the table to what holds after an epoch."""
        rows = newest(batch.answers)
        with self._telling(), self._connection.transaction():
            moved = self._run(_MOVE, {**self._own, "epoch": batch.epoch})
            if not moved.rowcount:
                self.shut_out = True
                raise TargetFailure(
                    "another job delivers for this sink",
                    f"it took over {self.to}",
                    "stop the other job, then start this one anew",
                )
            if rows.num_rows:
                self._copy(rows)
                self._merge()

    def prune(self, versions: Mapping[str, int]) -> None:
        """Take out the answers of queries, and of versions, that are not among those given."""
        table = self._table
        with self._telling(), self._connection.transaction():
            found = self._run(sql.SQL("SELECT DISTINCT query, version FROM {}").format(table))
            gone = [pair for pair in found if versions.get(pair[0]) != pair[1]]
            if gone:
                text = sql.SQL(
                    "DELETE FROM {} t USING unnest(%s::text[], %s::integer[]) g (query, version) "
                    "WHERE t.query = g.query AND t.version = g.version"
                )
                self._run(text.format(table), [list(column) for column in zip(*gone, strict=True)])

    def close(self) -> None:
        """Leave the database; what is not committed is not there."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @property
    def _table(self) -> Any:
        return sql.Identifier(*self.to.place.split("."))

    def _run(self, statement: Any, values: Any = None) -> Any:
        return self._connection.execute(statement, values)

    def _make_tables(self) -> None:
        # IF NOT EXISTS alone asks for the right to make tables, even where all are there.
        for name, text in ((PLACES, sql.SQL(_MAKE_PLACES)), (self.to.place, self._make_table())):
            there = self._run("SELECT to_regclass(%s)", [_quoted(name)]).fetchone()[0]
            if there is None:
                self._run(text)
        self._check_columns()
        incoming = sql.SQL(
            "CREATE TEMPORARY TABLE IF NOT EXISTS streamgauge_incoming ({}) ON COMMIT DELETE ROWS"
        )
        self._run(incoming.format(_columns(required=())))

    def _make_table(self) -> Any:
        text = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY (query, key))")
        return text.format(self._table, _columns(required=_REQUIRED))

    def _check_columns(self) -> None:
        found = dict(
            self._run(
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
                [_quoted(self.to.place)],
            ).fetchall()
        )
        wrong = [
            f"{name} is {found.get(name, 'missing')} and should be {kind}"
            for name, kind in COLUMNS.items()
            if found.get(name) != kind
        ]
        if wrong:
            raise TargetFailure(
                f"table {self.to.place!r} has other columns than answers have",
                "; ".join(wrong[:4]) + ("" if len(wrong) < 5 else f"; {len(wrong) - 4} more"),
                "name a table that is not there, and it is made; or alter this one",
            )

    def _copy(self, rows: pa.Table) -> None:
        text = io.BytesIO()
        options = pa.csv.WriteOptions(include_header=False)
        pa.csv.write_csv(rows, text, options)
        order = sql.SQL(", ").join(map(sql.Identifier, rows.column_names))
        statement = sql.SQL("COPY streamgauge_incoming ({}) FROM STDIN (FORMAT csv)")
        with self._connection.cursor() as cursor, cursor.copy(statement.format(order)) as copy:
            copy.write(text.getbuffer())

    def _merge(self) -> None:
        # Groups of an earlier version of a query are not answered any more.
        gone = sql.SQL(
            "DELETE FROM {} t USING (SELECT DISTINCT query, version FROM streamgauge_incoming) i "
            "WHERE t.query = i.query AND t.version <> i.version"
        )
        self._run(gone.format(self._table))
        # A late row may revise an answer that a later one has followed.
        merge = sql.SQL(
            "INSERT INTO {table} AS t ({names}) SELECT {names} FROM streamgauge_incoming "
            "ON CONFLICT (query, key) DO UPDATE SET {sets} "
            "WHERE (t.as_of, t.revision) <= (excluded.as_of, excluded.revision)"
        )
        names = list(map(sql.Identifier, COLUMNS))
        sets = [sql.SQL("{0} = excluded.{0}").format(name) for name in names]
        comma = sql.SQL(", ")
        self._run(merge.format(table=self._table, names=comma.join(names), sets=comma.join(sets)))
        # A group whose window has emptied is no longer among the latest answers.
        left = sql.SQL(
            "DELETE FROM {} t USING streamgauge_incoming i WHERE t.query = i.query "
            "AND t.key = i.key AND t.basis = %s AND t.key <> ''"
        )
        self._run(left.format(self._table), [EMPTY])

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Leave the database where it fails, and say why without what is secret."""
        try:
            yield
        except psycopg.Error as error:
            self.close()
            said = self.to.hidden(" ".join(str(error).split())) or type(error).__name__
            raise TargetFailure(
                "PostgreSQL does not take answers",
                f"{self.to}: {said[:500]}",
                "see that it is up and lets this job in and write the table; it is tried again",
            ) from None
        except TargetFailure:
            self.close()
            raise


def writer(to: Destination, site: SinkSite) -> TableWriter:
    """The writer of a sink."""
    return TableWriter(to, site.origin, site.sink, site.born)


def newest(answers: pa.Table) -> pa.Table:
    """The newest answer of each query and group, as the columns of the table."""
    named = pc.binary_join_element_wise(answers["query"], answers["group"], "\n")
    if not answers.num_rows:
        return pa.table({name: [] for name in COLUMNS})
    code = np.asarray(named.combine_chunks().dictionary_encode().indices.to_numpy(), np.int64)
    times = np.asarray(answers["as_of"].cast(pa.int64()).to_numpy())
    order = np.lexsort((answers["revision"].to_numpy(), times, code))
    last = np.append(code[order][1:] != code[order][:-1], True)
    kept = answers.take(pa.array(order[last]))
    charges = charges_json(kept["charges"].combine_chunks())
    kept = kept.rename_columns(["key" if c == "group" else c for c in kept.column_names])
    kept = kept.set_column(kept.column_names.index("charges"), "charges", charges)
    return kept.select(list(COLUMNS))


def _columns(required: Collection[str]) -> Any:
    parts = []
    for name, kind in COLUMNS.items():
        end = sql.SQL(" NOT NULL" if name in required else "")
        parts.append(sql.Identifier(name) + sql.SQL(" ") + sql.SQL(kind) + end)
    return sql.SQL(", ").join(parts)


def _quoted(name: str) -> str:
    """A name, perhaps with its schema, as a text that the database takes it from."""
    return ".".join(f'"{part}"' for part in name.split("."))
