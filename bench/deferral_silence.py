"""Section on silences: what an answer says of series that have stopped, and whether it held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from bench.deferral_data import Panel, Silences, silenced
from bench.deferral_ours import NOTHING, Told, answered, question
from bench.deferral_report import Sections, percent
from bench.report import Bar
from streamgauge.kernel.time import SECOND

Floats = npt.NDArray[np.float64]

LENGTHS = (5, 15, 30, 45, 60)
PERIOD = 200
CONFIDENCE = 0.9
FALSE_ALARM = 1e-3
# Bound of the queries, in deviations of one tick of the average.
SIGMAS = 10.0


@dataclass(frozen=True, slots=True)
class Held:
    """The last answer of each silence of one length: its error, what it said, whether it held.

    `stated` is the half-width of the bar, `doubt` what of it is owed to the silence alone.
    """

    length: int
    error: Floats
    stated: Floats
    doubt: Floats
    held: npt.NDArray[np.bool_]

    @property
    def doubted(self) -> float:
        """Share of answers that the doubt alone would have held: live series are up to date."""
        return float(np.mean(self.error <= self.doubt)) if len(self.error) else float("nan")

    @property
    def share(self) -> float:
        """Share of answers whose interval held the truth."""
        return float(np.mean(self.held)) if len(self.held) else float("nan")

    @property
    def least(self) -> float:
        """The smallest share that a right interval gives but once in a thousand."""
        n = len(self.held)
        return float(binom.ppf(FALSE_ALARM, n, CONFIDENCE)) / n if n else 0.0


def judged(silences: Silences, told: Told, epsilon: float) -> list[Held]:
    """Judge the last answer of each silence; answers of one silence are not independent."""
    panel, truth = silences.panel, silences.panel.average
    found = []
    for length in LENGTHS:
        start = silences.start[silences.length == length]
        # The tick before the return: the series have been silent for the whole length.
        last = start + length - 1
        number = np.searchsorted(told.tick, panel.ticks[last], side="right") - 1
        inside = (number >= 0) & (told.tick[np.maximum(number, 0)] >= panel.ticks[start])
        last, number = last[inside], number[inside]
        place = np.searchsorted(panel.ticks, told.tick[number])
        value, low, high = told.value[number], told.low[number], told.high[number]
        held = (low <= truth[place]) & (truth[place] <= high)
        stated = (high - low) / 2
        error = np.abs(truth[place] - value)
        found.append(Held(length, error, stated, stated - epsilon, held))
    return found


def report_silences(report: Sections, panels: list[Panel]) -> None:
    """Two and three of the series silent, on each panel."""
    rows, spare, alone = [], [], []
    for panel in panels:
        step = float(np.median(np.abs(np.diff(panel.average)))) / 0.6745
        for silent in (2, 3):
            silences = silenced(panel, silent, LENGTHS, PERIOD)
            query = question("silent", panel, SIGMAS * step, CONFIDENCE)
            # Measured series have gaps of their own.
            gap = (5 if panel.real else 1) * panel.tick / SECOND
            told = answered(silences.panel, [query], expected_gap=gap).get("silent", NOTHING)
            for held in judged(silences, told, SIGMAS * step):
                if not len(held.held):
                    continue
                rows.append(_line(panel.name, silent, held, step))
                spare.append(held.share - held.least)
                alone.append(held.doubted - held.least)
                report.cells.append(
                    {"section": "silences", "data": panel.name, "silent": silent,
                     "length": held.length,
                     "n": len(held.held), "error": float(held.error.mean()),
                     "stated": float(held.stated.mean()), "share": held.share,
                     "doubt_share": held.doubted}
                )  # fmt: skip
    report.table(
        f"silences: last answer of each, eps = {SIGMAS:g} sigma, p = {CONFIDENCE:g}; in sigma",
        ("data", "silent", "ticks", "n", "error", "bar", "doubt", "held %", "doubt %", "least %"),
        rows,
    )
    report.figures["silence_doubt_held"] = min(alone, default=None), "spare"
    report.bars["silence_interval_held"] = Bar(min(spare, default=None), 0.0)


def _line(name: str, silent: int, held: Held, step: float) -> list[str]:
    numbers = [float(part.mean()) / step for part in (held.error, held.stated, held.doubt)]
    shares = [percent(share) for share in (held.share, held.doubted, held.least)]
    counts = [str(silent), str(held.length), str(len(held.held))]
    return [name, *counts, *(f"{number:.2f}" for number in numbers), *shares]
