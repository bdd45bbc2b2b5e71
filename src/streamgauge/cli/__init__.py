"""The command line: a thin layer over `Gauge`, one file per group of commands."""

from __future__ import annotations

from streamgauge.cli.app import main

__all__ = ["main"]
