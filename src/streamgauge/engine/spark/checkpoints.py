"""Where Spark keeps its notes: in the home, or in a directory of their own on any store.

The journal and the commits are the truth. What Spark notes of the job can be lost, old or of
another home: nothing of it is needed to go on. Notes of a landing query are another matter: they
alone say which rows of a DataFrame have been written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamgauge.kernel.errors import BindError
from streamgauge.log.home import Home

_URI = re.compile(r"[a-z][a-z0-9+.-]*:/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Checkpoint locations of a home.

    Parameters
    ----------
    home
        The home.
    root
        Directory or address of a store that Spark can write (s3a://..., file:///...); None: the
        home.

    Examples
    --------
    >>> Checkpoints(Home("/data/home", 2)).job
    '/data/home/checkpoint'
    >>> Checkpoints(Home("/data/home", 2), "s3a://bucket/gauge/").landing("ticks")
    's3a://bucket/gauge/landing/ticks'
    """

    home: Home
    root: str | None = None

    @property
    def job(self) -> str:
        """Notes of the one query that runs all standing queries."""
        return str(self.home.checkpoint) if self.root is None else f"{self._stem}/job"

    def landing(self, stream: str) -> str:
        """Notes of the query that writes a DataFrame's rows."""
        stem = str(self.home.root) if self.root is None else self._stem
        return f"{stem}/landing/{stream}"

    @property
    def _stem(self) -> str:
        return (self.root or "").rstrip("/")


def check_checkpoint(root: str) -> str:
    """A checkpoint's root as given, or an error that says what it may be."""
    if root.startswith("/") or _URI.match(root):
        return root
    raise BindError(
        f"a checkpoint cannot be at {root!r}",
        "it is neither a whole path nor an address such as s3a://bucket/folder",
        "write a path that begins with /, or file:///..., hdfs://..., s3a://...",
    )
