"""Origin: where the rows of a table are read: a file or a directory, a database, a lake."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.login import Login
from streamgauge.kernel.secrets import refuse_secret, secret_kind

# Drivers that `streamgauge jars` can fetch; any other is named by its class.
DRIVERS = {"postgresql": "org.postgresql.Driver"}

_URL = re.compile(r"jdbc:(\w+):\S+")
_PASSWORD = re.compile(r"[?&;]\w*(password|secret|token)\w*=|://[^/?@]*:[^/?@]*@", re.I)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a table is read from. It names secrets, and never holds one.

    Parameters
    ----------
    kind
        file, jdbc or delta.
    place
        A path, or the address of a database.
    options
        Of a database: table or query, user, password_file or password_env, driver.

    Examples
    --------
    >>> print(jdbc("jdbc:postgresql://db/plant", table="public.limits", user="reader"))
    jdbc:postgresql://db/plant table public.limits
    >>> jdbc("jdbc:postgresql://db/plant?password=open", table="t")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: an address with a password in it is not kept
      detail: it would stand in the journal for everyone who reads the home
      hint: leave it out; name a file with PASSWORD FILE, or a variable with PASSWORD ENV
    """

    kind: str
    place: str
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str | None:
        """One option, or None."""
        return dict(self.options).get(name)

    def __str__(self) -> str:
        asked = [f"{word} {self.option(word)}" for word in ("table", "query") if self.option(word)]
        return " ".join([*(["delta"] if self.kind == "delta" else []), self.place, *asked])

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"kind": self.kind, "place": self.place, **dict(self.options)}

    @classmethod
    def from_dict(cls, data: dict[str, str]) -> Origin:
        """Read the JSON form."""
        rest = {name: value for name, value in data.items() if name not in ("kind", "place")}
        return cls(data["kind"], data["place"], tuple(rest.items()))


def file(path: str | Path) -> Origin:
    """A parquet, CSV or JSON lines file, or a directory of parquet files."""
    return Origin("file", str(Path(path)))


def delta(path: str | Path) -> Origin:
    """A Delta table: a directory, or an address such as s3://bucket/table."""
    there = "://" in str(path)
    if there:
        refuse_secret(str(path), "a Delta table", "leave it out: the store reads its own variables")
    return Origin("delta", str(path) if there else str(Path(path).absolute()))


def jdbc(
    url: str,
    *,
    table: str | None = None,
    query: str | None = None,
    user: str | None = None,
    password_file: str | Path | None = None,
    password_env: str | None = None,
    driver: str | None = None,
) -> Origin:
    """A table of a database, or the rows of a query in its own SQL, read by Spark.

    Parameters
    ----------
    url
        Address as Java spells it, such as jdbc:postgresql://host:5432/database; no password in it.
    table
        A table or view of the database.
    query
        A SELECT of the database, instead of a table.
    user
        Who reads.
    password_file
        A file whose first line is the password.
    password_env
        A variable in the environment of the process that reads.
    driver
        Class of the driver; known for PostgreSQL.
    """
    if _PASSWORD.search(url) or secret_kind(url) is not None:
        raise BindError(
            "an address with a password in it is not kept",
            "it would stand in the journal for everyone who reads the home",
            "leave it out; name a file with PASSWORD FILE, or a variable with PASSWORD ENV",
        )
    found = _URL.fullmatch(url)
    if found is None:
        raise BindError(
            f"{url!r} is no address of a database",
            "it must begin with jdbc: and the kind of the database",
            "write 'jdbc:postgresql://host:5432/database'",
        )
    if driver is None and found[1] not in DRIVERS:
        raise BindError(
            f"no driver is known for {found[1]!r}",
            f"known are {', '.join(DRIVERS)}",
            "name its class with DRIVER 'org.example.Driver', and its jar in spark.jars",
        )
    if (table is None) == (query is None):
        raise BindError(
            "a database is read by a table or by a query",
            "none of them is given" if table is None else "both are given",
            "write TABLE 'schema.name' or QUERY 'SELECT ...'",
        )
    login = Login.of(user=user, password_file=password_file, password_env=password_env)
    options = {"table": table, "query": query, **login.as_dict(), "driver": driver}
    return Origin("jdbc", url, tuple((n, value) for n, value in options.items() if value))
