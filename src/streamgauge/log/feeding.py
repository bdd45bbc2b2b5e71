"""How the feeds of streams go: written by the process that runs a home, read by any."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from streamgauge.kernel.files import read_json, reading, write_json
from streamgauge.kernel.time import Instant
from streamgauge.log.home import Home
from streamgauge.log.lock import held


@dataclass(frozen=True, slots=True)
class Feeding:
    """How a stream is fed now.

    Parameters
    ----------
    state
        `reading`; `waiting` for a source that is away, which is tried again; `failed`, which a
        start of the job tries again; `ended`, at the end of a recording.
    reason
        Why it waits or failed.
    since
        When that began.
    """

    state: str
    reason: str
    since: Instant


def note_feeding(home: Home, stream: str, told: Feeding) -> None:
    """Write down how the feed of a stream goes."""
    write_json(_note(home, stream), asdict(told))


def forget_feeding(home: Home, stream: str | None = None) -> None:
    """Remove what was written of a stream that is fed no longer, or of all."""
    if stream is None:
        shutil.rmtree(_folder(home), ignore_errors=True)
    else:
        _note(home, stream).unlink(missing_ok=True)


def feeding_of(home: Home, stream: str) -> Feeding | None:
    """How a stream is fed; None where nothing feeds it, or where no job runs that would."""
    try:
        path = _note(home, stream)
        with reading(path, f"the note of how stream {stream!r} is read"):
            told = Feeding(**read_json(path))
    except FileNotFoundError:
        return None
    # What a killed job wrote says nothing of now, but for what it may have ended by.
    return told if told.state == "failed" or held(home.root) else None


def _folder(home: Home) -> Path:
    return home.root / "feeds"


def _note(home: Home, stream: str) -> Path:
    return _folder(home) / f"{quote(stream, safe='')}.json"
