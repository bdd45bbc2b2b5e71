"""What is measured: one module per peer, with `installed` and `run`."""

from __future__ import annotations
