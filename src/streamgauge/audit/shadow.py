"""Shadow: the same question asked exactly, as a standing query beside the one that is audited."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamgauge.contracts.contract import Contract
from streamgauge.operators.aggregate import count
from streamgauge.plan.query import Cadence, Query, on_change
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.shadows import EXACT_SHADOW, TICKS_SHADOW, is_shadow
from streamgauge.plan.technique import technique_of
from streamgauge.windows.window import Now

RENEWED, LIFE, SURE = "renewed", "life", "sure"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a query is not audited, and whether there is nothing in it that could be wrong."""

    text: str
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Shadow:
    """What runs beside a query.

    Parameters
    ----------
    exact
        The same question, exactly.
    ticks
        Answers at each tick at which the stream has rows; for queries whose answers stand between.
    luck
        renewed, when each answer has its own; life, when the query keeps it; sure, when none is
        needed.
    length
        Event time that its windows reach back; None when it has no end.
    """

    exact: Query
    ticks: Query | None
    luck: str
    length: int | None

    @property
    def queries(self) -> list[Query]:
        """All that is registered."""
        return [self.exact] if self.ticks is None else [self.exact, self.ticks]


def shadow_of(standing: Standing, registry: Registry) -> Shadow | Reason:
    """What can run beside a registered query to tell whether its bars hold, or why nothing can.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg
    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.streams.stream import Stream
    >>> plant = Stream("plant", Schema.of(s="string", ts="time", v="float"), "ts", ("s",), ())
    >>> owed = Contract.absolute(0.5, confidence=0.9)
    >>> known = Registry(streams={"plant": plant})
    >>> heat = Query("heat", "plant", avg("v"), contract=owed)
    >>> print(shadow_of(Standing(0, heat, technique="deferral"), known).exact)
    avg(v) of all series of plant, on change, exact
    >>> cold = Standing(1, Query("cold", "plant", avg("v")), technique="latest values")
    >>> shadow_of(cold, known).text
    'its answers are exact'
    """
    query = standing.asked
    if is_shadow(standing.name):
        return Reason("it is the shadow of another", exact=True)
    technique = technique_of(standing)
    if technique.rows or not isinstance(query, Query):
        return Reason("it answers rows; a share of them looked at is told with each")
    if query.parts:
        return Reason("asked exactly it would be a view of rows of several streams")
    stream = registry.stream(query.stream)
    if stream.width is not None:
        return Reason("agents keep the values; the truth is at the sources")
    if technique.exact(registry, standing):
        return Reason("its answers are exact", exact=True)
    plain = replace(
        query, name=EXACT_SHADOW + query.name, contract=Contract.exact(), promise=None, memory=None,
        regime="", trend=False, answer=_cadence(query),
    )  # fmt: skip
    if technique.over_time:
        ticks = Query(
            TICKS_SHADOW + query.name, query.stream, count(), window=Now(),
            answer=Cadence("every", stream.tick),
        )  # fmt: skip
        luck = RENEWED if query.contract.confidence < 1.0 else SURE
        return Shadow(plain, ticks, luck, None)
    window = registry.window_of(query)
    length = window.length if window is not None and window.kind in ("range", "now") else None
    if window is not None and window.kind == "now":
        length = stream.tick
    # Windows without an end share their rows, and with them their luck.
    renewed = technique.budgeted and length is not None
    return Shadow(plain, None, RENEWED if renewed else LIFE, length)


def _cadence(query: Query) -> Cadence:
    """Every change, however small; else at the same instants."""
    return on_change() if query.answer.kind == "change" else query.answer
