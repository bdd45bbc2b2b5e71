"""Catalog: the registry of a home as of any page, from a snapshot and the changes since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from streamgauge.kernel.errors import Cleared, StateTooOld
from streamgauge.kernel.files import damaged, number_name, numbered, read_json, reading
from streamgauge.log import inbox
from streamgauge.log.attempts import found_failures, suspending
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page, refuse_cleared
from streamgauge.plan.registry import Registry
from streamgauge.plan.switching import lacking


def newest_snapshot(home: Home, upto: int) -> dict[str, Any]:
    """The newest snapshot at or before a page, or an empty one."""
    while True:
        numbers = [number for number in numbered(home.registry, ".json") if number <= upto]
        broken: StateTooOld | None = None
        for number in reversed(numbers):
            try:
                return read_snapshot(home, number)
            except FileNotFoundError:
                continue
            except StateTooOld as error:
                # An older one and the pages since say the same.
                broken = broken or error
        if broken is not None and home.cleared():
            raise broken
        if broken is not None or not numbers:
            # Nothing can be told of pages whose changes were cleared away.
            if upto:
                refuse_cleared(home, upto)
            break
    return {
        "registry": Registry().as_dict(),
        "peaks": {},
        "taken": {},
        "begun": {},
        "inbox": [],
        "held": {},
    }


def read_snapshot(home: Home, number: int) -> dict[str, Any]:
    """One snapshot; StateTooOld where it is damaged."""
    path = home.registry / number_name(number, ".json")
    what = f"the snapshot of what was registered after page {number}"
    with reading(path, what):
        found: dict[str, Any] = read_json(path, what)
        if found["registry"]["epoch"] != number:
            raise damaged(path, what, f"it is one of page {found['registry']['epoch']}")
        for part in ("peaks", "taken", "begun", "held"):
            dict(found.get(part, {}))
        return found


def registry_at(
    home: Home, page: int, known: Registry | None = None, *, read: Page | None = None
) -> Registry:
    """The registry after a page's changes; `known` is brought forward when it is not ahead.

    `read` is a page that is at hand already: one that registers many queries is large.
    """
    registry = known
    if registry is None or registry.epoch > page:
        registry = Registry.from_dict(newest_snapshot(home, page)["registry"])
    before = registry.epoch
    journal = Journal(home)
    try:
        for number in range(registry.epoch + 1, page + 1):
            taken = read if read is not None and read.number == number else journal.page(number)
            registry.apply(taken.changes, epoch=number)
    except Cleared:
        if registry.epoch >= home.cleared():
            raise
        # The pages after what was known are cleared away; a snapshot tells what they did.
        return registry_at(home, page, read=read)
    if read is None and (before < page or known is None):
        # The commit of an epoch says who failed in it; the page after it says so again.
        suspend_failed(registry, found_failures(home, page))
    return registry


def suspend_failed(registry: Registry, found: Sequence[dict[str, Any]]) -> None:
    """Suspend the queries of records that are not suspended yet."""
    records = lacking(registry.queries.values(), found)
    if records:
        registry.apply(records, epoch=registry.epoch)


def with_suspensions(page: Page, found: Sequence[dict[str, Any]]) -> Page:
    """A page with those of some suspensions that begin with it."""
    changes = [record for record in found if record["since"] == page.number]
    return replace(page, changes=(*page.changes, *changes)) if changes else page


def expected_registry(home: Home) -> Registry:
    """What will hold once the journal is worked off and the inbox is empty."""
    while True:
        before = set(inbox.names(home))
        registry = registry_at(home, Journal(home).last())
        try:
            waiting = inbox.waiting(home, set())
        except FileNotFoundError:
            continue
        if before - set(inbox.names(home)):
            # A job took a record into a page after we had looked for pages: look again.
            continue
        for _, record in waiting:
            registry.apply([record], epoch=registry.epoch + 1)
        return registry


def follow_decided(home: Home, registry: Registry, after: int) -> tuple[Registry, int]:
    """What is expected with what pages after one have decided, and the newest page.

    Nobody asks for columns that become wider, and for queries that are suspended.
    """
    last = Journal(home).last()
    if any(number >= after for number in suspending(home)):
        return expected_registry(home), last
    journal = Journal(home)
    if any(stream.widenable for stream in registry.streams.values()):
        for number in range(max(after, home.cleared()) + 1, last + 1):
            changes = [change for change in journal.page(number).changes if change["do"] == "widen"]
            registry.apply(changes, epoch=registry.epoch)
    return registry, last
