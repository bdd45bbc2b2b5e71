"""PostgreSQL: tables that hold the newest answer of each query and group."""

from __future__ import annotations

import re
from functools import partial
from urllib.parse import unquote, urlsplit

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.secrets import references, refuse_secret, shape
from streamgauge.targets.target_kind import Detail, Goods, TargetKind

_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?")
_NAME_IT = "leave it out, and write USER 'u' PASSWORD ENV 'NAME' or PASSWORD FILE 'path'"


def _check(address: str, detail: str, _goods: Goods) -> None:
    try:
        parts = urlsplit(shape(address))
        fits = parts.scheme in ("postgresql", "postgres") and parts.port != 0
    except ValueError:
        fits = False
    if not fits or " " in address:
        raise BindError(
            "PostgreSQL needs the URL of a database",
            "it does not begin with postgresql://, or is not escaped where needed",
            "write TO POSTGRES 'postgresql://user@host:5432/database' TABLE 'answers'",
        )
    if not _TABLE.fullmatch(detail):
        raise BindError(
            f"{detail!r} is no name of a table",
            "letters, digits and _ are allowed, and one dot after the name of a schema",
            "write TABLE 'answers' or TABLE 'plant.answers'",
        )


def _shown(address: str, detail: str) -> str:
    parts = urlsplit(shape(address))
    where = parts.netloc.rpartition("@")[2] or "localhost"
    return f"postgres {where}{parts.path}, table {detail}"


def _secret(address: str) -> str:
    return "" if references(address) else unquote(urlsplit(address).password or "")


TARGET = TargetKind(
    "postgres",
    title="PostgreSQL",
    address="URL",
    example="postgresql://user@host:5432/database",
    check=_check,
    shown=_shown,
    text="A row with the newest answer of each query and group, updated in place.",
    detail=Detail("TABLE", "Table", "answers"),
    login=True,
    writer="streamgauge.sinks.table:writer",
    refuses_rows="a table holds one number for each group",
    is_a="database",
    refuse_stored=partial(refuse_secret, what="a database", instead=_NAME_IT),
    secret=_secret,
)
