"""Logs: what happens to a home, one line for each event, as text or JSON.

Lines go through the standard logging module under the name `streamgauge`. A line names things and
says why; it never has rows, the text of a query, a source's address or a token.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.engine.catalog import registry_at
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.log import lock
from streamgauge.log.journal import Journal
from streamgauge.plan.registry import Standing
from streamgauge.reading import Reader
from streamgauge.results.change_log import commits, epoch_answers

LOG = logging.getLogger("streamgauge")
KINDS = ("json", "text")
SLOW_SECONDS = 5.0
POLL_SECONDS = 0.5
# More events of one kind in an epoch are one line with their number.
MOST = 20
LONGEST_TEXT = 500
HIDDEN = "(hidden)"

# Events go nowhere unless somebody listens.
LOG.addHandler(logging.NullHandler())

_SECRET = re.compile(r"token|password|passwd|secret|authorization|credential|api_?key", re.I)
_IN_TEXT = (
    (re.compile(r"\bbearer\s+\S+", re.I), f"Bearer {HIDDEN}"),
    (re.compile(r"(\w[\w+.-]*://)[^\s/@]+@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            r"\b(\w*(?:token|password|passwd|secret|api_?key)\w*)(['\"]?\s*[=:]\s*)"
            r"(?:'[^']*'|\"[^\"]*\"|[^\s,;)}]+)",
            re.I,
        ),
        rf"\1\2{HIDDEN}",
    ),
)
_PLAIN = re.compile(r"[\w.:/@%+-]+")


def note(event: str, *, level: str = "info", **fields: Any) -> None:
    """Write down that something happened.

    Parameters
    ----------
    event
        What, in a few fixed words, such as "query registered".
    level
        debug, info, warning or error.
    fields
        Names and figures that belong to it; None is left out, secrets are hidden.
    """
    number = logging.getLevelNamesMapping()[level.upper()]
    if LOG.isEnabledFor(number):
        kept = {name: _clean(name, value) for name, value in fields.items() if value is not None}
        LOG.log(number, "%s", event, extra={"fields": kept})


def _clean(name: str, value: Any) -> Any:
    """A value without secrets, and not too long."""
    if _SECRET.search(name):
        return HIDDEN
    if isinstance(value, bool | int | float):
        return value
    text = str(value).encode("utf-8", "replace").decode()
    for pattern, instead in _IN_TEXT:
        text = pattern.sub(instead, text)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, event, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line of a record."""
        return json.dumps(_parts(record), ensure_ascii=False, allow_nan=False, default=str)


class TextLines(logging.Formatter):
    """One line for people: time, level, event, then name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line of a record."""
        parts = _parts(record)
        time, level, event = (parts.pop(key) for key in ("time", "level", "event"))
        said = "".join(f" {name}={_quoted(value)}" for name, value in parts.items())
        return f"{time} {level} {_one_line(event)}{said}"


def _parts(record: logging.LogRecord) -> dict[str, Any]:
    when = datetime.fromtimestamp(record.created, UTC)
    fields = getattr(record, "fields", {})
    if record.exc_info and record.exc_info[1] is not None:
        fields = {**fields, "error": _clean("error", repr(record.exc_info[1]))}
    return {
        "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "event": _clean("event", record.getMessage()),
        **{name: _sayable(value) for name, value in fields.items()},
    }


def _sayable(value: Any) -> Any:
    """JSON has no infinities."""
    return str(value) if isinstance(value, float) and value - value != 0.0 else value


def _one_line(text: str) -> str:
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _quoted(value: Any) -> str:
    """A value that cannot be taken for another field or another line."""
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def write(kind: str, stream: TextIO) -> logging.Handler:
    """Write events to a stream from now on, as `json` or `text`; give what `silence` takes back."""
    written = logging.StreamHandler(stream)
    written.setFormatter(JsonLines() if kind == "json" else TextLines())
    LOG.addHandler(written)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    return written


def silence(written: logging.Handler) -> None:
    """Write events there no longer."""
    LOG.removeHandler(written)
    written.flush()
    if not any(isinstance(one.formatter, JsonLines | TextLines) for one in LOG.handlers):
        LOG.propagate = True
        LOG.setLevel(logging.NOTSET)


class Chronicle:
    """Follows a home and writes down what happens to it.

    Parameters
    ----------
    reader
        The home.
    slow
        Seconds from which an epoch is slow.
    """

    def __init__(self, reader: Reader, slow: float = SLOW_SECONDS) -> None:
        self.reader = reader
        self.slow = slow
        home = reader.home
        self._journal = Journal(home)
        self._epoch = home.committed()
        self._registry = registry_at(home, self._epoch)
        self._known = dict(self._registry.queries)
        self._running = False
        self._agents = self._agent_states()
        newest = reader.latest()
        self._broken = {(a.query, _text(a.group)) for a in newest if not a.contract_met}
        self._silent = {(a.query, _text(a.group)) for a in newest if a.basis == "interrupted"}
        self._unread = False
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Follow the home in a thread."""
        self._halt.clear()
        self._thread = threading.Thread(target=self._follow, name="streamgauge-log", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Follow it no longer; what is committed by now is written down."""
        if self._thread is not None:
            self._halt.set()
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Chronicle:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _follow(self) -> None:
        while not self._halt.wait(POLL_SECONDS):
            self._try()
        self._try()

    def _try(self) -> None:
        try:
            self.read()
        except (StreamgaugeError, OSError, ValueError, KeyError) as error:
            # A home that cannot be read now may be readable in a moment; once said is enough.
            if not self._unread:
                note("home unreadable", level="error", why=type(error).__name__)
            self._unread = True
        else:
            self._unread = False

    def read(self) -> None:
        """Write down what happened since the last time."""
        self._note_job()
        for record in commits(self.reader.home, after=self._epoch):
            for number in range(self._epoch + 1, record["epoch"] + 1):
                self._note_page(number)
                self._note_answers(number)
                self._epoch = number
            for name, why in self._rebuilt(record).items():
                note("state rebuilt", level="warning", query=name, epoch=record["epoch"], why=why)
            if record["seconds"] >= self.slow:
                note("epoch slow", level="warning", epoch=record["epoch"],
                     seconds=record["seconds"], rows=record["rows"])  # fmt: skip
        self._note_agents()

    def _rebuilt(self, record: dict[str, Any]) -> dict[str, str]:
        """Queries whose state could not be read and began anew, and why."""
        parts = (receipt.get("rebuilt", {}) for receipt in record["shards"])
        return {name: why for part in parts for name, why in part.items()}

    def _note_job(self) -> None:
        running = lock.held(self.reader.home.root)
        if running != self._running:
            note("job started" if running else "job stopped", epoch=self.reader.home.committed())
        self._running = running

    def _note_page(self, number: int) -> None:
        """Changes of queries, by comparing what is registered before and after."""
        page = self._journal.page(number)
        self._registry = registry_at(self.reader.home, number, self._registry, read=page)
        for refused in page.refused:
            note("query refused", level="warning", epoch=number, code=refused["code"],
                 why=refused["message"], hint=refused["hint"])  # fmt: skip
        if not page.changes:
            return
        before, after = self._known, self._registry.queries
        changed = [new for name, new in after.items() if before.get(name) is not new]
        gone = [old for name, old in before.items() if name not in after]
        happened: dict[str, list[Standing]] = {}
        for new in changed:
            happened.setdefault(_change(before.get(new.name), new), []).append(new)
        happened["query dropped"] = gone
        for event, standings in happened.items():
            if event == "query suspended":
                for s in standings[:MOST]:
                    note(event, level="error", epoch=number, query=s.name, why=s.suspended)
            elif event:
                _note_many(event, number, [(s.name, s.version) for s in standings])
        self._known = dict(after)
        # A new version begins well: groups of the old one are not heard of again.
        same = {name for name, old in before.items() if _same_version(old, after.get(name))}
        for held in (self._broken, self._silent):
            held.intersection_update({pair for pair in held if pair[0] in same})

    def _note_answers(self, number: int) -> None:
        """Contracts that broke or hold again, and streams that fell silent or came back."""
        table = epoch_answers(self.reader.home, number)
        if not table.num_rows:
            return
        bad = pc.invert(table["contract_met"])
        self._turn(table, bad, self._broken, number, ("contract broken", "contract held again"))
        before = self._silent_streams()
        mute = pc.equal(table["basis"], "interrupted")
        self._turn(table, mute, self._silent, number, None)
        after = self._silent_streams()
        for stream in sorted(after - before):
            note("source interrupted", level="warning", stream=stream, epoch=number)
        for stream in sorted(before - after):
            note("source back", stream=stream, epoch=number)

    def _turn(
        self,
        table: pa.Table,
        bad: pa.ChunkedArray,
        held: set[tuple[str, str]],
        number: int,
        events: tuple[str, str] | None,
    ) -> None:
        """Bring a set of groups that are not well up to the answers of an epoch."""
        before = {name for name, _ in held}
        ill_now = set(table["query"].filter(bad).unique().to_pylist())
        names = pa.array(sorted(before | ill_now), pa.string())
        worth = pc.is_in(table["query"], names)
        columns = [table[name].filter(worth).to_pylist() for name in ("query", "version", "group")]
        versions: dict[str, int] = {}
        for name, version, group, ill in zip(*columns, bad.filter(worth).to_pylist(), strict=True):
            versions[name] = version
            if ill:
                held.add((name, group or ""))
            else:
                held.discard((name, group or ""))
        after = {name for name, _ in held}
        if events is not None:
            worse = [(name, versions.get(name, 0)) for name in sorted(after - before)]
            better = [(name, versions.get(name, 0)) for name in sorted(before - after)]
            _note_many(events[0], number, worse, level="warning")
            _note_many(events[1], number, better)

    def _silent_streams(self) -> set[str]:
        queries = self._registry.queries
        known = {name for name, _ in self._silent if name in queries}
        return {stream for name in known for stream in queries[name].asked.streams}

    def _agent_states(self) -> dict[tuple[str, str], str]:
        rows = self.reader.agents().select(["stream", "agent", "state"]).to_pylist()
        return {(row["stream"], row["agent"]): row["state"] for row in rows}

    def _note_agents(self) -> None:
        now = self._agent_states()
        for (stream, agent), state in now.items():
            before = self._agents.get((stream, agent))
            if state == "interrupted" and before != state:
                note("source interrupted", level="warning", stream=stream, agent=agent)
            elif state == "heard" and before == "interrupted":
                note("source back", stream=stream, agent=agent)
        self._agents = now


_SWITCHED = {"paused": "query paused", "suspended": "query suspended"}


def _change(old: Standing | None, new: Standing) -> str:
    """What happened to a query that is there now; nothing when it is as it was."""
    if old is None or old.id != new.id:
        return "query registered"
    if old.version != new.version:
        return "query altered"
    if old.status != new.status:
        return _SWITCHED.get(new.status, "query resumed")
    return ""


def _same_version(old: Standing, new: Standing | None) -> bool:
    return new is not None and (old.id, old.version) == (new.id, new.version)


def _note_many(
    event: str, epoch: int, queries: Iterable[tuple[str, int]], level: str = "info"
) -> None:
    """A line for each query, or one for all when they are many."""
    queries = list(queries)
    if len(queries) > MOST:
        note(event, level=level, epoch=epoch, queries=len(queries), first=queries[0][0])
        return
    for name, version in queries:
        note(event, level=level, query=name, version=version, epoch=epoch)


def _text(group: tuple[Any, ...]) -> str:
    """A group as the table of answers has it."""
    return json.dumps(list(group)) if group else ""
