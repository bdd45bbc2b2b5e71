"""What Ctrl-C and SIGTERM do to a command."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def clean_signals() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt and SIGTERM SystemExit, so that `finally` cleans up.

    Spark's own answer to Ctrl-C is to cancel the epoch in work. A shell lets what it starts in the
    background ignore Ctrl-C, and what is started by that inherits it, on a terminal of its own too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: _terminate,
    }
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
