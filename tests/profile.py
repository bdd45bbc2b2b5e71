"""How much is tried: what fits into minutes by day, ten times as much at night."""

from __future__ import annotations

import os

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def examples(n: int) -> int:
    """So many examples of a property in `make test`, ten times as many in `make nightly`."""
    return 10 * n if NIGHTLY else n
