"""Upkeep: what the lander does between epochs so that a home does not grow for ever.

Small segments are put together, and answers and pages that nobody can ask for any more go. Each
turn is bounded, and a crash in any turn is harmless: what is there no longer is said first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from streamgauge.engine import state as wire
from streamgauge.kernel.errors import BindError, StateTooOld
from streamgauge.kernel.time import Duration, DurationLike, Instant, duration
from streamgauge.log.attempts import folder as attempts
from streamgauge.log.clearing import followers, promise_no_longer, remove_cleared
from streamgauge.log.commits import (
    files_of,
    home_after,
    lists_state,
    read_commit,
    remove_unlisted,
    state_files,
)
from streamgauge.log.compaction import (
    Small,
    compacted,
    mend,
    put_together,
    remove_small,
    schema_of,
)
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page

# Files that are small enough to be put together, and how many of them wait for a turn.
SMALL_BYTES = 4 << 20
ENOUGH_FILES = 64
MOST_FILES = 128
# The newest stay as they are: their writers look for them after a crash.
NEWEST_FILES = 8
# Pages that go in one turn, and the newest ones, which stay whatever is asked.
ENOUGH_PAGES = 64
MOST_PAGES = 256
NEWEST_PAGES = 32

Held = Iterable[tuple[int, str, Instant]]


def kept_for(value: DurationLike) -> Duration:
    """How long answers are kept, from what a user wrote."""
    found = duration(value)
    if found < 0:
        raise BindError(
            "answers cannot be kept for less than no time",
            f"got {value!r}",
            "write for example '7 days'; leave it out to keep them for good",
        )
    return found


def sweep(home: Home) -> None:
    """Remove what writers of this home left when they were killed: half files, lost attempts.

    Only the process that runs the home may do so. Others write to the inbox, which is left alone.
    """
    for folder in (home.journal, home.registry, home.commits, attempts(home)):
        for partial in folder.glob(".*.tmp"):
            partial.unlink(missing_ok=True)
    epoch = home.committed()
    for begun in (home.state(epoch + 1, 0), home.answers(epoch + 1, 0)):
        remove_unlisted(begun.parent, home, ())
    try:
        found = read_commit(home, epoch)
    except (FileNotFoundError, StateTooOld):
        return
    if lists_state(found):
        for done in (home.state(epoch, 0), home.answers(epoch, 0)):
            remove_unlisted(done.parent, home, files_of(found))


@dataclass(slots=True)
class Upkeep:
    """Keeps a home small.

    Parameters
    ----------
    home
        The home; only the process that runs it may keep it small.
    keep_answers
        Microseconds that answers and pages are kept for, by the times their pages were written;
        for good when None.
    """

    home: Home
    keep_answers: Duration | None = None
    _packed: dict[str, set[str]] = field(default_factory=dict)
    _finished: bool = False

    def compact(self, stream: str, held: Held, *, enough: int = ENOUGH_FILES) -> int:
        """Put small files of a stream together once enough of them are there; how many went.

        `held` are the stream's files in this home in the order of their pages, the finished ones.
        """
        packed = self._known(stream)
        waiting = _small(self.home, stream, held, packed)
        if len(waiting) < max(enough, 2):
            return 0
        sized = [(small, _size(small.path)) for small in waiting[:MOST_FILES]]
        packed.update(small.path for small, size in sized if size >= SMALL_BYTES)
        few = [small for small, size in sized if size < SMALL_BYTES]
        gone = 0
        for _, alike in groupby(few, key=lambda small: schema_of(small.path)):
            files = list(alike)
            packed.update(small.path for small in files)
            if len(files) > 1 and put_together(self.home, stream, files) is not None:
                remove_small(self.home, [small.path for small in files])
                gone += len(files)
        return gone

    def _known(self, stream: str) -> set[str]:
        """Files of a stream that are compacted, or too large or too odd to be."""
        known = self._packed.get(stream)
        if known is None:
            mend(self.home, stream)
            known = {path for file in compacted(self.home, stream) for path in file.parts}
            self._packed[stream] = known
        return known

    def compact_all(self, stream: str, held: Held) -> int:
        """Put all small files of a stream together; how many went."""
        held, gone = list(held), 0
        while waiting := len(_small(self.home, stream, held, self._known(stream))):
            gone += self.compact(stream, held, enough=2)
            if len(_small(self.home, stream, held, self._known(stream))) == waiting:
                break
        return gone

    def let_go(self, stream: str, edge: Instant, committed: int) -> None:
        """Remove compacted files whose rows are all past what their stream keeps."""
        if stream not in self._packed and not self.home.compacted(stream).is_dir():
            return
        for file in compacted(self.home, stream):
            if file.page < committed - 1 and file.high < edge:
                file.remove()
                self._known(stream).difference_update(file.parts)

    def clear(
        self,
        edges: Mapping[str, Instant],
        snapshot: Callable[[int], None],
        *,
        enough: int = ENOUGH_PAGES,
        most: int = MOST_PAGES,
    ) -> int:
        """Clear away what is older than answers are kept; how many epochs went.

        `edges` are the instants that streams keep rows from, and `snapshot` writes what held after
        a page, so that nothing before it is needed.
        """
        before = self.home.cleared()
        if before and not self._finished:
            # Whoever cleared last may have died before all of it was gone.
            self.finish(edges)
        if self.keep_answers is None:
            return 0
        upto = min(self._old(before), before + most)
        while upto > before and not self.home.commit(upto).exists():
            upto -= 1
        if upto - before < enough:
            return 0
        snapshot(upto)
        promise_no_longer(self.home, upto)
        self.finish(edges)
        return upto - before

    def finish(self, edges: Mapping[str, Instant]) -> int:
        """Remove what is no longer promised and no longer needed; how many pages went."""
        waited_for = _pages_in_state(self.home)

        def needed(page: Page) -> bool:
            return page.number in waited_for or any(
                segment.high >= edges[segment.stream]
                for segment in page.segments
                if segment.stream in edges
            )

        self._finished = True
        return remove_cleared(self.home, needed)

    def _old(self, before: int) -> int:
        """The newest epoch after one that is older than answers are kept and read by all."""
        assert self.keep_answers is not None
        journal, committed = Journal(self.home), self.home.committed()
        last = min([committed - NEWEST_PAGES, *followers(self.home).values()])
        if last <= before:
            return before
        edge = journal.page(committed).landed_at - self.keep_answers
        low, high = before, last
        while low < high:
            middle = (low + high + 1) // 2
            if journal.page(middle).landed_at <= edge:
                low = middle
            else:
                high = middle - 1
        return low


def _small(home: Home, stream: str, held: Held, packed: set[str]) -> list[Small]:
    """Files that may be put together, each once, without the newest ones."""
    ours = (f"{home.segments(stream)}/", f"{home.incoming(stream)}/")
    found: dict[str, Small] = {}
    for page, path, high in held:
        if path not in packed and path.startswith(ours):
            known = found.get(path)
            high = high if known is None else max(high, known.high)
            found[path] = Small(path, page, high)
    return list(found.values())[:-NEWEST_FILES]


def _size(path: str) -> int:
    """Bytes of a file; one that is gone is too large to be put together."""
    try:
        return os.path.getsize(path)  # noqa: PTH202
    except FileNotFoundError:
        return SMALL_BYTES


def _pages_in_state(home: Home) -> set[int]:
    """Pages that rows in the committed state lie in: more of their columns may be asked for."""
    found: set[int] = set()
    epoch = home.committed()
    for shard in range(home_after(home, epoch).shards):
        if state_files(home, epoch, shard)[-1].exists():
            for name, array in wire.read_arrays(home, epoch, shard).arrays.items():
                if name.rpartition("/")[2] == "page":
                    found.update(array.tolist())
    return found
