"""Mail as files: one RFC 5322 message for each crossing, dropped where a mailer picks it up.

The file is written whole under a name that is the id, and its bytes follow from the crossing
alone: writing it again leaves one and the same file.
"""

from __future__ import annotations

import json
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from streamgauge.alerts.crossing import Crossing
from streamgauge.alerts.outbox import Delivery
from streamgauge.contracts.sureness import held_over_time, sureness
from streamgauge.kernel.files import write_whole
from streamgauge.plan.alert import Target
from streamgauge.targets.target_kind import AlertSite

SENDER = "streamgauge@localhost"


class MailSender:
    """Drops messages into a directory.

    Parameters
    ----------
    target
        The directory, and whom messages are for.
    """

    def __init__(self, target: Target) -> None:
        self.folder = Path(target.address)
        self.whom = target.detail

    def send(self, delivery: Delivery) -> None:
        """Write the message, whole or not at all."""
        crossing = delivery.crossing
        write_whole(self.folder / f"{crossing.id}.eml", message(crossing, self.whom))

    def close(self) -> None:
        """Nothing is kept open."""


def sender(target: Target, _site: AlertSite) -> MailSender:
    """Who drops messages into a directory."""
    return MailSender(target)


def message(crossing: Crossing, whom: str) -> bytes:
    """A crossing as a message; equal crossings give equal bytes."""
    made = EmailMessage(policy=policy.SMTP)
    made["From"] = SENDER
    made["To"] = whom
    # Groups are values of rows: what would end a line there ends no header.
    made["Subject"] = "".join(c if c.isprintable() else " " for c in crossing.title)
    made["Date"] = format_datetime(datetime.fromisoformat(crossing.at))
    made["Message-ID"] = f"<{crossing.id}@streamgauge>"
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(_body(crossing))
    return made.as_bytes()


def _body(crossing: Crossing) -> str:
    lines = [crossing.title, "", f"at     {crossing.at}", f"id     {crossing.id}"]
    answer = crossing.answer
    if answer is not None:
        ends = ["unbounded" if answer[end] is None else answer[end] for end in ("low", "high")]
        lines.append(f"answer {answer['value']} in [{ends[0]}, {ends[1]}]")
        over_time = held_over_time(answer["basis"], (c["by"] for c in answer["charges"]))
        sure = sureness(answer["confidence"], over_time, " ")
        lines.append(f"       {sure}, {answer['basis']}")
        lines += [f"       widened by {c['by']}: {c['width']}" for c in answer["charges"]]
    if crossing.because:
        lines.append(f"why    {crossing.because}")
    return "\n".join([*lines, "", json.dumps(crossing.as_dict(), indent=2), ""])
