"""Section on checks: extremes by timer, silences and learned gaps at high confidence.

A tick holds when the answer that stands at it has the exact value in its interval. Ticks depend on
each other, so the sampling error of a share of ticks is taken from the means of blocks of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import streamgauge as sg
from bench.deferral_data import Panel, Silences, silenced
from bench.deferral_ours import NOTHING, STREAM, Told, answered
from bench.deferral_report import Sections, percent
from bench.deferral_rules import sliding_peak
from bench.report import Bar
from streamgauge.kernel.time import SECOND
from streamgauge.plan.over import Over

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CONFIDENCES = (0.90, 0.95, 0.99)
REGIMES = {"auto": "", "timer": "timer"}
# Signs of the extremes: a minimum is the maximum of the opposite.
SIGNS = {"max": 1.0, "min": -1.0}
BLOCKS = 20
# Sampling errors that a share may lie below what is promised.
ERRORS = 2.0
LENGTHS = (5, 15, 30, 45, 60)
PERIOD, SILENT = 200, 2
HELD = "3650 days"
# Share of the silent ticks that must be told.
LEAST_MARKED = 0.5
# Relative slack of a comparison: a value at the edge of its interval is inside.
EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Check:
    """One query over one panel: the share of ticks that held, and its sampling error.

    `marked` is the share of the silent ticks at which the answer says so, `false` of the others;
    `blind` the share of ticks that held what was withheld, before a silence could be known too.
    """

    section: str
    data: str
    kind: str
    regime: str
    bound: str
    p: float
    evaluations: int
    share: float
    error: float
    marked: float = float("nan")
    false: float = float("nan")
    blind: float = float("nan")

    @property
    def spare(self) -> float:
        """How far the share lies above what is promised."""
        return self.share - self.p

    @property
    def allowed(self) -> float:
        """The same with its sampling errors granted."""
        return self.spare + ERRORS * self.error

    def as_dict(self) -> dict[str, object]:
        """JSON form."""
        names = ("section", "data", "kind", "regime", "bound", "p", "evaluations", "share", "error",
                 "marked", "false", "blind")  # fmt: skip
        return {name: _plain(getattr(self, name)) for name in names}


def _plain(value: object) -> object:
    return None if isinstance(value, float) and np.isnan(value) else value


def sampling_error(held: Flags) -> float:
    """Standard error of the share of ticks that held, from the means of blocks of ticks.

    >>> sampling_error(np.ones(1000, bool))
    0.0
    """
    if len(held) < BLOCKS:
        return float("nan")
    means = [float(part.mean()) for part in np.array_split(held, BLOCKS)]
    return float(np.std(means, ddof=1) / np.sqrt(BLOCKS))


def standing(panel: Panel, told: Told) -> tuple[npt.NDArray[np.int64], int]:
    """Which answer stands at each fresh tick, and the first tick that has one."""
    number = np.searchsorted(told.tick, panel.ticks, side="right") - 1
    return number, int(np.argmax(number >= 0)) if len(told.tick) else len(number)


def holds(panel: Panel, told: Told, truth: Floats) -> tuple[Flags, int]:
    """Whether the answer at each tick holds the truth, from the first answer on; where that is."""
    number, first = standing(panel, told)
    at, true = number[first:], truth[first:]
    slack = EDGE * np.maximum(1.0, np.abs(true))
    return (told.low[at] - slack <= true) & (true <= told.high[at] + slack), first


def query(
    name: str, panel: Panel, width: float, p: float, over: Over | None, regime: str
) -> sg.Query:
    """The average of all series of a panel, or an extreme of it."""
    contract = sg.Contract.absolute(width, confidence=p)
    average = sg.avg("value")
    return sg.Query(
        name, STREAM, average, series=panel.series, contract=contract, over=over, regime=regime
    )


def extremes(panel: Panel) -> Iterator[tuple[str, Over, float, int]]:
    """Extremes to ask for: what each is called, its window, its sign and the ticks of that."""
    length, whole = panel.window * panel.tick / SECOND, int(panel.ticks[-1] - panel.ticks[0]) + 1
    for kind, sign in SIGNS.items():
        yield f"landmark {kind}", Over(kind, sg.Landmark(0)), sign, whole
        yield f"window {kind}", Over(kind, sg.Range(length)), sign, panel.window


def landmark_checks(panel: Panel) -> list[Check]:
    """Extremes since a landmark and over a window, by timer and as planned, without silences."""
    asked, truths = [], {}
    for kind, over, sign, window in extremes(panel):
        truths[kind] = sign * sliding_peak(panel.ticks, sign * panel.average, window)
        asked += _asked(panel, kind, over, panel.bounds)
    found = answered(panel, [one for *_, one in asked], expected_gap=HELD)
    checks = []
    for kind, regime, bound, p, one in asked:
        told = found.get(one.name, NOTHING)
        held, _ = holds(panel, told, truths[kind])
        checks.append(_check("landmark", panel, kind, regime, bound, p, told, held))
    return checks


def _asked(
    panel: Panel, kind: str, over: Over | None, bounds: Sequence[tuple[str, float]]
) -> list[tuple[str, str, str, float, sg.Query]]:
    """Queries by each regime, width and confidence, with what each is called."""
    return [
        (kind, regime, bound, p, query(_name(kind, regime, bound, p), panel, width, p, over, by))
        for regime, by in REGIMES.items()
        for bound, width in bounds
        for p in CONFIDENCES
    ]


def _name(*parts: object) -> str:
    return "-".join(str(part).replace(" ", "-") for part in parts)


def _check(
    section: str,
    panel: Panel,
    kind: str,
    regime: str,
    bound: str,
    p: float,
    told: Told,
    held: Flags,
    **shares: float,
) -> Check:
    share = float(held.mean()) if len(held) else 0.0
    error = sampling_error(held)
    where = section, panel.name, kind, regime, bound
    return Check(*where, p, len(told.tick), share, error, **shares)


def silence_checks(panel: Panel, *, declared: bool) -> list[Check]:
    """Averages and extremes while series are withheld, all ticks together."""
    section = "silence" if declared else "learned gap"
    silences = silenced(panel, SILENT, LENGTHS, PERIOD)
    # Measured series have gaps of their own.
    gap = (5 if panel.real else 1) * panel.tick / SECOND
    more = {"expected_gap": gap} if declared else {}
    asked = []
    truths, hidden = {"avg": shown(silences.panel)}, {"avg": panel.average}
    kinds: list[tuple[str, Over | None]] = [("avg", None)]
    for kind, over, sign, window in extremes(panel):
        truths[kind] = sign * sliding_peak(panel.ticks, sign * truths["avg"], window)
        hidden[kind] = shown_extreme(silences, sign, window)
        kinds.append((kind, over))
    for kind, over in kinds:
        asked += _asked(panel, kind, over, panel.bounds[1:4:2])
    found = answered(silences.panel, [one for *_, one in asked], **more)
    quiet = withheld(silences)
    checks = []
    for kind, regime, bound, p, one in asked:
        told = found.get(one.name, NOTHING)
        number, first = standing(silences.panel, told)
        said = (number >= 0) & told.silent[number] if len(told.tick) else quiet & False
        # Until a gap is over, the latest value of a series stands, whatever was withheld.
        truth = np.where(said & quiet, hidden[kind], truths[kind])
        held, _ = holds(silences.panel, told, truth)
        blind, _ = holds(silences.panel, told, hidden[kind])
        said, mute = said[first:], quiet[first:]
        shares = {
            "marked": float(said[mute].mean()) if mute.any() else float("nan"),
            "false": float(said[~mute].mean()) if (~mute).any() else float("nan"),
            "blind": float(blind.mean()) if len(blind) else 0.0,
        }
        checks.append(_check(section, panel, kind, regime, bound, p, told, held, **shares))
    return checks


def withheld(silences: Silences) -> Flags:
    """Whether a tick lies in a silence."""
    quiet = np.zeros(len(silences.panel.ticks), np.bool_)
    for start, length in zip(silences.start.tolist(), silences.length.tolist(), strict=True):
        quiet[start : start + length] = True
    return quiet


def shown(panel: Panel) -> Floats:
    """The average of what rows show: each value holds until the next row."""
    place = np.where(panel.present, np.arange(len(panel.ticks))[:, None], 0)
    place = np.maximum.accumulate(place, axis=0)
    return np.asarray(np.take_along_axis(panel.values, place, axis=0).mean(axis=1))


def shown_extreme(silences: Silences, sign: float, window: int) -> Floats:
    """Exact extreme at each tick: of what rows show, and in a silence of what is withheld too."""
    panel = silences.panel
    path, whole = sign * shown(panel), sign * panel.average
    truth = sliding_peak(panel.ticks, path, window)
    for start, length in zip(silences.start.tolist(), silences.length.tolist(), strict=True):
        first = int(np.searchsorted(panel.ticks, panel.ticks[start] - window, side="right"))
        both = np.concatenate((path[first:start], whole[start : start + length]))
        ticks = panel.ticks[first : start + length]
        truth[start : start + length] = sliding_peak(ticks, both, window)[start - first :]
    return sign * truth


def report_checks(report: Sections, checks: list[Check]) -> None:
    """A table for each section, with its worst cells; the bars."""
    report.cells += [check.as_dict() for check in checks]
    for section in dict.fromkeys(check.section for check in checks):
        own = [check for check in checks if check.section == section]
        report.table(
            f"{section}: ticks held in per cent, least of the bounds, at p = 0.90, 0.95 and 0.99",
            ("data", *("held", "error", "answers") * len(CONFIDENCES), "marked %", "false %"),
            list(_lines(own)),
        )
        name = section.replace(" ", "_")
        report.figures[f"{name}_spare"] = min(check.spare for check in own), "spare"
        report.bars[f"{name}_held"] = Bar(min(check.allowed for check in own), 0.0)
        marks = [check.marked for check in own if not np.isnan(check.marked)]
        if marks:
            report.bars[f"{name}_marked"] = Bar(min(marks), LEAST_MARKED)
            blind = min(check.blind - check.p for check in own)
            report.figures[f"{name}_blind_spare"] = blind, "spare"


def _lines(checks: list[Check]) -> Iterator[list[str]]:
    for data, kind, regime in dict.fromkeys((c.data, c.kind, c.regime) for c in checks):
        row = [f"{data}, {kind}, {regime}"]
        own = [c for c in checks if (c.data, c.kind, c.regime) == (data, kind, regime)]
        for p in CONFIDENCES:
            least = min((c for c in own if c.p == p), key=lambda c: c.allowed)
            row += [percent(least.share), percent(least.error), str(least.evaluations)]
        marks = [c.marked for c in own], [c.false for c in own]
        row += ["" if np.isnan(part).all() else percent(float(np.nanmean(part))) for part in marks]
        yield row
