"""Engine: who turns pages into answers. Two of them, one meaning."""

from __future__ import annotations

from typing import Protocol


class Engine(Protocol):
    """What a gauge asks of an engine."""

    @property
    def running(self) -> bool:
        """Whether pages are being turned into answers."""

    def start(self) -> None:
        """Begin; return once the job runs."""

    def stop(self) -> None:
        """End after the epoch in work."""

    def failure(self) -> str | None:
        """What ended the job, if something did."""
