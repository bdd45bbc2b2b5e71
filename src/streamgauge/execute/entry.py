"""Entries: named things that statements create, each under a name of its own."""

from __future__ import annotations

from typing import Any, Protocol

from streamgauge.execute.outcome import Outcome
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import BindError


class Entry(Protocol):
    """A thing with a name, as the registry has it."""

    @property
    def name(self) -> str:
        """Its name."""

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""


def enter(trial: Trial, kind: str, made: Entry, known: Entry | None, *, replace: bool) -> Outcome:
    """Enter a thing: the same again changes nothing, another under its name has to replace it."""
    if known is None:
        verb = "created"
    elif known == made:
        return Outcome(f"unchanged {kind}", (made.name,))
    elif replace:
        verb = "replaced"
    else:
        raise BindError(
            f"{kind} {made.name!r} exists already",
            f"it is {known}",
            f"write CREATE OR REPLACE {kind.upper()}, or choose another name",
        )
    trial.apply({"do": kind, kind: made.as_dict()})
    return Outcome(f"{verb} {kind}", (made.name,))
