"""Durable files: whole or absent, never half written; records that show when they are damaged.

A file is written under another name, flushed to the disk and renamed. Readers see all of it or
none of it, whatever dies meanwhile. A JSON object ends with a checksum of the text before it, so
a record that a disk or a hand has changed is refused and not believed.
"""

from __future__ import annotations

import errno
import json
import os
import re
import struct
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamgauge.kernel.errors import EngineFailure, StateTooOld, StreamgaugeError

CHECK = "crc32"
_CHECKED = re.compile(rb',?"crc32":(\d{1,10})\}$')
_TAIL = 32
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is whole or absent after any crash."""
    with _written_beside(path, data) as partial:
        partial.replace(path)


def write_new(path: Path, data: bytes) -> bool:
    """Write a file that is whole or absent, unless one is there; whether it was written."""
    with _written_beside(path, data) as partial:
        try:
            os.link(partial, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # A store without links: only the one process that commits comes here.
            if path.exists():
                return False
            partial.replace(path)
        return True


@contextmanager
def _written_beside(path: Path, data: bytes) -> Iterator[Path]:
    """A file that is on the disk under another name, which goes unless it was renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield partial
    except OSError as error:
        partial.unlink(missing_ok=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise EngineFailure(
                f"the disk is full: {path.name} was not written",
                f"{len(data)} bytes wanted in {path.parent}",
                "free some space and start again: it goes on from the last committed epoch",
            ) from error
        raise
    else:
        partial.unlink(missing_ok=True)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write JSON as a whole file, an object with its checksum; equal values give equal bytes."""
    write_whole(path, _json(value))


def put_json(path: Path, value: Any) -> bool:
    """Write JSON as a whole file unless one is there; whether it was written."""
    return write_new(path, _json(value))


def _json(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":")).encode()
    if isinstance(value, dict):
        comma = b"," if value else b""
        text = b'%s%s"crc32":%d}' % (text[:-1], comma, zlib.crc32(text))
    return text


def read_json(path: Path, what: str = "a record") -> Any:
    """Read a JSON file; refuse one that is damaged with StateTooOld, saying `what` it is."""
    return parse_json(path.read_bytes(), path, what)


def parse_json(data: bytes, path: Path, what: str) -> Any:
    """Read the JSON of a file; its checksum, where it has one, must agree."""
    with reading(path, what):
        found = json.loads(data)
        if isinstance(found, dict):
            told = found.pop(CHECK, None)
            if told is not None and told != _checksum(data):
                raise damaged(path, what, "its checksum does not agree")
        return found


def _checksum(data: bytes) -> int | None:
    """Checksum of an object's text without the checksum; None where it does not end with one."""
    last = _CHECKED.search(data, max(0, len(data) - _TAIL))
    return None if last is None else zlib.crc32(b"}", zlib.crc32(data[: last.start()]))


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a reader stumbles over in a damaged file into StateTooOld."""
    try:
        yield
    except StreamgaugeError:
        raise
    except (
        ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError,
        NotImplementedError, struct.error,
    ) as error:  # fmt: skip
        reason = f"{error} is absent" if isinstance(error, KeyError) else str(error)
        raise damaged(path, what, reason) from error


def damaged(path: Path, what: str, reason: str) -> StateTooOld:
    """The error of a file of a data directory that cannot be believed."""
    return StateTooOld(
        f"{what} is damaged",
        f"{path}: {reason}",
        "stop the job and run: streamgauge check --repair; it says what is lost and repairs what "
        "it can. Or restore the file from a copy",
    )


def numbered(directory: Path, suffix: str) -> list[int]:
    """Numbers of the files `000000000012<suffix>` in a directory, ascending."""
    if not directory.is_dir():
        return []
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries if entry.name.endswith(suffix)]
    stems = (name.removesuffix(suffix) for name in names)
    return sorted(int(stem) for stem in stems if stem.isdigit())


def number_name(number: int, suffix: str) -> str:
    """File name of a number, in an order that sorts as text."""
    return f"{number:012d}{suffix}"
