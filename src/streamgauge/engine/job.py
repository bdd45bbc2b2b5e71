"""How a home is run: on which engine, where Spark is and keeps its notes, what stays."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.engine.engine import Engine
from streamgauge.engine.local import LocalEngine
from streamgauge.engine.spark.checkpoints import check_checkpoint
from streamgauge.engine.spark.engine import SparkEngine
from streamgauge.engine.upkeep import kept_for
from streamgauge.kernel.errors import BindError, MissingRuntime
from streamgauge.kernel.time import DurationLike
from streamgauge.log.home import Home

MAX_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Job:
    """What `connect` was told of running a home; checked at once.

    Examples
    --------
    >>> Job("local", checkpoint="/notes")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: the local engine has no checkpoint
      detail: checkpoint='/notes' was given
      hint: leave it out: the home is all it needs
    """

    kind: str
    master: str | None = None
    max_rows: int = MAX_ROWS
    settings: dict[str, str] | None = None
    checkpoint: str | None = None
    keep_answers: DurationLike | None = None
    exchange: bool | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("spark", "local"):
            raise BindError(
                f"unknown engine {self.kind!r}",
                "expected one of spark, local",
                "write engine='local', or leave it out for Spark",
            )
        if (self.master or "").startswith("sc://"):
            raise _connect_server(self.master or "")
        if self.checkpoint is not None and self.kind == "local":
            raise BindError(
                "the local engine has no checkpoint",
                f"checkpoint={self.checkpoint!r} was given",
                "leave it out: the home is all it needs",
            )
        if self.checkpoint is not None:
            check_checkpoint(self.checkpoint)
        if self.keep_answers is not None:
            kept_for(self.keep_answers)

    def engine(self, home: Home) -> Engine:
        """An engine that runs a home so."""
        kept = None if self.keep_answers is None else kept_for(self.keep_answers)
        if self.kind == "local":
            return LocalEngine(
                home, max_rows=self.max_rows, keep_answers=kept, exchange=self.exchange
            )
        return SparkEngine(
            home,
            max_rows=self.max_rows,
            master=self.master,
            settings=self.settings,
            checkpoint=self.checkpoint,
            keep_answers=kept,
            exchange=self.exchange,
        )


def _connect_server(master: str) -> MissingRuntime:
    return MissingRuntime(
        "a job cannot run through Spark Connect",
        f"{master} is a Spark Connect server: it would commit epochs in a process of its own, "
        "which does not hold the lock of the home",
        "name a master: spark://host:7077, yarn, k8s://...; read and change the home from anywhere",
    )
