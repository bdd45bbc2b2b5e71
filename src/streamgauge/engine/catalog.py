"""Catalog: the registry of a home as of any page, from a snapshot and the changes since."""

from __future__ import annotations

from typing import Any

from streamgauge.kernel.errors import Cleared
from streamgauge.kernel.files import number_name, numbered, read_json
from streamgauge.log import inbox
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page, refuse_cleared
from streamgauge.plan.registry import Registry


def newest_snapshot(home: Home, upto: int) -> dict[str, Any]:
    """The newest snapshot at or before a page, or an empty one."""
    while True:
        numbers = [number for number in numbered(home.registry, ".json") if number <= upto]
        for number in reversed(numbers):
            try:
                found: dict[str, Any] = read_json(home.registry / number_name(number, ".json"))
            except FileNotFoundError:
                continue
            return found
        if not numbers:
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


def registry_at(
    home: Home, page: int, known: Registry | None = None, *, read: Page | None = None
) -> Registry:
    """The registry after a page's changes; `known` is brought forward when it is not ahead.

    `read` is a page that is at hand already: one that registers many queries is large.
    """
    registry = known
    if registry is None or registry.epoch > page:
        registry = Registry.from_dict(newest_snapshot(home, page)["registry"])
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
    return registry


def expected_registry(home: Home) -> Registry:
    """What will hold once the journal is worked off and the inbox is empty."""
    while True:
        registry = registry_at(home, Journal(home).last())
        try:
            waiting = inbox.waiting(home, set())
        except FileNotFoundError:
            # A job took a record into a page after we had looked for pages: look again.
            continue
        for _, record in waiting:
            registry.apply([record], epoch=registry.epoch + 1)
        return registry
