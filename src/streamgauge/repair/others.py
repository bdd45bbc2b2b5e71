"""What else lies in a data directory: spools, batches, followers, notes, leftovers of crashes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamgauge.edge.clock import wall_clock
from streamgauge.kernel.files import number_name, numbered, read_json
from streamgauge.kernel.time import MINUTE
from streamgauge.log import batches
from streamgauge.log.feeding import Feeding
from streamgauge.log.home import Home
from streamgauge.log.messages import messages_in
from streamgauge.log.spool import HEAD, PART, SNAPSHOT, Spool, goes_on, record_at
from streamgauge.repair.finding import REMOVE, SET_ASIDE, Notes

_RESTORE = "restore the file from a copy"
_NO_MORE = "nothing after a crash; else restore the file from a copy"
# Whoever writes a file renames it within moments.
LEFTOVER = MINUTE
_SHORTEST_TOKEN = 32


def _object(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise TypeError("it is no JSON object")
    return found


def _follower(path: Path) -> None:
    found = _object(path)
    int(found["epoch"])
    dict(found["state"])


def _origin(path: Path) -> None:
    str(_object(path)["origin"])


def _ledger(path: Path) -> None:
    found = _object(path)
    if found["format"] != 1 or not isinstance(found["topic"], str):
        raise ValueError("it is not the place in a topic")


def _feeding(path: Path) -> None:
    Feeding(**_object(path))


def _with(*keys: str) -> Callable[[Path], object]:
    """Read an object that has some keys."""

    def read(path: Path) -> object:
        found = _object(path)
        return [found[key] for key in keys]

    return read


def _number(path: Path) -> None:
    int(read_json(path))


def _token(path: Path) -> None:
    text = path.read_bytes().decode("ascii").strip()
    if len(text) < _SHORTEST_TOKEN or not text.isprintable():
        raise ValueError(f"it has {len(text)} characters, expected at least {_SHORTEST_TOKEN}")


def _acknowledged(path: Path) -> None:
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if line:
            try:
                key, place = json.loads(line)
                f"{key:s} {place:d}"
            except (ValueError, TypeError) as error:
                raise ValueError(f"line {number} of it cannot be read") from error


# Files by their place: what each is, how it is read, what its damage means, what a repair does,
# and what is to be done where a repair would lose something.
_FILES: tuple[tuple[str, str, Callable[[Path], object], str, str, str], ...] = (
    ("feeds/*.json", "how a stream is read", _feeding, "it is written again", REMOVE, ""),
    ("tables/*.json", "how a table is read again", _object, "it is written again", REMOVE, ""),
    (
        "edge/*/status.json", "figures of agents", _with("stream", "agents", "objects"),
        "it is written again", REMOVE, "",
    ),
    (
        "mqtt/*/heard.json", "what a broker said", _with("full", "connected", "trouble"),
        "it is written again", REMOVE, "",
    ),
    (
        "sinks/*/state.json", "how far a sink is", _follower,
        "nothing: the target has the place that decides; its count begins at 0", SET_ASIDE, "",
    ),
    (
        "token", "the token of the server", _token,
        "no client with it is let in; the next start of the server makes another", SET_ASIDE, "",
    ),
    (
        "sinks/origin.json", "what tells these sinks from others", _origin,
        "sinks cannot deliver: under another name their targets would take all answers again",
        "", _RESTORE,
    ),
    (
        "alerts/state.json", "which alerts are raised and wait", _follower,
        "alerts cannot go on; deliveries that waited are not known any more", "",
        f"{_RESTORE}, or move it away: alerts begin again at the newest epoch",
    ),
    (
        "alerts/acknowledged.jsonl", "alerts that were delivered", _acknowledged,
        "an alert may be delivered a second time after a crash", "",
        "nothing: the job writes it again when it runs",
    ),
    (
        "audit/state.json", "what the auditor has found", _follower,
        "the auditor cannot go on", "",
        f"{_RESTORE}, or move it away: the auditor begins again without its evidence",
    ),
    (
        "control-topics/*.json", "how far a control topic was read", _ledger,
        "which statements of the topic were taken is not known any more", "", _RESTORE,
    ),
    (
        "mqtt/*/subscription.json", "the name of this client at its broker", _object,
        "the broker does not know which messages are left for this client", "",
        f"{_RESTORE}, or move it away: messages sent while nobody listened are lost",
    ),
    (
        "incoming/*/_replay.json", "what is replayed", _object,
        "the replay cannot go on", "", _RESTORE,
    ),
    (
        "incoming/*/_next.json", "how far a replay is", _number,
        "the replay cannot go on", "", _RESTORE,
    ),
    (
        "incoming/*/_landing.json", "who writes the rows of a DataFrame", _with("query"),
        "the stream cannot go on", "", _RESTORE,
    ),
)  # fmt: skip


def look_at_others(home: Home, notes: Notes) -> None:
    """Look at all that is neither an epoch nor rows."""
    for pattern, what, read, means, repair, advice in _FILES:
        for path in sorted(home.root.glob(pattern)):
            with notes.looking(path, what, means, repair=repair, advice=advice):
                read(path)
    delivered = any(home.root.glob("sinks/*/state.json"))
    if delivered and not (home.root / "sinks" / "origin.json").exists():
        _, what, _, means, _, advice = next(row for row in _FILES if row[0] == "sinks/origin.json")
        path = home.root / "sinks" / "origin.json"
        notes.add(path, what, "it is absent", means, advice=advice)
    for folder in sorted([*home.root.glob("pushed/*"), *home.root.glob("edge/*/spool")]):
        _look_at_spool(folder, notes)
    for folder in sorted(home.root.glob("mqtt/*/messages")):
        _look_at_messages(folder, notes)
    for folder in sorted((home.root / "incoming").glob("*")):
        _look_at_batches(folder, notes)
    _look_for_leftovers(home.root, notes)


def _look_at_spool(folder: Path, notes: Notes) -> None:
    pushed = folder.parent.name == "pushed"
    whose = folder.name if pushed else folder.parent.name
    means = (
        f"rows that clients pushed to {whose!r} and that are in no file yet may be lost"
        if pushed
        else f"what agents of stream {whose!r} reported since the last tick may be lost"
    )
    newest = max(numbered(folder, SNAPSHOT), default=0)
    for number in numbered(folder, SNAPSHOT):
        path = folder / number_name(number, SNAPSHOT)
        with notes.looking(path, "the snapshot of a spool", means, advice=_RESTORE):
            if number == newest:
                Spool(folder).snapshot()
            else:
                _object(path)
    parts = [number for number in numbered(folder, PART) if number >= newest]
    for number in parts:
        path = folder / number_name(number, PART)
        with notes.looking(path, "a spool", means, advice=_RESTORE):
            _read_records(path, notes, last=number == parts[-1])


def _read_records(path: Path, notes: Notes, *, last: bool) -> None:
    """Read all records; one that is torn at the end never was acknowledged."""
    data, place = path.read_bytes(), 0
    while place < len(data):
        record = record_at(data, place)
        if record is None:
            if last and not goes_on(data, place):
                left = f"{len(data) - place} bytes after byte {place} are no whole record"
                means = "nothing, where a crash cut the last record, which was not acknowledged"
                notes.add(path, "the end of a spool", left, means, harmless=True, advice=_NO_MORE)
                return
            raise ValueError(f"a record at byte {place} of {len(data)} does not match its checksum")
        place += HEAD.size + len(record)


def _look_at_messages(folder: Path, notes: Notes) -> None:
    means = f"messages of {folder.parent.name!r} that are no rows yet are lost"
    parts = numbered(folder, PART)
    for number in parts:
        path = folder / number_name(number, PART)
        with notes.looking(path, "messages of a broker", means, advice=_RESTORE):
            _read_records(path, notes, last=number == parts[-1])
            after = number + messages_in(path)
            if number != parts[-1] and after not in parts:
                raise ValueError(f"the part with message {after}, which follows it, is absent")


def _look_at_batches(folder: Path, notes: Notes) -> None:
    numbers = batches.batch_numbers(folder)
    if not any(batches.manifest(folder, number).exists() for number in numbers):
        return
    for number in numbers:
        path = batches.manifest(folder, number)
        means = f"where the next batch of stream {folder.name!r} begins is not known any more"
        with notes.looking(path, f"the manifest of batch {number}", means, advice=_RESTORE):
            batches.read_batch(folder, number)
    for building in sorted(folder.glob("_[0-9]*")):
        told = "nothing: the batch is written again"
        notes.add(
            building, "a batch in the making", "a crash left it", told, repair=REMOVE, harmless=True
        )


def _look_for_leftovers(root: Path, notes: Notes) -> None:
    edge = wall_clock() - LEFTOVER
    for path in sorted(root.rglob(".*.tmp")):
        inside = path.relative_to(root).parts[0]
        if inside in ("checkpoint", "landing") or path.stat().st_mtime_ns // 1000 > edge:
            continue
        notes.add(
            path, "a file in the making", "a crash left it", "nothing", repair=REMOVE, harmless=True
        )
