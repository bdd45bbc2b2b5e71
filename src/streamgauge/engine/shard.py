"""Shard: one share of all standing queries; runs pages and writes state and answers.

`run` is a pure function of the state after page `start` and the pages up to `stop`. Running it
again writes the same bytes, so a replay after any crash is harmless.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

from streamgauge.engine import state as wire
from streamgauge.engine.answer_block import block_of
from streamgauge.engine.asked_names import AskedNames
from streamgauge.engine.catalog import registry_at, suspend_failed, with_suspensions
from streamgauge.engine.operator import Operator, Out, PageOperator, Site, together
from streamgauge.engine.page_operators import planned, taken, taken_in_part
from streamgauge.engine.pieces import Given
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.reading import Brought, Wanted
from streamgauge.engine.rebuilding import begin_anew
from streamgauge.engine.rescaling import gathered, settle
from streamgauge.engine.row_answers import RowsGiven, marked, row_blocks
from streamgauge.engine.scan import brought
from streamgauge.engine.stalling import forget_stalled, stall
from streamgauge.engine.state import ShardState
from streamgauge.engine.state_files import StateFiles, write_state
from streamgauge.engine.stream_inputs import StreamState
from streamgauge.engine.turns import Turns, check, turn
from streamgauge.engine.unusable import Losses, Reach, losses_of, reaches
from streamgauge.kernel import memory
from streamgauge.kernel.collection import uncollected
from streamgauge.kernel.files import read_json, reading
from streamgauge.log.attempts import found_failures
from streamgauge.log.commits import home_after
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page, home_for
from streamgauge.operators.functions import in_force
from streamgauge.plan.assignment import Assignment, Changes
from streamgauge.plan.registry import Registry, Standing
from streamgauge.results.blocks import Block, write_block
from streamgauge.results.row_blocks import RowBlock, write_rows


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a shard did with a run of pages.

    `files` are checksums of the answers it wrote, `state` the files that have its state now,
    `rebuilt` queries whose state could not be read and began anew, with the reason. With `failed`
    operators it wrote nothing that counts.
    """

    shard: int
    epoch: int
    rows: int
    late: int
    answers: int
    state_bytes: int
    seconds: float
    missed: int = 0
    overloaded: int = 0
    share: float = 1.0
    spent: dict[str, int] = field(default_factory=dict)
    late_by: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    state: list[str] = field(default_factory=list)
    state_written: int = 0
    rebuilt: dict[str, str] = field(default_factory=dict)
    failed: list[dict[str, Any]] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        """As it goes from a worker to the driver."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Receipt:
        """Read a receipt back."""
        return cls(**json.loads(data))


@dataclass(slots=True)
class _Running:
    """A shard in memory: its state and the plan it was compiled for."""

    state: ShardState
    registry: Registry
    runs: dict[str, StreamRun]
    asked: AskedNames
    assignment: Assignment
    stored: StateFiles = field(default_factory=StateFiles)
    shards: int = 1
    rebuilt: dict[str, str] = field(default_factory=dict)
    opened: list[Out] = field(default_factory=list)

    def reading(self, name: str) -> list[Standing]:
        """The queries of an operator that reads pages."""
        return self.assignment.paged.get(name, [])

    @property
    def operators(self) -> list[Operator | PageOperator]:
        """All operators, whoever feeds them."""
        fed = [one for run in self.runs.values() for one in run.state.pieces.values()]
        return [*fed, *self.state.operators.values()]


# A worker that meets its shard again goes on from memory. An entry is taken out while it is
# worked on, so that a run that fails half way leaves nothing behind.
_RUNNING: dict[tuple[str, int], _Running] = {}
# What the state of each shard in memory holds.
_LEDGERS: dict[tuple[str, int], memory.Ledger] = {}
_ATTEMPTS = count(1)


def run(
    home: Home,
    shard: int,
    start: int,
    stop: int,
    sent: Sequence[bytes] | None = None,
    attempt: str | None = None,
    *,
    expendable: bool = False,
) -> Receipt:
    """Bring a shard from page `start` to page `stop`; pages already committed are done.

    `sent` are the packets of the one page from `start` to `stop`; without them the shard reads all
    rows itself. What is written has the name of the `attempt`, which no other attempt at the same
    pages may have; this process counts its own when None. An `expendable` process ends when an
    operator cannot be stopped. A receipt with failures is of an attempt that counts for nothing.
    """
    begun = time.perf_counter()
    last = Journal(home).page(stop)
    home = home_for(home, last)
    if home.commit(stop).exists():
        path, what = home.commit(stop), f"the commit of epoch {stop}"
        with reading(path, what):
            return Receipt(**read_json(path, what)["shards"][shard])
    _forget_others(home)
    ledger = _ledger(home, shard, start)
    attempt = attempt or own_attempt()
    turns = Turns(home, shard, stop, attempt, since=start + 1, expendable=expendable)
    with uncollected(), in_force(home.allowed, home.given), memory.in_force(ledger), turns:
        return _run(home, shard, start, last, begun, sent, attempt)
    failed = [failure.as_dict() for failure in turns.failures]
    return Receipt(shard, stop, 0, 0, 0, 0, time.perf_counter() - begun, failed=failed)


def own_attempt() -> str:
    """A name that no other attempt of this process has."""
    return f"{os.getpid():x}-{next(_ATTEMPTS):x}"


def _ledger(home: Home, shard: int, start: int) -> memory.Ledger:
    """What a shard holds; nothing where its state is about to be read."""
    running, ledger = _RUNNING.get((home.path, shard)), _LEDGERS.get((home.path, shard))
    goes_on = running is not None and running.state.epoch == start
    if ledger is None or not goes_on:
        ledger = _LEDGERS[home.path, shard] = memory.Ledger()
    ledger.allowed = home.allowance
    return ledger


def _run(
    home: Home,
    shard: int,
    start: int,
    last: Page,
    begun: float,
    sent: Sequence[bytes] | None,
    attempt: str,
) -> Receipt:
    stop = last.number
    suspensions = found_failures(home, stop, trial=True)
    running = _at_start(home, shard, start, suspensions)
    journal = Journal(home)
    rows = answers = late = 0
    files: dict[str, int] = {}
    check()
    for number in range(start + 1, stop + 1):
        page = last if number == stop else journal.page(number)
        page = with_suspensions(page, suspensions)
        rows += sum(segment.rows for segment in page.segments)
        came = {} if sent is None else brought(page, sent)
        answers += _run_page(home, shard, running, page, came, files, attempt)
    late = sum(run.late for run in running.runs.values())
    late_by = {name: run.late for name, run in running.runs.items() if run.late}
    for stream_run in running.runs.values():
        stream_run.late = 0
    running.state.epoch = stop
    running.state.form = home.form
    packed = wire.packed(running.state, shard, home.shards)
    stored = write_state(home.state(stop, shard, attempt), home, packed, running.stored)
    running.stored = stored
    rebuilt, running.rebuilt = running.rebuilt, {}
    _RUNNING[home.path, shard] = running
    measures = [operator.measures() for operator in running.operators]
    missed = sum(each.missed for each in measures)
    overloaded = sum(each.overloaded for each in measures)
    share = min((each.share for each in measures), default=1.0)
    spent = together([each.spent for each in measures])
    seconds = time.perf_counter() - begun
    return Receipt(
        shard,
        stop,
        rows,
        late,
        answers,
        stored.nbytes,
        seconds,
        missed,
        overloaded,
        share,
        spent,
        late_by,
        files,
        stored.names,
        stored.sizes[-1],
        rebuilt,
    )


def _at_start(
    home: Home, shard: int, start: int, suspensions: Sequence[dict[str, Any]]
) -> _Running:
    """A shard after page `start`, from memory where it is there."""
    running = _RUNNING.pop((home.path, shard), None)
    if suspensions:
        # Their operators are left out from the stored state on.
        return _load(home, shard, start, None, suspensions)
    if running is None or running.state.epoch != start:
        return _load(home, shard, start, running)
    if not running.stored.counts(home, start, shard):
        # The commit lists the files of another attempt, and those of this one may be gone.
        return _load(home, shard, start, running)
    return running


def forget(home: Home) -> None:
    """Drop what this process remembers of a home."""
    for key in [key for key in _RUNNING if key[0] == home.path]:
        del _RUNNING[key]
    for key in [key for key in _LEDGERS if key[0] == home.path]:
        del _LEDGERS[key]


def _forget_others(home: Home) -> None:
    """Drop shards of a home from when it had more or fewer."""
    old = [
        key for key, one in _RUNNING.items() if key[0] == home.path and one.shards != home.shards
    ]
    for key in old:
        del _RUNNING[key]
        _LEDGERS.pop(key, None)


def _load(
    home: Home,
    shard: int,
    epoch: int,
    stale: _Running | None,
    suspensions: Sequence[dict[str, Any]] = (),
) -> _Running:
    """A shard from its stored state, without the queries of some suspensions.

    Spark moves shards between workers; one that comes back finds its plan compiled, as long as
    nothing was registered meanwhile.
    """
    state, stored, before = ShardState(), StateFiles(), home_after(home, epoch)
    compiled_at = None if stale is None else stale.registry.changed
    registry = registry_at(home, epoch, None if stale is None else stale.registry)
    if epoch > 0:
        try:
            if before.shards == home.shards:
                state, stored = wire.loaded(home, epoch, shard)
            else:
                state = gathered(home, before, shard, epoch, registry)
        except FileNotFoundError:
            raise wire.absent(home, epoch) from None
    if suspensions:
        stall(state.streams, state.operators, state.readers, registry, suspensions)
        suspend_failed(registry, suspensions)
    if stale is not None and stale.registry is registry and registry.changed == compiled_at:
        return _revived(home, shard, stale, state, stored)
    restored = set(state.operators)
    running = _planned(home, shard, state, registry)
    running.stored = stored
    for run in running.runs.values():
        run.compile()
    if before.shards != home.shards:
        settle(Site(home, shard), running.runs.values(), state.operators.values(), epoch)
    running.rebuilt = begin_anew(state, restored, running.runs, registry, epoch)
    return running


def _revived(
    home: Home, shard: int, stale: _Running, state: ShardState, stored: StateFiles
) -> _Running:
    """Fresh state under a plan that was compiled before."""
    runs = {}
    for name, old in stale.runs.items():
        runs[name] = replace(old, state=state.streams[name], late=0)
        compiled = old.state.pieces
        for text, piece in state.streams[name].pieces.items():
            piece.adopt(compiled[text])
    site = Site(home, shard)
    for name, operator in state.operators.items():
        operator.adopt(stale.state.operators[name])
        operator.reprice(site, stale.registry)
    return _Running(state, stale.registry, runs, stale.asked, stale.assignment, stored, home.shards)


def _planned(
    home: Home, shard: int, state: ShardState, registry: Registry, epoch: int | None = None
) -> _Running:
    """Make a run for each stream that is declared; forget the others.

    In an epoch that changes something, operators whose queries are resumed go on.
    """
    assignment, site = Assignment.of(registry), Site(home, shard)
    running = _Running(state, registry, {}, AskedNames.of(registry), assignment, shards=home.shards)
    _make_runs(running, site, {})
    if epoch is not None:
        _resume(running, site, epoch)
    state.operators = planned(site, registry, state.operators, assignment.paged)
    return running


def _make_runs(running: _Running, site: Site, known: Mapping[str, StreamRun]) -> None:
    """The runs of all streams that are declared, among them some that are known."""
    states, registry, plans = running.state.streams, running.registry, running.assignment.plans
    for name in [name for name in states if name not in registry.streams]:
        del states[name]
    paged = running.assignment.paged
    others, logged = taken(site, registry, paged, site.shard), taken_in_part(registry, paged)
    running.runs = {
        name: known.get(name)
        or StreamRun(site.home, site.shard, plan, registry, states.setdefault(name, StreamState()))
        for name, plan in plans.items()
    }
    for name, stream_run in running.runs.items():
        stream_run.others, stream_run.logged = others.get(name, Wanted()), logged.get(name, {})


def _run_page(
    home: Home,
    shard: int,
    running: _Running,
    page: Page,
    came: Mapping[str, Brought],
    files: dict[str, int],
    attempt: str,
) -> int:
    if page.changes:
        _change(home, shard, running, page)
        check()
    running.registry.epoch = page.number
    given, running.opened = running.opened, []
    for name, run in running.runs.items():
        given += run.advance(page, came.get(name))
    for name, operator in running.state.operators.items():
        with turn(name, partial(running.reading, name)):
            given += operator.advance(running.runs, page)
    check()
    for run in running.runs.values():
        run.brought = Brought()
    block = block_of(running.asked, [item for item in given if isinstance(item, Given)])
    losses = losses_of(running.registry, running.runs)
    _mark(block, running.asked, losses)
    if len(block.value):
        path = home.answers(page.number, shard, attempt)
        files[home.file_of(path)] = write_block(path, block, epoch=page.number)
    rows = _rows(given, losses)
    for serial, part in enumerate(rows):
        path = home.rows(page.number, shard, serial, attempt)
        files[home.file_of(path)] = write_rows(path, part, epoch=page.number)
    return len(block.value) + sum(len(part.to) for part in rows)


def _rows(given: Sequence[Out], losses: Losses) -> list[RowBlock]:
    """Rows that operators gave, one block for each set of columns, with what they miss."""
    blocks = [item for item in given if isinstance(item, RowBlock)]
    blocks += row_blocks([item for item in given if isinstance(item, RowsGiven)])
    return [marked(block, losses) for block in blocks] if losses else blocks


def _change(home: Home, shard: int, running: _Running, page: Page) -> None:
    """Let the changes of a page take effect; where nothing else is asked, nothing is planned."""
    registry = registry_at(home, page.number, running.registry, read=page)
    site = Site(home, shard)
    if registry is running.registry and registry.changed != page.number:
        _reprice(running, site)
        return
    changes = None
    if registry is running.registry:
        changes = running.assignment.change(registry, page.changes)
    if changes is None:
        fresh = _planned(home, shard, running.state, registry, page.number)
        running.registry, running.assignment = registry, fresh.assignment
        running.runs, running.asked = fresh.runs, fresh.asked
        running.opened = fresh.opened
        seated = set(running.state.operators)
    else:
        running.asked = running.asked.changed(changes.queries)
        seated = _change_operators(running, site, changes, page.number)
        if any(record["do"] == "costs" for record in page.changes):
            _reprice(running, site)
    check()
    for name, stream_run in running.runs.items():
        if changes is None or name in changes.streams:
            stream_run.seat(page.number)
    check()
    for name, operator in running.state.operators.items():
        if name in seated:
            with turn(name, partial(running.reading, name)):
                operator.seat(running.runs, page.number)
    forget_stalled(running.state.streams, running.state.readers, registry)


def _resume(running: _Running, site: Site, epoch: int) -> None:
    """Bring operators that read pages and whose queries are resumed over what they missed."""
    state, asked = running.state, running.assignment.paged
    readers, held = state.readers, state.operators
    found, running.opened = readers.resumed(site, running.registry, asked, held, epoch)
    state.operators = {**held, **found}


def _reprice(running: _Running, site: Site) -> None:
    """Go by new prices of work."""
    for operator in running.state.operators.values():
        operator.reprice(site, running.registry)


def _change_operators(running: _Running, site: Site, changes: Changes, epoch: int) -> set[str]:
    """Change the operators that an epoch touches; the names of those that read pages."""
    registry, assignment, state = running.registry, running.assignment, running.state
    if changes.streams or changes.paged:
        known = {n: one for n, one in running.runs.items() if n not in changes.streams}
        _make_runs(running, site, known)
        _resume(running, site, epoch)
        held = state.operators
        state.operators = planned(site, registry, held, assignment.paged, changes.paged)
    for name, run in running.runs.items():
        if name in changes.fed:
            run.change(assignment.plans[name], changes.fed[name], epoch)
        elif name not in changes.streams:
            run.note_births(epoch, {})
    return changes.paged


def _mark(block: Block, asked: AskedNames, losses: Losses) -> None:
    """Lower the coverage of answers whose windows should hold rows that could not be used."""
    if not losses:
        return

    def looks(number: int) -> tuple[Reach, ...]:
        found = asked.reached.get(number)
        if found is None:
            found = asked.reached[number] = reaches(asked.queries[number], losses.registry)
        return found

    block.coverage[:] *= losses.coverage_of_each(looks, block.query, block.as_of)
