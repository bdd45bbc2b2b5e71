"""Who looks after a running job: the watcher of its alerts, and the auditor of its bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import click

from streamgauge.alerts.watcher import Watcher
from streamgauge.audit.auditor import STAY, Auditor
from streamgauge.gauge import Gauge

AUDITED = 8
Command = TypeVar("Command", bound=Callable[..., Any])


def audit_option(default: int) -> Callable[[Command], Command]:
    """The option of commands that run a job."""
    return click.option(
        "--audit",
        type=click.IntRange(min=0),
        default=default,
        show_default=True,
        metavar="N",
        help="Queries that are checked against exact shadows at once; 0: none.",
    )


@contextmanager
def attended(gauge: Gauge, audit: int, *, stay: int = STAY) -> Iterator[None]:
    """Deliver the alerts of a home and audit its answers until the end of the block.

    Parameters
    ----------
    gauge
        The gauge whose job runs.
    audit
        Queries that are audited at once; 0: none.
    stay
        Epochs that each of them is audited for.
    """
    with ExitStack() as stack:
        if audit:
            stack.enter_context(Auditor(gauge, at_once=audit, stay=stay))
        stack.enter_context(Watcher(gauge))
        yield
