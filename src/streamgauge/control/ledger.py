"""Ledger: how far a home has come in a control topic, and what the newest record of it left.

What a record changes is written here, under the names it will have in the inbox, before it is left
there. One write says both that the record is taken and what follows from it: after a crash what
is in neither inbox nor journal is left again, under the same names, so each change is made once.
"""

from __future__ import annotations

import hashlib
from typing import Any

from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import damaged, read_json, write_json
from streamgauge.log import inbox
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal

FORMAT = 1
Named = tuple[str, dict[str, Any]]


class Ledger:
    """What one home has taken of one topic.

    Parameters
    ----------
    home
        The home that statements change.
    topic
        Where they come from.

    Examples
    --------
    >>> import tempfile
    >>> home = Home.open(tempfile.mkdtemp(), shards=1)
    >>> ledger = Ledger(home, "statements")
    >>> ledger.meet("cluster", 0)
    >>> ledger.refuse(0, {"ok": False})
    >>> again = Ledger(home, "statements")
    >>> again.next, again.reply, again.missing()
    (1, {'ok': False}, [])
    """

    def __init__(self, home: Home, topic: str) -> None:
        self.home = home
        digest = hashlib.sha256(topic.encode()).hexdigest()[:16]
        self.path = home.root / "control-topics" / f"{digest}.json"
        self._kept: dict[str, Any] = {"format": FORMAT, "topic": topic, "cluster": None}
        if self.path.exists():
            self._kept = read_json(self.path, "the place in a control topic")
            if not isinstance(self._kept, dict):
                raise damaged(self.path, "the place in a control topic", "it is no object")
            if self._kept.get("format") != FORMAT:
                raise StateTooOld(
                    "the place in a control topic was written by another release",
                    f"{self.path.name} has format {self._kept.get('format')!r}, not {FORMAT}",
                    "run the release that wrote it",
                )

    @property
    def next(self) -> int | None:
        """Offset of the next record to take; None before the first."""
        found: int | None = self._kept.get("next")
        return found

    @property
    def reply(self) -> dict[str, Any] | None:
        """What was answered to the newest record."""
        found: dict[str, Any] | None = self._kept.get("reply")
        return found

    def meet(self, cluster: str | None, start: int) -> None:
        """Begin at an offset of a cluster, or make sure that it is the one from before."""
        known = self._kept["cluster"]
        if self.next is not None and known != cluster:
            raise StateTooOld(
                f"the control topic {self._kept['topic']!r} is that of another cluster",
                f"this home has taken {self.next} records of cluster {known}, found is {cluster}",
                "go back to the first cluster, or take another topic",
            )
        if self.next is None:
            self._write(cluster=cluster, next=start)

    def refuse(self, offset: int, reply: dict[str, Any]) -> None:
        """Note that a record was taken and changes nothing."""
        self._write(next=offset + 1, leaving=[], reply=reply)

    def leave(self, offset: int, trial: Trial, reply: dict[str, Any]) -> tuple[str, ...]:
        """Leave what a record changes in the inbox, once; return the names it has there."""
        trial.write_files()
        named = [(inbox.new_name(), record) for record in trial.records]
        page = Journal(self.home).last()
        self._write(next=offset + 1, page=page, leaving=named, reply=reply)
        return self.leave_again(named)

    def leave_again(self, named: list[Named]) -> tuple[str, ...]:
        """Leave records in the inbox under the names that were written down for them."""
        return tuple(inbox.submit(self.home, record, name) for name, record in named)

    def missing(self) -> list[Named]:
        """Records of the newest statement that a crash has kept from the inbox."""
        left = inbox.names(self.home)
        journal = Journal(self.home)
        pages = range(self._kept.get("page", 0) + 1, journal.last() + 1)
        landed = {name for number in pages for name in journal.page(number).inbox}
        leaving = self._kept.get("leaving", [])
        return [
            (name, record) for name, record in leaving if name not in landed and name not in left
        ]

    def _write(self, **more: Any) -> None:
        self._kept = {**self._kept, **more}
        write_json(self.path, self._kept)
