"""Durable files: whole or absent, never half written.

A file is written under another name, flushed to the disk and renamed. Readers see all of it or
none of it, whatever dies meanwhile.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from pathlib import Path
from typing import Any

from streamgauge.kernel.errors import EngineFailure


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is whole or absent after any crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise EngineFailure(
                f"the disk is full: {path.name} was not written",
                f"{len(data)} bytes wanted in {path.parent}",
                "free some space and start again: it goes on from the last committed epoch",
            ) from error
        raise


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write JSON as a whole file; equal values give equal bytes."""
    write_whole(path, json.dumps(value, separators=(",", ":")).encode())


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_bytes())


def numbered(directory: Path, suffix: str) -> list[int]:
    """Numbers of the files `000000000012<suffix>` in a directory, ascending."""
    if not directory.is_dir():
        return []
    names = [entry.name for entry in os.scandir(directory) if entry.name.endswith(suffix)]
    stems = (name.removesuffix(suffix) for name in names)
    return sorted(int(stem) for stem in stems if stem.isdigit())


def number_name(number: int, suffix: str) -> str:
    """File name of a number, in an order that sorts as text."""
    return f"{number:012d}{suffix}"
