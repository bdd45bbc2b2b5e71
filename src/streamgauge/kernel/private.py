"""Directories that only this user can write: what lies there is run or believed.

A directory is private when it is one itself (not a link to one), belongs to this user, and neither
its group nor others may write to it. The same must hold for all directories above it, up to the
root, or somebody could put another one in its place: each belongs to this user or to root and is
written by no other, except that names in a sticky directory such as /tmp belong to who made them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def private_directory(path: Path) -> Path | None:
    """A directory, made with mode 0700 where it is absent; None where others could write to it."""
    return path if why_not_private(path) is None else None


def why_not_private(path: Path) -> str | None:
    """Make a directory, and say why it is not private; None where it is."""
    try:
        # Not by `parents=True`, which makes them as the umask lets it.
        for absent in reversed([at for at in (path, *path.parents) if not os.path.lexists(at)]):
            absent.mkdir(exist_ok=True, mode=0o700)
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            return f"{path} is a symbolic link"
        if not stat.S_ISDIR(found.st_mode):
            return f"{path} is not a directory"
        if found.st_uid != os.getuid():
            return f"{path} belongs to user {found.st_uid}"
        if found.st_mode & _OTHERS:
            return f"{path} has mode {stat.S_IMODE(found.st_mode):04o}, so others can write to it"
        if not os.access(path, os.W_OK | os.X_OK):
            return f"{path} cannot be written"
        return _why_above(path.parent)
    except OSError as error:
        return f"{path} cannot be made: {error.strerror}"


def _why_above(parent: Path) -> str | None:
    """Why somebody else could replace a directory by its name; None where nobody could."""
    for named in (parent.absolute(), *parent.absolute().parents):
        if stat.S_ISLNK(named.lstat().st_mode) and named.lstat().st_uid not in (0, os.getuid()):
            return f"{named} is a symbolic link of user {named.lstat().st_uid}"
    real = parent.resolve(strict=True)
    for above in (real, *real.parents):
        found = above.stat()
        if found.st_uid not in (0, os.getuid()):
            return f"{above} belongs to user {found.st_uid}"
        if found.st_mode & _OTHERS and not found.st_mode & stat.S_ISVTX:
            return f"{above} has mode {stat.S_IMODE(found.st_mode):04o}, so others can write to it"
    return None
