"""Roots: the directories that statements of clients may name files in."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from streamgauge.kernel.errors import BindError

# Variables of the environment that a client may name as the place of a password.
SECRET_PREFIX = "STREAMGAUGE_SECRET_"  # noqa: S105 - the start of a name


@dataclass(frozen=True, slots=True)
class Roots:
    """Directories that the operator opens to clients whose role is below `operator`.

    Parameters
    ----------
    paths
        Directories, with links resolved; none: clients name no file at all.

    Examples
    --------
    >>> Roots.of(["/data"]).inside("/data/plant/a.csv"), Roots.of(["/data"]).inside("/database")
    (True, False)
    >>> Roots().inside("/data")
    False
    """

    paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, paths: Iterable[str | Path] | Roots) -> Roots:
        """Read a list of directories; links in them are resolved now."""
        if isinstance(paths, Roots):
            return paths
        if isinstance(paths, str | Path):
            paths = (paths,)
        return cls(tuple(dict.fromkeys(os.path.realpath(path) for path in paths)))

    def inside(self, path: str | Path) -> bool:
        """Whether a path, its links resolved, is one of the directories or below one."""
        real = os.path.realpath(path)
        return any(_below(real, root) for root in self.paths)

    def check(self, path: str | Path, home: str | Path) -> str:
        """Return the path with its links resolved; raise BindError where a client may not go.

        The home is closed even below a root: it holds the token of the server.
        """
        text = str(path)
        # No file has such a name, and the system refuses to look it up.
        real = "" if "\0" in text else os.path.realpath(text)
        if real and self.inside(real):
            own = os.path.realpath(home)
            if not _below(real, own) and not _below(own, real):
                return real
            raise BindError(
                f"clients cannot name {text!r}",
                "it holds the data directory of the server, or is part of it",
                "name a directory of data beside it",
            )
        raise BindError(
            f"{text!r} is not below a data root",
            f"data roots of this server: {', '.join(self.paths) or 'none'}",
            "name a path below one of them, or ask the operator for --data-root DIR",
        )

    def check_variable(self, name: str) -> None:
        """Raise unless a client may name a variable of the job's environment."""
        if not name.startswith(SECRET_PREFIX):
            raise BindError(
                f"clients cannot use the variable {name!r}",
                f"its name does not begin with {SECRET_PREFIX}",
                f"ask the operator to set {SECRET_PREFIX}{name} for the job, and name that",
            )


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


NO_ROOTS = Roots()
