"""Distribution: how the rows of a stream reach the operators of a query.

A technique declares it with the key of an operator, and never learns how many shards there are.
EXPLAIN prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Merged:
    """Rows may be added up where they are read; each sum goes to the shard that owns its group.

    Examples
    --------
    >>> str(Merged(("site",))), str(Merged())
    ('summed by site where they are read', 'summed where they are read, sent to one shard')
    """

    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it in words."""
        if not self.by:
            return "summed where they are read, sent to one shard"
        return f"summed by {', '.join(self.by)} where they are read"


@dataclass(frozen=True, slots=True)
class HashBy:
    """Each row goes to one shard, by a hash of some columns.

    Examples
    --------
    >>> str(HashBy(("site", "kind")))
    'hashed by site, kind'
    """

    by: tuple[str, ...]

    def __str__(self) -> str:
        """Say it in words."""
        return f"hashed by {', '.join(self.by)}"


@dataclass(frozen=True, slots=True)
class Subscribed:
    """Each row goes to the shards whose queries list its series."""

    def __str__(self) -> str:
        """Say it in words."""
        return "sent to the shards whose queries list their series"


@dataclass(frozen=True, slots=True)
class Local:
    """Each row is worked on by one shard, no matter by which."""

    def __str__(self) -> str:
        """Say it in words."""
        return "spread over all shards"


@dataclass(frozen=True, slots=True)
class Replicated:
    """Every shard reads all rows.

    Examples
    --------
    >>> str(Replicated("ticks are numbered over all rows"))
    'read by every shard: ticks are numbered over all rows'
    """

    why: str

    def __str__(self) -> str:
        """Say it in words."""
        return f"read by every shard: {self.why}"


@dataclass(frozen=True, slots=True)
class Singleton:
    """One shard reads all rows.

    Examples
    --------
    >>> str(Singleton("rows are counted over all groups"))
    'read by one shard: rows are counted over all groups'
    """

    why: str

    def __str__(self) -> str:
        """Say it in words."""
        return f"read by one shard: {self.why}"


Distribution: TypeAlias = Merged | HashBy | Subscribed | Local | Replicated | Singleton
