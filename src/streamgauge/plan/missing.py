"""What is said of a name that nothing has: the names there are, and the nearest one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from streamgauge.kernel.errors import QueryNotFound
from streamgauge.plan.shadows import is_shadow


def missing(kind: str, name: str, known: Iterable[str]) -> QueryNotFound:
    """The error for a name that nothing of a kind has.

    >>> print(missing("stream", "plnt", ["plant"]))
    no stream named 'plnt'
      detail: there are plant
      hint: did you mean plant?
    """
    names = sorted(one for one in known if not is_shadow(one))
    near = get_close_matches(name, names, 1)
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return QueryNotFound(
        f"no {kind} named {name!r}",
        f"there are {listed or 'none'}",
        f"did you mean {near[0]}?" if near else "check the spelling",
    )
