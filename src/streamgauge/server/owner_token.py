"""The token of a data directory: made at the first start, readable by its owner alone."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from streamgauge.kernel.errors import BindError, SourceFailure

NAME = "token"
SHORTEST = 32


def owner_token(root: Path) -> str:
    """Return the token of a data directory; make it, with mode 0600, where there is none.

    Raises BindError when another user could read or replace the file.
    """
    path = root / NAME
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise SourceFailure(
            "cannot write the token of this data directory",
            f"{path}: {error.strerror}",
            "make the directory writable, or pass --tokens FILE",
        ) from None
    made = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(made + "\n")
        file.flush()
        os.fsync(file.fileno())
    return made


def _read(path: Path) -> str:
    hint = f"delete {path} and start the server again: it makes another token"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise SourceFailure(
            "cannot read the token of this data directory", f"{path}: {error.strerror}", hint
        ) from None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        text = file.read(1024).decode("ascii", "replace").strip()
    others = stat.S_IRWXG | stat.S_IRWXO
    if found.st_uid != os.getuid() or found.st_mode & others:
        raise BindError(
            "the token of this data directory is not private",
            f"{path} has mode {found.st_mode & 0o777:04o} and owner {found.st_uid}, "
            f"expected 0600 and {os.getuid()}",
            hint,
        )
    if len(text) < SHORTEST or not text.isascii() or not text.isprintable():
        raise BindError(
            "the token of this data directory is damaged",
            f"{path} has {len(text)} characters, expected at least {SHORTEST}",
            hint,
        )
    return text
