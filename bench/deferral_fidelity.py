"""Sections on single cells: fidelity and evaluations, the bound of a timer, what a watch costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

import streamgauge as sg
from bench.data import START
from bench.deferral_data import Panel
from bench.deferral_ours import NOTHING, Told, answered, question
from bench.deferral_report import Sections, percent
from bench.deferral_rules import (
    Items,
    Score,
    first_exit,
    optimum,
    printed,
    printed_peak,
    scored,
    sliding_peak,
)
from bench.report import Bar
from streamgauge.kernel.time import SECOND

CONFIDENCES = (0.95, 0.90, 0.85)
# Table 2 of the paper, in per cent.
PAPER = (
    ("paper, stocks", "avg", (94.00, 89.92, 86.84)),
    ("paper, temperature", "avg", (94.66, 91.88, 88.74)),
    ("paper, stocks", "max", (98.15, 97.47, 96.89)),
    ("paper, temperature", "max", (98.90, 98.70, 98.53)),
)
REGIMES = {"ours": "", "timer": "timer", "watch": "watch"}
# Waits, in (eps / sigma)^2, that no timer which does not look can lengthen on driftless walks.
LONGEST = {0.95: 0.466, 0.90: 0.718, 0.85: 0.996}
# Ratios of fewer evaluations are noise.
LEAST = 50
HELD = "3650 days"


@dataclass(frozen=True, slots=True)
class Cell:
    """One bound at one confidence on one panel, by every rule."""

    data: str
    kind: str
    p: float
    bound: str
    ticks: int
    exit: int
    best: int
    scores: dict[str, Score]

    def as_dict(self) -> dict[str, object]:
        """JSON form."""
        plain: dict[str, object] = {
            "data": self.data, "aggregate": self.kind, "p": self.p, "bound": self.bound,
            "naive": self.ticks, "first_exit": self.exit, "optimum": self.best,
        }  # fmt: skip
        for rule, score in self.scores.items():
            plain[rule] = {"evaluations": score.evaluations, "fidelity": score.fidelity}
        return plain

    def spare(self, rule: str) -> float:
        """How far a rule's fidelity lies above what is owed; without answers it is none."""
        return float(np.nan_to_num(self.scores[rule].fidelity)) - self.p


def cells_of(panel: Panel) -> list[Cell]:
    """Every bound and confidence on a panel: ours through the engine, the others on the path."""
    average = panel.average
    paths = {"avg": average, "max": sliding_peak(panel.ticks, average, panel.window)}
    asked = {
        f"{kind}-{rule}-{p:g}-{number}": question(
            f"{kind}-{rule}-{p:g}-{number}", panel, width, p, peak=kind == "max", regime=regime
        )
        for kind in paths
        for rule, regime in REGIMES.items()
        for p in CONFIDENCES
        for number, (_, width) in enumerate(panel.bounds)
    }
    # A value holds until the next one comes, as for the other rules: no silence is long.
    found = answered(panel, list(asked.values()), expected_gap=HELD)
    learned = _with_learned_gaps(panel, asked)
    items = Items.of(panel.ticks, panel.values, panel.present)
    cells = []
    for kind, path in paths.items():
        for number, (bound, width) in enumerate(panel.bounds):
            exits, best = len(first_exit(path, width)), optimum(path, width)
            for p in CONFIDENCES:
                scores = {
                    rule: found.get(f"{kind}-{rule}-{p:g}-{number}", NOTHING).score(
                        panel, path, width
                    )
                    for rule in REGIMES
                }
                places = (
                    printed(panel.ticks, average, items, width, p)
                    if kind == "avg"
                    else printed_peak(panel.ticks, average, items, width, p, panel.window)
                )
                scores["printed"] = scored(path, places, path[places], width)
                if learned:
                    told = learned.get(f"{kind}-ours-{p:g}-{number}", NOTHING)
                    scores["learned"] = told.score(panel, path, width)
                ticks = len(panel.ticks)
                cells.append(Cell(panel.name, kind, p, bound, ticks, exits, best, scores))
    return cells


def _with_learned_gaps(panel: Panel, asked: dict[str, sg.Query]) -> dict[str, Told]:
    """Answers where nothing was said of gaps, and a series can be taken for silent."""
    if panel.present.all():
        return {}
    return answered(panel, [query for query in asked.values() if not query.regime])


def report_fidelity(report: Sections, cells: list[Cell]) -> None:
    """The tables and bars of fidelity, and of what the watch costs."""
    report.cells += [cell.as_dict() for cell in cells]
    report.table(
        "fidelity in per cent, mean over five bounds, at p = 0.95, 0.90 and 0.85:\n"
        "ours as planned, ours by timer, the printed rule",
        ("data", *("ours", "timer", "print") * len(CONFIDENCES)),
        _summary(cells),
    )
    for data, kind in dict.fromkeys((cell.data, cell.kind) for cell in cells):
        own = [cell for cell in cells if (cell.data, cell.kind) == (data, kind)]
        report.table(
            f"{data}, {kind.upper()}: evaluations and fidelity in per cent; naive {own[0].ticks:,}",
            ("bound", "p", "ours", "%", "timer", "%", "print", "%", "exit", "best", "/best",
             "/print"),
            [_line(cell) for cell in own],
        )  # fmt: skip
    averages = [cell for cell in cells if cell.kind == "avg"]
    peaks = [cell for cell in cells if cell.kind == "max"]
    bars, figures = report.bars, report.figures
    bars["fidelity_every_cell"] = Bar(_least(averages, "ours"), 0.0)
    bars["timer_fidelity_every_cell"] = Bar(_least(averages, "timer"), -0.005)
    bars["max_fidelity"] = Bar(_least(peaks, "ours"), 0.0)
    figures["max_timer_fidelity"] = _least(peaks, "timer"), "spare"
    figures["printed_fidelity_every_cell"] = _least(averages, "printed"), "spare"
    figures["printed_max_fidelity"] = _least(peaks, "printed"), "spare"
    learned = [cell for cell in cells if "learned" in cell.scores]
    figures["learned_gaps_fidelity"] = _least(learned, "learned"), "spare"
    broken = [cell for cell in cells if cell.spare("printed") < 0]
    figures["printed_broken_cells"] = len(broken) / len(cells), "share"
    for rule in ("ours", "timer"):
        held = [
            cell.scores[rule].evaluations / cell.scores["printed"].evaluations
            for cell in averages
            if cell.spare("printed") >= 0 and cell.scores["printed"].evaluations >= LEAST
        ]
        figures[f"{rule}_over_printed_median"] = _middle(held), "ratio"
        figures[f"{rule}_over_printed_worst"] = max(held, default=None), "ratio"
    _report_watch(report, averages)


def _summary(cells: list[Cell]) -> Iterable[list[str]]:
    for name, kind, shares in PAPER:
        yield [f"{name}, {kind}", *(text for share in shares for text in ("", "", f"{share:.2f}"))]
    for data, kind in dict.fromkeys((cell.data, cell.kind) for cell in cells):
        row = [f"{data}, {kind}"]
        for p in CONFIDENCES:
            own = [c.scores for c in cells if (c.data, c.kind, c.p) == (data, kind, p)]
            row += [
                percent(float(np.mean([scores[rule].fidelity for scores in own])))
                for rule in ("ours", "timer", "printed")
            ]
        yield row


def _line(cell: Cell) -> list[str]:
    row = [cell.bound, f"{cell.p:g}"]
    for rule in ("ours", "timer", "printed"):
        score = cell.scores[rule]
        row += [str(score.evaluations), percent(score.fidelity)]
    ours, theirs = cell.scores["ours"].evaluations, cell.scores["printed"].evaluations
    # A ratio counts at an error no worse; a rule that broke its promise is no measure.
    beside = f"{ours / theirs:.2f}" if cell.spare("printed") >= 0 else "broke"
    return [*row, str(cell.exit), str(cell.best), f"{ours / cell.best:.2f}", beside]


def _least(cells: list[Cell], rule: str) -> float | None:
    return min((cell.spare(rule) for cell in cells), default=None)


def _middle(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None


def _report_watch(report: Sections, cells: list[Cell]) -> None:
    rows, worst = [], []
    for p in CONFIDENCES:
        own = [cell for cell in cells if cell.p == p and cell.best >= LEAST]
        ratios = [cell.scores["watch"].evaluations / cell.best for cell in own]
        if not ratios:
            continue
        most = int(np.argmax(ratios))
        worst.append(ratios[most])
        spare = min(cell.spare("watch") for cell in own)
        rows.append(
            [f"{p:g}", str(len(own)), f"{min(ratios):.2f}", f"{np.median(ratios):.2f}",
             f"{ratios[most]:.2f}", f"{own[most].data}, {own[most].bound}", f"{spare:.4f}"]
        )  # fmt: skip
    report.table(
        f"watch: evaluations over the off-line optimum (of {LEAST} or more), averages",
        ("p", "series", "least", "median", "most", "which", "least spare"),
        rows,
    )
    report.bars["watch_over_optimum"] = Bar(max(worst, default=None), 1.15, at_least=False)


def report_timer_bound(report: Sections, n_cells: int, ticks: int) -> None:
    """The timer on driftless walks, one series to a cell, beside the longest waits there can be."""
    rng = np.random.default_rng(29)
    values = np.cumsum(rng.standard_normal((ticks, n_cells)), axis=0)
    when = START // SECOND + 1 + np.arange(ticks)
    panel = Panel("walks", SECOND, when, values, np.ones(values.shape, np.bool_))
    asked = [(width, p) for width in (10.0, 31.6) for p in CONFIDENCES]
    queries = [_single(panel, number, width, p) for width, p in asked for number in range(n_cells)]
    found = answered(panel, queries)
    rows, over, spare = [], [], []
    for width, p in asked:
        scores = [
            found.get(_name(number, width, p), NOTHING).score(panel, values[:, number], width)
            for number in range(n_cells)
        ]
        mean = float(np.mean([score.evaluations for score in scores]))
        fidelity = float(np.mean([score.fidelity for score in scores]))
        least = ticks / (LONGEST[p] * width**2)
        over.append(mean / least)
        spare.append(fidelity - p)
        rows.append(
            [f"{width:g} sigma", f"{p:g}", f"{mean:.1f}", f"{least:.1f}", f"{over[-1]:.3f}",
             percent(fidelity)]
        )  # fmt: skip
        report.figures[f"timer_over_bound_{width:g}_{p:g}"] = over[-1], "ratio"
    report.table(
        f"timer on {n_cells} driftless walks of {ticks:,} ticks, beside the blind bound",
        ("eps", "p", "evaluations", "bound", "ratio", "fidelity %"),
        rows,
    )
    report.bars["timer_over_bound"] = Bar(max(over), 1.15, at_least=False)
    report.bars["timer_spare_least"] = Bar(min(spare), 0.0)
    report.bars["timer_spare_most"] = Bar(max(spare), 0.02, at_least=False)


def _name(number: int, width: float, p: float) -> str:
    return f"walk-{number}-{width:g}-{p:g}"


def _single(panel: Panel, number: int, width: float, p: float) -> sg.Query:
    return sg.Query(
        _name(number, width, p),
        "panel",
        sg.avg("value"),
        series=(panel.series[number],),
        contract=sg.Contract.absolute(width, confidence=p),
        regime="timer",
    )
