"""Former offers: the names that earlier releases gave to whose offer was taken, read as of today.

Pages and snapshots of earlier releases name offers where they now name the technique that answers;
older ones name none. Both are told from the query and its synopsis; nothing is chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.plan.allowances import kind_of
from streamgauge.plan.latest import deferred
from streamgauge.plan.offer import Statistics
from streamgauge.plan.query import Query
from streamgauge.plan.selections import selection_of
from streamgauge.plan.standing import Taken
from streamgauge.plan.view import View

if TYPE_CHECKING:
    from streamgauge.plan.registry import Registry

# Names that were given to offers; the last is of views, and of pages that say nothing.
FORMER = (
    "exact panes",
    "filters at the sources",
    "kept values",
    "promising strata",
    "sketch a stream",
    "synopsis",
    "",
)
_EXACT = {
    "": "latest values",
    "now": "windows of time",
    "range": "windows of time",
    "landmark": "windows of time",
    "rows": "windows of rows",
    "partition": "windows of rows",
    "decay": "decaying windows",
}


def offer_now(registry: Registry, asked: Query | View, told: Taken) -> Taken:
    """What a record says was taken, with the name of the technique that answers."""
    if told.technique not in FORMER:
        return told
    known = Statistics.of(registry, asked)
    return told._replace(technique=answered_by(asked, told.model, known))


def answered_by(asked: Query | View, model: str, statistics: Statistics) -> str:
    """The technique that answers a query which a release before techniques had names registered.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg
    >>> from streamgauge.windows.window import Rows
    >>> answered_by(Query("heat", "plant", avg("value"), window=Rows(10)), "", Statistics())
    'windows of rows'
    """
    if isinstance(asked, View):
        return _of_rows(asked)
    if asked.promise is not None:
        return "aggregates under a work budget"
    if asked.parts:
        return "sketches across streams"
    if model:
        return "sketches over windows"
    if statistics.bounds:
        return "source bounds"
    return "deferral" if deferred(asked) else _EXACT[statistics.window_of(asked)]


def _of_rows(view: View) -> str:
    if view.promise is None:
        return "relations" if selection_of(view) is None else "selections"
    return f"{kind_of(view)}s under a work budget"
