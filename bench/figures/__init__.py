"""Figures: what the papers say of their synopses, measured again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure and what was measured here.

    `claim` and `measured` are texts for the table; `holds` says whether they agree.
    """

    name: str
    setting: str
    claim: str
    measured: str
    holds: bool
