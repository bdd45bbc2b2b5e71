"""The journal and what is computed from it: pages, snapshots, commits, answers, state."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.engine import state as wire
from streamgauge.engine.catalog import read_snapshot
from streamgauge.engine.state_files import naming
from streamgauge.kernel import wire_changes
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.files import number_name, numbered
from streamgauge.kernel.wire import kind_of, unpack
from streamgauge.log import inbox
from streamgauge.log.commits import home_after, lists_state, read_commit, state_files
from streamgauge.log.home import CLEARED, FORMAT, Home
from streamgauge.log.journal import Journal, Page, Segment, home_for
from streamgauge.repair.finding import RECOMPUTE, REMOVE, REWRITE, SET_ASIDE, Notes
from streamgauge.results.blocks import read_block
from streamgauge.results.row_blocks import read_rows

_LOST_PAGE = (
    "the rows and changes of this epoch cannot be read: queries registered from now on miss its "
    "rows, and nothing after it can be computed again"
)
_RESTORE = "restore the file from a copy"


@dataclass(slots=True)
class Epochs:
    """What the epochs of a data directory say, as far as they can be read."""

    home: Home
    notes: Notes
    cleared: int = 0
    last: int = 0
    committed: int = 0
    pages: dict[int, Page] = field(default_factory=dict)
    commits: dict[int, dict[str, Any]] = field(default_factory=dict)

    def look(self) -> None:
        """Look through all of them, in the order in which they depend on each other."""
        self.last, self.committed = Journal(self.home).last(), self.home.committed()
        self._look_at_cleared()
        self._look_at_pages()
        self._look_at_snapshots()
        self._look_at_inbox()
        self._look_at_commits()
        for epoch in sorted(self.commits):
            self._look_at_answers(epoch, self.commits[epoch])
        self._look_at_state()

    def segments(self) -> dict[str, list[tuple[int, Segment]]]:
        """What pages say of each file of rows: page and segment."""
        found: dict[str, list[tuple[int, Segment]]] = {}
        for number, page in sorted(self.pages.items()):
            for segment in page.segments:
                found.setdefault(segment.path, []).append((number, segment))
        return found

    def _look_at_cleared(self) -> None:
        path = self.home.root / CLEARED
        if not path.exists():
            return
        means = "nothing can be read until it is known which epochs are kept"
        self.cleared = oldest_start(self.home)
        with self.notes.looking(path, "what was cleared away", means, repair=REWRITE):
            self.cleared = self.home.cleared()

    def _look_at_pages(self) -> None:
        there = numbered(self.home.journal, ".json")
        for number in sorted(
            {*there, *range(self.cleared + 1, max(self.last, self.committed) + 1)}
        ):
            path = self.home.journal / number_name(number, ".json")
            done = number <= self.committed
            advice = (
                f"{_RESTORE}; the job goes on without it, since its answers and state are kept"
                if done
                else f"{_RESTORE}; or move it away: the job reads the files of its streams "
                "again, and changes that were made just before must be made again"
            )
            means = _LOST_PAGE if done else "the job cannot go on"
            with self.notes.looking(path, f"page {number} of the journal", means, advice=advice):
                if number not in there:
                    raise FileNotFoundError(path)
                self.pages[number] = Journal(self.home).page(number)

    def _look_at_snapshots(self) -> None:
        numbers = numbered(self.home.registry, ".json")
        whole = []
        for number in numbers:
            self.notes.seen()
            try:
                read_snapshot(self.home, number)
                whole.append(number)
            except (StreamgaugeError, OSError) as error:
                path = self.home.registry / number_name(number, ".json")
                # Pages from the first on, or an older snapshot and the pages since, say the same.
                base = max([n for n in whole if n >= self.cleared], default=self.cleared)
                known = not (self.cleared and not base) and base in (0, *whole)
                known = known and all(n in self.pages for n in range(base + 1, number + 1))
                self.notes.add(
                    path,
                    f"what was registered after page {number}",
                    getattr(error, "detail", str(error)).removeprefix(f"{path}: "),
                    "an older snapshot and the journal say the same"
                    if known
                    else "what was registered is not known any more",
                    repair=REMOVE if known else "",
                    advice="" if known else _RESTORE,
                )

    def _look_at_inbox(self) -> None:
        means = (
            "a change that was acknowledged is lost, and no job and no client can start; the other "
            "changes are whole"
        )
        for name in inbox.names(self.home):
            path = self.home.control / name
            what = "a change that waits in the inbox"
            with self.notes.looking(path, what, means, repair=SET_ASIDE):
                inbox.read_change(self.home, name)

    def _look_at_commits(self) -> None:
        before = self.cleared
        for epoch in numbered(self.home.commits, ".json"):
            if epoch <= self.cleared:
                continue
            path = self.home.commit(epoch)
            means = (
                "the job cannot go on"
                if epoch == self.committed
                else "answers and figures of this epoch cannot be read"
            )
            what = f"the commit of epoch {epoch}"
            with self.notes.looking(path, what, means, repair=RECOMPUTE):
                found = read_commit(self.home, epoch)
                receipts, start = found["shards"], int(found["start"])
                shards = self._shards(epoch, len(receipts))
                if [receipt["shard"] for receipt in receipts] != list(range(shards)):
                    raise ValueError(f"it is not one of {shards} shards")
                self.commits[epoch] = found
                if start > before:
                    absent = self.home.commit(start)
                    what = f"the commit of epoch {start}"
                    self.notes.add(absent, what, "it is absent", means, repair=RECOMPUTE)
            before = epoch

    def _shards(self, epoch: int, known: int) -> int:
        """How many shards ran an epoch; as many as are known where its page is lost."""
        page = self.pages.get(epoch)
        return known if page is None else home_for(self.home, page).shards

    def _look_at_answers(self, epoch: int, found: dict[str, Any]) -> None:
        listed: dict[str, int] = {}
        for receipt in found["shards"]:
            listed.update(receipt.get("files", {}))
        names = set(listed)
        for number in range(max(found["start"], self.cleared) + 1, epoch + 1):
            there = map(self.home.file_of, self.home.answers(number, 0).parent.glob("[!.]*.arrow"))
            if lists_state(found):
                self._left_over(name for name in there if name not in listed)
            else:
                names.update(there)
        for name in sorted(names):
            path = self.home.root / name
            number = int(path.parent.name)
            means = f"answers of epoch {number} cannot be read"
            with self.notes.looking(path, f"answers of epoch {number}", means, repair=RECOMPUTE):
                if name in listed and zlib.crc32(path.read_bytes()) != listed[name]:
                    raise ValueError("its checksum is not the one that was committed")
                if path.name.startswith("rows-"):
                    read_rows(path, None)
                else:
                    read_block(path)

    def _left_over(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            self.notes.add(
                self.home.root / name,
                "a file of an attempt that does not count",
                "a crash or a retry left it",
                "nothing",
                repair=REMOVE,
                harmless=True,
            )

    def _look_at_state(self) -> None:
        looked: set[Path] = set()
        # Where a commit cannot be read, so are the names of the files; both are made again.
        for epoch in sorted(self.commits, reverse=True):
            newest = epoch == self.committed
            for shard in range(home_after(self.home, epoch).shards):
                for path in reversed(state_files(self.home, epoch, shard)):
                    if path in looked or not (newest or path.exists()):
                        continue
                    looked.add(path)
                    if self._look_at_state_file(path, epoch, shard):
                        break
        root = self.home.root
        if len(self.commits) == self.committed - self.cleared and all(
            map(lists_state, self.commits.values())
        ):
            there = (p for p in root.glob("state/*/[!.]*") if int(p.parent.name) <= self.committed)
            self._left_over(self.home.file_of(path) for path in there if path not in looked)

    def _look_at_state_file(self, path: Path, epoch: int, shard: int) -> bool:
        """Look at one file of state; whether it is whole, so that none before it is needed."""
        newest = epoch == self.committed
        means = "the job cannot go on" if newest else "nothing: newer state is kept"
        repair = RECOMPUTE if newest else REMOVE
        what = f"state of shard {shard} after epoch {epoch}"
        whole = False
        with self.notes.looking(path, what, means, repair=repair), naming(path, what):
            data = path.read_bytes()
            whole = kind_of(data) != wire_changes.KIND
            if whole:
                wire.from_bytes(data, shard, wire.shards_of(data))
            else:
                unpack(data, kind=wire_changes.KIND, version=wire_changes.VERSION)
        return whole


def oldest_start(home: Home) -> int:
    """The epoch before the oldest commit: what was cleared away last, or less."""
    for epoch in numbered(home.commits, ".json"):
        try:
            return int(read_commit(home, epoch)["start"])
        except (StreamgaugeError, OSError, LookupError, TypeError, ValueError):
            continue
    return max(0, min(numbered(home.journal, ".json"), default=1) - 1)


def rewritten_cleared(home: Home) -> dict[str, int]:
    """What `cleared.json` has to say."""
    return {"epoch": oldest_start(home)}


def known_form(root: Path) -> int:
    """The format that a data directory was made with, as its state says; today's without any."""
    for path in sorted(root.glob("state/*/shard-*.sgst"), reverse=True):
        try:
            return wire.form_of(path.read_bytes())
        except (StreamgaugeError, OSError, LookupError, TypeError, ValueError):
            continue
    return FORMAT


def known_shards(root: Path) -> int | None:
    """How many shards a data directory was made with, from what else lies in it, the oldest first.

    None where nothing says.
    """
    home = Home(str(root), 1)
    for epoch in numbered(home.commits, ".json"):
        try:
            return len(read_commit(home, epoch)["shards"])
        except (StreamgaugeError, OSError, LookupError, TypeError):
            continue
    for path in sorted(root.glob("state/*/shard-*.sgst")):
        try:
            return int(wire.shards_of(path.read_bytes()))
        except (StreamgaugeError, OSError, LookupError, TypeError, ValueError):
            continue
    return None
