"""Mail as files: a directory that messages are dropped in for a mailer to pick up."""

from __future__ import annotations

import re

from streamgauge.kernel.errors import BindError
from streamgauge.targets.target_kind import Detail, Goods, TargetKind

_MAILBOX = re.compile(r"[^@\s<>,;:\"\\()\[\]]+@[^@\s<>,;:\"\\()\[\]]+")


def _check(address: str, detail: str, _goods: Goods) -> None:
    if not address or not _MAILBOX.fullmatch(detail):
        raise BindError(
            "mail needs a directory and whom it is for",
            f"got {address!r} for {detail!r}",
            "write TO MAIL 'directory' FOR 'ops@example.org'",
        )


TARGET = TargetKind(
    "mail",
    title="Mail as files",
    address="Directory",
    example="mail/out",
    check=_check,
    shown=lambda _address, detail: f"mail for {detail}",
    text="A file `<id>.eml` for a mailer to pick up.",
    detail=Detail("FOR", "For", "ops@example.org"),
    sender="streamgauge.alerts.mail_sender:sender",
    is_a="directory",
)
