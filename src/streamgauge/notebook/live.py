"""LiveAnswer: a standing answer in a notebook, which moves while the cell below it runs.

Where widgets are not at hand the newest answer is shown as it was when the cell ran.
"""

from __future__ import annotations

import threading
from collections import deque
from html import escape
from typing import Any

from streamgauge.contracts.answer import Answer, finite
from streamgauge.contracts.picture import answer_html
from streamgauge.contracts.shown import Answers
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import BindError, StreamgaugeError
from streamgauge.plan.view import View
from streamgauge.results.change_log import as_answers

try:
    from streamgauge.notebook.widget import Drawn
except ImportError:
    Drawn = None  # type: ignore[assignment,misc]

POLL_SECONDS = 0.2
RECENT = 60
HISTORY_EPOCHS = 60
GROUPS = 12


class LiveAnswer:
    """The answers of one query of numbers, shown as they come.

    It follows the gauge in a thread of its own until `stop` is called, the gauge stops, or the job
    fails; what it shows then says so.

    Parameters
    ----------
    gauge
        The gauge; the job may run in this process or in another one.
    name
        Name of the query. Of a grouped one the first dozen groups are shown.

    Examples
    --------
    >>> import tempfile, streamgauge as sg
    >>> gauge = sg.connect(tempfile.mkdtemp(), engine="local")
    >>> gauge.stream("plant", source=sg.plant(n_sensors=4), key="series", time="ts")
    >>> gauge.register(sg.Query("heat", "plant", sg.avg("value"), window=sg.Latest()))
    [StandingQuery('heat')]
    >>> with sg.LiveAnswer(gauge, "heat") as live:
    ...     live.answers
    []
    """

    def __init__(self, gauge: Gauge, name: str) -> None:
        _refuse_rows(gauge, name)
        self.gauge = gauge
        self.name = name
        self._lines: dict[tuple[Any, ...], tuple[Answer, deque[dict[str, Any]]]] = {}
        self._halt = threading.Event()
        self._place = gauge.home.committed()
        self._widget = None if Drawn is None else Drawn(name=name)
        first = max(self._place - HISTORY_EPOCHS, 0)
        for answer in as_answers(gauge.answers(name, since_epoch=first)):
            self._take(answer)
            self._place = max(self._place, answer.epoch)
        for answer in gauge.latest(name):
            if answer.group not in self._lines:
                self._take(answer)
        self._show()
        self._thread = threading.Thread(target=self._follow, name="streamgauge-live", daemon=True)
        self._thread.start()

    @property
    def answers(self) -> Answers:
        """The newest answer of each group."""
        return Answers(answer for answer, _ in list(self._lines.values()))

    @property
    def following(self) -> bool:
        """Whether new answers are still shown."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Follow no longer; what is committed by now is shown and stays."""
        self._halt.set()
        self._thread.join()

    def _follow(self) -> None:
        ran = False
        said = "stopped"
        try:
            while not self._halt.wait(POLL_SECONDS):
                ran = ran or self.gauge.running
                # Asked before reading: what the last epoch of a job brought is still shown.
                over = ran and not self.gauge.running
                self._catch_up()
                if over:
                    said = "the gauge stopped"
                    break
            else:
                self._catch_up()
        except (OSError, StreamgaugeError) as error:
            said = error.what if isinstance(error, StreamgaugeError) else str(error)
        self._say(said)

    def _catch_up(self) -> None:
        committed = self.gauge.home.committed()
        fresh = list(self.gauge.subscribe(self.name, since_epoch=self._place, timeout=0.0))
        for answer in fresh:
            self._take(answer)
        self._place = max([committed, *(answer.epoch for answer in fresh)])
        if fresh:
            self._show()

    def _take(self, answer: Answer) -> None:
        if answer.ends_group:
            self._lines.pop(answer.group, None)
            return
        _, recent = self._lines.get(answer.group, (answer, deque(maxlen=RECENT)))
        ends = {"low": finite(answer.low), "high": finite(answer.high)}
        recent.append({"value": answer.value, **ends})
        self._lines[answer.group] = (answer, recent)

    def _show(self) -> None:
        if self._widget is None:
            return
        shown = list(self._lines.values())[:GROUPS]
        self._widget.more = len(self._lines) - len(shown)
        self._widget.lines = [
            {"answer": answer.as_dict(), "recent": list(recent)} for answer, recent in shown
        ]

    def _say(self, text: str) -> None:
        if self._widget is not None:
            self._widget.state = text

    def _repr_html_(self) -> str:
        found = self.answers
        if not found:
            why = self.gauge.note(self.name) or "no answer yet"
            return f"<p>{escape(repr(self))}: {escape(why)}</p>"
        return answer_html(found[0]) if len(found) == 1 else found._repr_html_()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        static = {"text/plain": repr(self), "text/html": self._repr_html_()}
        drawn = None if self._widget is None else self._widget._repr_mimebundle_()
        return static if drawn is None else {**drawn[0], **static}

    def __repr__(self) -> str:
        return f"LiveAnswer({self.name!r})"

    def __enter__(self) -> LiveAnswer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()


def _refuse_rows(gauge: Gauge, name: str) -> None:
    if isinstance(gauge.trial().registry.query(name).asked, View):
        raise BindError(
            f"query {name!r} answers rows",
            "a live answer follows numbers with their bars",
            f"look at its rows with gauge.rows({name!r}), or follow gauge.subscribe_rows({name!r})",
        )
