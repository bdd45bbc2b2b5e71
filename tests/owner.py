"""The header that shows the token of a served home."""

from __future__ import annotations

from typing import Any


def as_owner(served: Any) -> dict[str, str]:
    """What a client of a server, or of an application, sends to be its owner."""
    app = getattr(served, "app", served)
    return {"Authorization": f"Bearer {app.state.token}"}
