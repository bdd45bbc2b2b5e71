"""Queries of the plant project that are easier to write in Python: one per site and kind."""

from __future__ import annotations

import streamgauge as sg

SITES = tuple(f"site-{number:02d}" for number in range(10))
KINDS = ("flow", "level", "power", "pressure", "temp")


def queries() -> list[sg.Query]:
    """How restless each kind of sensor is at each site, over ten minutes."""
    return [
        sg.Query(
            f"restless-{site}-{kind}",
            "plant",
            sg.stddev("value"),
            window=sg.Range("10 minutes", slide="1 minute"),
            where=(sg.col("site") == site) & (sg.col("kind") == kind),
            answer=sg.on_close(),
        )
        for site in SITES
        for kind in KINDS
    ]
