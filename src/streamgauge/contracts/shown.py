"""Lists of answers and plans that a notebook draws; everywhere else they are lists and texts."""

from __future__ import annotations

from streamgauge.contracts.answer import Answer
from streamgauge.contracts.picture import answers_html, plan_html


class Answers(list[Answer]):
    """A list of answers; a notebook shows it as a table with their bars.

    Examples
    --------
    >>> found = Answers([Answer("heat", 20.0, 19.5, 20.5, as_of=0)])
    >>> found == list(found), "<svg" in found._repr_html_()
    (True, True)
    """

    def _repr_html_(self) -> str:
        return answers_html(self)


class PlanText(str):
    """A plan as text; a notebook keeps its lines.

    Examples
    --------
    >>> plan = PlanText("Scan <plant>")
    >>> plan == "Scan <plant>", "<strong>Scan &lt;plant&gt;</strong>" in plan._repr_html_()
    (True, True)
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return plan_html(self)
