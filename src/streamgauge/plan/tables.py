"""Changes of stored tables: kept, read again, given another pace, dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.streams.table import Table

Tables = dict[str, Table]

CHANGES = ("table", "drop table", "alter table", "refresh table")


def change_tables(
    tables: Tables, change: dict[str, Any], *, epoch: int, users: Iterable[str]
) -> None:
    """Make one change, or raise why it does not fit; `users` are the queries that read the table.

    A table that was read again only takes the place of the one it was read for: it may have been
    dropped, or declared anew, while it was read.
    """
    do = change["do"]
    if do == "table":
        table = Table.from_dict(change["table"])
        tables[table.name] = replace(table, epoch=epoch)
        return
    known = tables[change["name"]]
    if do == "drop table":
        refuse_used(known.name, users)
        del tables[known.name]
    elif do == "alter table":
        tables[known.name] = replace(known, every=change["every"])
    elif change["origin"] != known.origin or change["schema"] != known.schema.as_dict():
        raise BindError(
            f"table {known.name!r} was declared anew while it was read",
            f"it is read from {known.origin}",
            "nothing is lost: it is read again at its pace",
        )
    else:
        path, rows = change["path"], change["rows"]
        tables[known.name] = replace(known, path=path, rows=rows, epoch=epoch)


def read_again(table: Table, path: str, rows: int) -> dict[str, Any]:
    """The record that other rows of a table take effect with."""
    return {
        "do": "refresh table",
        "name": table.name,
        "origin": table.origin,
        "schema": table.schema.as_dict(),
        "path": path,
        "rows": rows,
    }


def refuse_used(name: str, users: Iterable[str]) -> None:
    """Raise when queries read a table."""
    if found := list(users):
        raise BindError(
            f"table {name!r} is in use",
            f"{len(found)} queries read it, {found[0]!r} first",
            "drop the queries first",
        )
