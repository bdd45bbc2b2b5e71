"""What statements of clients may name: files below the data roots, few settings of databases.

A client whose role is below `operator` acts with the rights of the job. Each path in a statement
is checked with its links resolved, before anything is read, and stored as it was resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.roots import Roots
from streamgauge.kernel.secrets import references
from streamgauge.language.statements import (
    CreateAlert,
    CreateSink,
    CreateStream,
    CreateTable,
    Statement,
)
from streamgauge.sources.places import local_path
from streamgauge.sources.table import DECLARED
from streamgauge.streams.origin import DRIVERS
from streamgauge.targets.table import KINDS

_FILES = ("password_file", "ca", "schema", "tokens")
# What a database is asked for; other settings name files, classes and programs.
_SETTINGS = (
    "sslmode", "ssl", "connect_timeout", "connectTimeout", "socketTimeout", "application_name",
    "ApplicationName", "currentSchema", "target_session_attrs",
)  # fmt: skip
_SERVER = re.compile(r"(?:jdbc:)?postgres(?:ql)?://[^/?#]+(?:/[^/?#]*)?(?:\?(.*))?")

Pairs = Iterable[tuple[str, Any]]


class Confined:
    """Statements kept to the data roots of a server.

    Parameters
    ----------
    roots
        Directories that clients may name files in.
    home
        Data directory of the server, which no client may name.
    root
        Directory that relative paths start from.

    Examples
    --------
    >>> kept = Confined(Roots.of(["/data"]), Path("/srv/home"), Path("/data"))
    >>> kept.statement(CreateTable("limits", "plant/limits.csv")).path
    '/data/plant/limits.csv'
    """

    def __init__(self, roots: Roots, home: Path, root: Path) -> None:
        self.roots = roots
        self.home = home
        self.root = root

    def statement(self, said: Statement) -> Statement:
        """The statement with its paths resolved; raise BindError where a client may not go."""
        if isinstance(said, CreateStream):
            return self._stream(said)
        if isinstance(said, CreateTable) and not said.refresh:
            return self._table(said)
        if isinstance(said, CreateAlert):
            targets = tuple(self._target(*target) for target in said.targets)
            return replace(said, targets=targets)
        if isinstance(said, CreateSink):
            kind, address, place = said.target
            self._check_references(address)
            if KINDS[kind].is_a == "database":
                self._check_database(address)
            to = kind, self._directory(kind, address), place
            return replace(said, target=to, login=self._options(said.login))
        return said

    def _stream(self, said: CreateStream) -> CreateStream:
        options = self._options(said.options)
        kind = DECLARED.get(said.source)
        if kind is not None and kind.address and kind.address.local:
            path = self._path(str(local_path(said.path)))
            # Links that are put below the root later lead nowhere else either.
            return replace(said, path=path, options=(*options, ("within", self._root_of(path))))
        self._check_references(said.path)
        return replace(said, options=options)

    def _table(self, said: CreateTable) -> CreateTable:
        options = self._options(said.options)
        if said.source == "jdbc":
            if dict(options).get("driver", "") not in ("", *DRIVERS.values()):
                raise _for_operators("a driver of its own", "DRIVER names a class that would run")
            self._check_database(said.path)
            return replace(said, options=options)
        if said.source == "delta" and "://" in said.path:
            raise _for_operators("an address of a store", "it is read with the job's credentials")
        path = self._path(said.path if said.source == "delta" else str(local_path(said.path)))
        for link in (one for one in Path(path).rglob("*") if one.is_symlink()):
            self._path(str(link))
        return replace(said, path=path, options=options)

    def _target(
        self, kind: str, address: str, detail: str, login: Pairs
    ) -> tuple[str, str, str, Any]:
        self._check_references(address)
        return kind, self._directory(kind, address), detail, self._options(login)

    def _directory(self, kind: str, address: str) -> str:
        """The address of a target, below a data root where it is a directory."""
        return self._path(address) if KINDS[kind].is_a == "directory" and address else address

    def _options(self, given: Pairs) -> tuple[tuple[str, Any], ...]:
        found = []
        for name, value in given:
            if name == "password_env":
                self.roots.check_variable(str(value))
            elif isinstance(value, str) and name not in _FILES:
                self._check_references(value)
            kept = self._path(str(value)) if name in _FILES else value
            found.append((name, kept))
        return tuple(found)

    def _path(self, path: str) -> str:
        return self.roots.check(self.root / path, self.home)

    def _root_of(self, path: str) -> str:
        return next(root for root in self.roots.paths if Roots((root,)).inside(path))

    def _check_references(self, text: str) -> None:
        for kind, name in references(text):
            if kind == "env":
                self.roots.check_variable(name)
            else:
                self._path(name)

    def _check_database(self, address: str) -> None:
        """Raise unless an address is a host, a database and settings that name nothing else."""
        self._check_references(address)
        found = _SERVER.fullmatch(address)
        host = unquote(urlsplit(address.removeprefix("jdbc:")).netloc.rpartition("@")[2])
        if found is None or host.startswith(("/", "@")) or not host:
            raise _for_operators(
                "this address of a database", "clients name postgresql://host:port/database"
            )
        for part in filter(None, re.split("[&;]", found[1] or "")):
            name = unquote(part.partition("=")[0])
            if name not in _SETTINGS:
                raise _for_operators(
                    f"the setting {name!r} of a database", f"clients set {', '.join(_SETTINGS)}"
                )


def _for_operators(what: str, why: str) -> BindError:
    return BindError(
        f"{what} needs the role operator",
        why,
        "ask the operator to run the statement, or leave it out",
    )
