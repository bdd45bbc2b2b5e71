"""Reports that prove whose token they were sent with, where a broker carries them.

HTTP shows the token to the coordinator alone. A broker shows messages to all who may read, so a
report carries a code that only the holder of the token can compute, never the token itself.
"""

from __future__ import annotations

import hashlib
import hmac

_MARK = b"sg1 "
_DIGITS = 64


def signature(report: bytes, token: str, stream: str) -> bytes:
    """The code of a report of a stream: HMAC-SHA256 with the token as key."""
    told = b"streamgauge report\0" + stream.encode() + b"\0" + report
    return hmac.new(token.encode(), told, hashlib.sha256).hexdigest().encode()


def signed(report: bytes, token: str | None, stream: str) -> bytes:
    """A report as brokers carry it; without a token as it is.

    >>> signed(b"{}", None, "hosts")
    b'{}'
    >>> opened(signed(b"{}", "0123456789", "hosts"))[1]
    b'{}'
    """
    if not token:
        return report
    return _MARK + signature(report, token, stream) + b" " + report


def opened(message: bytes) -> tuple[bytes | None, bytes]:
    """The code of a message, if it has one, and its report."""
    end = len(_MARK) + _DIGITS
    if not message.startswith(_MARK) or message[end : end + 1] != b" ":
        return None, message
    return message[len(_MARK) : end], message[end + 1 :]
