"""Undelivered: an attempt that did not reach its target."""

from __future__ import annotations


class Undelivered(Exception):
    """An attempt that failed; the text says why and names no secret."""
