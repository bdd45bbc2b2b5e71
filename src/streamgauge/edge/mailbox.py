"""Replies that come through a broker: one is waited for, the others came unasked."""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable

# Replies that nobody asked for and nobody fetched; more of them say nothing new.
PUSHED = 64

_SENT = re.compile(rb'"sent":(-?\d+)')
_ECHO = re.compile(rb'"echo":(-?\d+)')


class Mailbox:
    """Where a broker's thread puts replies and an exchange takes them.

    Parameters
    ----------
    wake
        Called when a reply comes that nobody waits for.

    Examples
    --------
    >>> box = Mailbox()
    >>> box.expect(b'{"sent":7}')
    >>> box.put(b'{"echo":6}')
    >>> box.put(b'{"echo":7}')
    >>> box.wait(time.monotonic(), lambda: True), box.unasked()
    (b'{"echo":7}', [b'{"echo":6}'])
    """

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._wake = wake
        self._news = threading.Condition()
        self._awaited: bytes | None = None
        self._reply: bytes | None = None
        self._pushed: deque[bytes] = deque(maxlen=PUSHED)

    def expect(self, report: bytes) -> None:
        """Say which report goes out now; its reply will be waited for."""
        sent = _SENT.search(report)
        with self._news:
            self._awaited, self._reply = (sent[1] if sent else b""), None

    def put(self, reply: bytes) -> None:
        """Take a reply in, from any thread."""
        echo = _ECHO.search(reply)
        with self._news:
            if self._awaited is not None and echo and echo[1] == self._awaited:
                self._reply = reply
                self._news.notify_all()
                return
            self._pushed.append(reply)
        self._wake()

    def wait(self, deadline: float, alive: Callable[[], bool]) -> bytes | None:
        """The expected reply, or None when the deadline passed or the connection is gone."""
        with self._news:
            while self._reply is None:
                left = deadline - time.monotonic()
                if left <= 0 or not alive():
                    break
                self._news.wait(min(left, 0.2))
            self._awaited = None
            return self._reply

    def unasked(self) -> list[bytes]:
        """Replies that came unasked since this was last called."""
        with self._news:
            found = list(self._pushed)
            self._pushed.clear()
        return found
