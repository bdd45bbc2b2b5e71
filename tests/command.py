"""The command line in a process to be killed."""

from __future__ import annotations

import os

from streamgauge.cli import main


def streamgauge(folder: str, *arguments: str) -> None:
    """Run a command in a folder; it ends the process with its exit code."""
    os.chdir(folder)
    main(list(arguments))
