"""Names of shadows: queries that the auditor runs beside others, and that go with them."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError

EXACT_SHADOW = "audit:"
TICKS_SHADOW = "audit ticks:"


def is_shadow(name: str) -> bool:
    """Whether a name is that of a shadow.

    >>> is_shadow("audit:heat"), is_shadow("heat")
    (True, False)
    """
    return name.startswith((EXACT_SHADOW, TICKS_SHADOW))


def shadows_of(name: str) -> tuple[str, str]:
    """Names of the shadows that a query may have."""
    return EXACT_SHADOW + name, TICKS_SHADOW + name


def refuse_shadow(name: str) -> None:
    """Raise when a query of a user would have the name of a shadow."""
    if is_shadow(name):
        begin = EXACT_SHADOW if name.startswith(EXACT_SHADOW) else TICKS_SHADOW
        raise BindError(
            f"{name!r} cannot be the name of a query",
            f"names that begin with {begin!r} are those of the auditor's shadows",
            "choose another name",
        )
