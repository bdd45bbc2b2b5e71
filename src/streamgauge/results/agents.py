"""Figures of agents and their objects, as any process may read them from a home."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pyarrow as pa

from streamgauge.kernel.errors import QueryNotFound
from streamgauge.kernel.files import read_json, reading
from streamgauge.log.home import Home

_TIME = pa.timestamp("us", tz="UTC")

AGENTS = pa.schema(
    [
        ("stream", pa.string()),
        ("agent", pa.string()),
        ("state", pa.string()),
        ("heard", _TIME),
        ("through", _TIME),
        ("offset", pa.float64()),
        ("objects", pa.int64()),
        ("readings", pa.int64()),
        ("updates", pa.int64()),
        ("reports", pa.int64()),
        ("beats", pa.int64()),
        ("late", pa.int64()),
        ("refused", pa.int64()),
        ("separate", pa.float64()),
        ("aggregated", pa.float64()),
        ("advice", pa.string()),
    ]
)
OBJECTS = pa.schema(
    [
        ("stream", pa.string()),
        ("key", pa.list_(pa.string())),
        ("agent", pa.string()),
        ("value", pa.float64()),
        ("width", pa.float64()),
        ("burden", pa.float64()),
        ("updates", pa.int64()),
    ]
)


# Where the coordinator of a stream finds the names of agents that are gone for good.
FORGET = "forget"


def agents(home: Home, stream: str | None = None) -> pa.Table:
    """One row for each agent: whether it is heard, and what it sent of what it read.

    `state` is heard or interrupted, as its coordinator last wrote; `offset` is how many seconds
    its clock is behind the coordinator's; `readings` are the values it looked at, `updates` those
    that left their bounds and were sent. `separate` and `aggregated` are messages a second that it
    is expected to send with one object per key, as it does, and with one per query; `advice` is
    `aggregate` where that is clearly fewer.
    """
    return _table(home, stream, "agents", AGENTS)


def objects(home: Home, stream: str | None = None) -> pa.Table:
    """One row for each object: its value, the width of its bound and its burden.

    The burden is messages a second for each unit of width: where it is high, width is missing.
    Of many objects those with the largest burden are shown.
    """
    return _table(home, stream, "objects", OBJECTS)


def _table(home: Home, stream: str | None, part: str, schema: pa.Schema) -> pa.Table:
    rows = [
        {"stream": status["stream"], **row}
        for status in _statuses(home)
        if stream in (None, status["stream"])
        for row in status[part]
    ]
    columns = {
        field.name: pa.array([row.get(field.name) for row in rows], field.type) for field in schema
    }
    return pa.table(columns, schema=schema)


def _statuses(home: Home) -> list[dict[str, Any]]:
    places = sorted((home.root / "edge").glob("*/status.json"))
    found = []
    for place in places:
        with reading(place, "the figures of agents"):
            status = read_json(place, "the figures of agents")
            found.append({part: status[part] for part in ("stream", "agents", "objects")})
    return found


def forget_agent(home: Home, stream: str, agent: str) -> None:
    """Ask the coordinator of a stream to wait no longer for an agent."""
    known = agents(home, stream).column("agent").to_pylist()
    if agent not in known:
        raise QueryNotFound(
            f"stream {stream!r} has no agent {agent!r}",
            f"its agents are {', '.join(known[:10]) or 'none'}",
            "look at `streamgauge agents`",
        )
    place = home.root / "edge" / stream / FORGET
    place.mkdir(exist_ok=True)
    (place / quote(agent, safe="")).touch()
