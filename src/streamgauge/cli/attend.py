"""Who looks after a running job: the watcher of its alerts, the auditor, a control topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import click

from streamgauge.alerts.watcher import Watcher
from streamgauge.audit.auditor import STAY, Auditor
from streamgauge.control.control_topic import ControlTopic
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


webhook_option = click.option(
    "--allow-webhooks",
    multiple=True,
    metavar="NETWORK",
    envvar="STREAMGAUGE_ALLOW_WEBHOOKS",
    help="Private network that webhooks may reach, as in 10.0.0.0/8. [default: none]",
)


def control_options(command: Command) -> Command:
    """The options of commands that take statements from a topic."""
    replies = click.option(
        "--control-replies",
        "replies",
        metavar="TOPIC",
        callback=_check_replies,
        help="Topic that is told what came of them.",
    )
    control = click.option(
        "--control",
        metavar="URL",
        is_eager=True,
        help="Take statements from kafka://host:port/topic.",
    )
    return control(replies(command))


def _check_replies(ctx: click.Context, _option: click.Parameter, said: str | None) -> str | None:
    if said is not None and ctx.params.get("control") is None:
        raise click.UsageError("--control-replies needs --control")
    return said


@contextmanager
def attended(
    gauge: Gauge,
    audit: int,
    *,
    stay: int = STAY,
    control: str | None = None,
    replies: str | None = None,
    allow_webhooks: Sequence[str] = (),
) -> Iterator[ControlTopic | None]:
    """Deliver the alerts of a home and audit its answers until the end of the block.

    Parameters
    ----------
    gauge
        The gauge whose job runs.
    audit
        Queries that are audited at once; 0: none.
    stay
        Epochs that each of them is audited for.
    control, replies
        Topics that statements come from, and that is told what came of them.
    allow_webhooks
        Networks that are not public and that webhooks may reach.
    """
    with ExitStack() as stack:
        if audit:
            stack.enter_context(Auditor(gauge, at_once=audit, stay=stay))
        stack.enter_context(Watcher(gauge, allow_webhooks=allow_webhooks))
        topic = None if control is None else ControlTopic(gauge, control, replies=replies)
        yield None if topic is None else stack.enter_context(topic)
