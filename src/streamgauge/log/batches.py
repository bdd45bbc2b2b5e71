"""Batches: rows of a message log that were landed together, a folder each, whole or absent.

A folder holds one parquet file for each lane (a partition of a topic) that brought rows, its dead
letters in `_dead`, and `_manifest.json`: up to where each lane was read. The next batch goes on
from there, so whatever else is lost, no record is landed twice and none is left out.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.kernel.files import damaged, number_name, read_json, reading, write_json

MANIFEST = "_manifest.json"
DEAD = "_dead"


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch holds.

    Parameters
    ----------
    number
        Batches of a stream are numbered from 0, without a gap.
    topic
        Where the records come from.
    ends
        Partition -> the offset after the last that was read.
    files
        File name -> lane, for each file of rows, in the order they are to land.
    letters
        File names of dead letters, below `_dead`.
    lost
        Partition, first and last offset that were gone before they could be read.
    """

    number: int
    topic: str
    ends: dict[int, int]
    files: dict[str, str] = field(default_factory=dict)
    letters: tuple[str, ...] = ()
    lost: tuple[tuple[int, int, int], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "number": self.number,
            "topic": self.topic,
            "ends": {str(partition): end for partition, end in sorted(self.ends.items())},
            "files": self.files,
            "letters": list(self.letters),
            "lost": [list(gap) for gap in self.lost],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Batch:
        """Read the JSON form."""
        return cls(
            data["number"],
            data["topic"],
            {int(partition): end for partition, end in data["ends"].items()},
            data["files"],
            tuple(data["letters"]),
            tuple((partition, first, last) for partition, first, last in data["lost"]),
        )


def folder(directory: Path, number: int) -> Path:
    """Folder of a batch."""
    return directory / number_name(number, "")


def manifest(directory: Path, number: int) -> Path:
    """Manifest of a batch."""
    return folder(directory, number) / MANIFEST


def read_batch(directory: Path, number: int) -> Batch:
    """What a batch that is there holds."""
    path = manifest(directory, number)
    what = f"the manifest of batch {number} of stream {directory.name!r}"
    try:
        with reading(path, what):
            return Batch.from_dict(read_json(path, what))
    except FileNotFoundError:
        raise damaged(path, what, "it is absent") from None


def batch_numbers(directory: Path) -> list[int]:
    """Numbers of the batches that are there, ascending."""
    if not directory.is_dir():
        return []
    return sorted(int(entry.name) for entry in directory.iterdir() if entry.name.isdigit())


def newest_batch(directory: Path) -> Batch | None:
    """The newest batch; None before the first."""
    numbers = batch_numbers(directory)
    return read_batch(directory, numbers[-1]) if numbers else None


def put_batch(directory: Path, batch: Batch, parts: dict[Path, str]) -> None:
    """Bring a batch into its place, all of it at once.

    Parameters
    ----------
    parts
        Files on the same disk, each with its name in the folder of the batch.
    """
    building = directory / f"_{number_name(batch.number, '')}"
    shutil.rmtree(building, ignore_errors=True)
    (building / DEAD).mkdir(parents=True)
    for part, name in parts.items():
        part.rename(building / name)
    write_json(building / MANIFEST, batch.as_dict())
    building.rename(folder(directory, batch.number))


def clear_batches(directory: Path, below: int) -> list[Path]:
    """Remove the oldest batches whose rows are elsewhere or past what is kept; where they were.

    The newest batch stays: a landing goes on from its manifest.
    """
    gone = []
    for number in batch_numbers(directory)[:-1]:
        place = folder(directory, number)
        if number >= below or any(not entry.name.startswith("_") for entry in place.iterdir()):
            break
        shutil.rmtree(place)
        gone.append(place)
    return gone
