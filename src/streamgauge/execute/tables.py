"""Statements about stored tables: CREATE TABLE, ALTER TABLE and REFRESH TABLE."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from streamgauge.engine.origins import read_origin
from streamgauge.execute.declare import placed
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import DurationLike, duration, duration_text
from streamgauge.language.statements import AlterTable, Change, CreateTable, Statement
from streamgauge.log.tables import reading_of, stored_as
from streamgauge.plan.registry import Registry
from streamgauge.reading import Reader
from streamgauge.sources.places import local_path
from streamgauge.streams.origin import Origin, delta, file, jdbc
from streamgauge.streams.table import Table


def table_of(
    name: str, origin: str | Path | Origin, refresh: DurationLike | None = None
) -> CreateTable:
    """The statement that keeps a table.

    >>> table_of("limits", jdbc("jdbc:postgresql://db/plant", table="limits"), "30 s").options
    (('table', 'limits'), ('every', 30000000))
    """
    given = origin if isinstance(origin, Origin) else file(origin)
    every = None if refresh is None else duration(refresh)
    if every is not None and every <= 0:
        raise BindError(
            f"the pace of table {name!r} must be positive", f"got {refresh!r}", "write '30 s'"
        )
    options = (*given.options, *(() if every is None else (("every", every),)))
    return CreateTable(name, given.place, source=given.kind, options=options)


def origin_of(said: CreateTable, root: Path) -> Origin:
    """Where a statement says that a table is read; paths start from `root`."""
    options = {name: value for name, value in said.options if name != "every"}
    if said.source == "jdbc":
        return jdbc(said.path, **placed(options, root))
    if said.source == "delta":
        return delta(said.path if "://" in said.path else root / said.path)
    return file(root / local_path(said.path))


def create_table(
    trial: Trial, said: CreateTable, reader: Reader, root: Path, *, replace: bool = False
) -> Outcome:
    """CREATE TABLE and REFRESH TABLE: read the origin, keep a copy of it in the home."""
    trial.free("table", said.name)
    known = trial.registry.tables.get(said.name)
    if said.refresh:
        known = _known(trial.registry, said.name)
    elif known is not None and not replace:
        raise BindError(
            f"table {said.name!r} exists already",
            f"it was read from {known.origin}",
            f"REFRESH TABLE {said.name} reads it again",
        )
    again = known is not None and said.refresh
    origin = known.read_from if again and known is not None else origin_of(said, root)
    every = known.every if again and known is not None else dict(said.options).get("every")
    rows = read_origin(origin, reader.session)
    if known is not None and _unchanged(trial, known, origin, rows):
        return _paced(trial, known, every, "unchanged table")
    table = stored_as(reader.home, said.name, origin, rows, every)
    if known is not None and known.schema != table.schema:
        _check_columns_stay(trial, said.name)
    trial.keep(Path(table.path), rows)
    trial.apply({"do": "table", "table": table.as_dict()})
    return Outcome("created table" if known is None else "refreshed table", (said.name,))


def alter_table(trial: Trial, said: AlterTable) -> Outcome:
    """ALTER TABLE: another pace."""
    return _paced(trial, _known(trial.registry, said.name), said.every, "unchanged table")


def _known(registry: Registry, name: str) -> Table:
    if name in registry.tables:
        return registry.tables[name]
    raise BindError(
        f"no table named {name!r}",
        f"tables are {', '.join(sorted(registry.tables)) or 'none'}",
        f"write CREATE TABLE {name} FROM 'file.csv'",
    )


def _unchanged(trial: Trial, known: Table, origin: Origin, rows: pa.Table) -> bool:
    # A job that reads it again may hold other rows by now than are known here.
    return known.every is None and known.read_from == origin and trial.same(known, rows)


def _paced(trial: Trial, known: Table, every: int | None, unchanged: str) -> Outcome:
    if known.every == every:
        return Outcome(unchanged, (known.name,))
    trial.apply({"do": "alter table", "name": known.name, "every": every})
    return Outcome("altered table", (known.name,))


def _check_columns_stay(trial: Trial, name: str) -> None:
    users = [q.name for q in trial.registry.queries.values() if name in q.asked.tables]
    if users:
        raise BindError(
            f"table {name!r} has other columns now",
            f"{len(users)} queries read it, {users[0]!r} first",
            "keep the columns and their types, or drop the queries first",
        )


TITLES = ("name", "columns", "origin", "rows", "every", "refreshed", "failures", "failure")


def shown_tables(reader: Reader, registry: Registry) -> list[tuple[str | None, ...]]:
    """What SHOW TABLES says of each table, in the order of `TITLES`."""
    found: list[tuple[str | None, ...]] = []
    for table in registry.tables.values():
        told = reading_of(reader.home, table.name) if table.every is not None else {}
        failure = ": ".join(filter(None, (told.get("failure"), told.get("detail"))))
        found.append(
            (
                table.name,
                ", ".join(f"{name} {kind}" for name, kind in table.schema.columns),
                table.origin,
                None if table.rows is None else str(table.rows),
                "" if table.every is None else duration_text(table.every),
                f"epoch {table.epoch}" if table.epoch else "",
                str(told.get("failures", "")),
                failure,
            )
        )
    return found


class Tables:
    """Declaring stored tables; what a gauge does with them."""

    def _execute(self, said: Statement) -> None:
        raise NotImplementedError

    def create_table(
        self, name: str, origin: str | Path | Origin, refresh: DurationLike | None = None
    ) -> None:
        """Keep the rows of a file, a directory, `sg.jdbc` or `sg.delta`; read again at a pace."""
        self._execute(table_of(name, origin, refresh))

    def alter_table(self, name: str, refresh: DurationLike | None) -> None:
        """Have the running job read a table again at another pace; None for by hand alone."""
        self._execute(AlterTable(name, None if refresh is None else duration(refresh)))

    def refresh_table(self, name: str) -> None:
        """Read a table again now."""
        self._execute(CreateTable(name, refresh=True))

    def drop_table(self, name: str) -> None:
        """Forget a table that no query reads."""
        self._execute(Change("drop", "table", (name,)))
