"""Joins of two stores: most output, freshest output, a faithful sample, outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.deferral_report import Sections, percent
from bench.promise_data import Stores
from bench.promise_measures import (
    Clock,
    Line,
    Outliers,
    at_equal_work,
    geometric,
    hist_mse,
    histogram,
    in_all,
    in_window,
    omniscient,
    rare_rows,
)
from bench.promise_runs import Case, Trial, preferring, promising, symmetric
from bench.report import Bar
from streamgauge.promise.costs import Allowance

# Probes in a hundred rows that come, which are the rows of a tick.
BUDGETS = (2, 5, 10, 20, 50)
TIGHTEST = BUDGETS[0]
# Budgets between those, for what is had at equal work.
BETWEEN = (1, 3, 7, 15, 30, 75, 100)
FADE = 0.8
# Each older granularity is so many times as long as the one before it.
RATES = (1, 2)
# Parts of a stream whose histograms are compared one by one: a single distance is mostly chance.
PARTS = 4
REACHED = 0.8


@dataclass(frozen=True, slots=True)
class Pair:
    """Both ways under one budget."""

    budget: int
    ours: Trial
    simple: Trial

    @property
    def ratio(self) -> float:
        """Output of ours over that of the symmetric hash join."""
        return self.ours.output / max(1, self.simple.output)

    @property
    def wrong(self) -> int:
        """Output rows that should not be there."""
        return self.ours.wrong + self.simple.wrong


def most_output(report: Sections, cases: Sequence[Case]) -> int:
    """DESC under five budgets: output at equal probes, at equal work, and by processor time."""
    found = {case.name: [_pair(case, "desc", budget) for budget in BUDGETS] for case in cases}
    rows = []
    for case in cases:
        for pair in found[case.name]:
            could = omniscient(case.line, "desc", pair.budget).sum() / max(1, case.exact)
            rows.append([
                case.name, str(pair.budget), percent(pair.ours.share), percent(pair.simple.share),
                f"{pair.ratio:.2f}", percent(could),
                f"{pair.ours.probes:,}", f"{pair.simple.probes:,}",
            ])  # fmt: skip
            report.cells.append(_cell("desc", pair, reachable=float(could)))
    report.table(
        "join, one-minute window, DESC: output in % of the exact one, at equal probes",
        ["data", "budget %", "ours", "SHJ", "ratio", "exact counts", "our probes", "its probes"],
        rows,
    )
    ratios = {case.name: found[case.name][0].ratio for case in cases}
    skewed = [ratios[case.name] for case in cases if case.stores.skewed]
    report.bars["join_output_ratio"] = Bar(min(skewed, default=None), 1.5)
    for case in cases:
        report.figures[f"join_ratio_{_key(case)}"] = (
            ratios[case.name],
            f"times SHJ at {TIGHTEST} %, skew {case.stores.skew:.1f}",
        )
    _equal_work(report, cases, found)
    _equal_time(report, cases, found)
    return sum(pair.wrong for pairs in found.values() for pair in pairs)


def _equal_work(report: Sections, cases: Sequence[Case], found: dict[str, list[Pair]]) -> None:
    """Every row found costs a probe too: output for the work of the symmetric hash join."""
    rows, ratios = [], []
    for case in cases:
        ours = [pair.ours for pair in found[case.name]]
        ours += [promising(case, preferring("desc"), Allowance(more)) for more in BETWEEN]
        works = np.array([one.probes + one.output for one in ours], np.float64)
        outputs = np.array([one.output for one in ours], np.float64)
        row = [case.name]
        for pair in found[case.name]:
            work = pair.simple.probes + pair.simple.output
            ratio = at_equal_work(work, works, outputs) / max(1, pair.simple.output)
            row.append(f"{ratio:.2f}")
            report.cells.append(
                {"section": "work", "data": case.name, "budget": pair.budget, "ratio": ratio}
            )
            if pair.budget == TIGHTEST and case.stores.skewed:
                ratios.append(ratio)
        rows.append(row)
    report.table(
        "the same where every row found costs a probe too: our output over that of SHJ",
        ["data", *(f"{budget} %" for budget in BUDGETS)],
        rows,
    )
    if ratios:
        report.figures["join_ratio_rows_cost_too"] = (min(ratios), "times SHJ, the least")


def _equal_time(report: Sections, cases: Sequence[Case], found: dict[str, list[Pair]]) -> None:
    """Processor time of both at each budget, and rows found in a millisecond of it."""
    rows, ratios = [], []
    for case in cases:
        for pair in found[case.name]:
            each = [trial.output / max(1e-6, 1e3 * trial.cpu) for trial in (pair.ours, pair.simple)]
            ratio = each[0] / max(1e-9, each[1])
            ratios.append(ratio)
            rows.append([
                case.name, str(pair.budget), f"{1e3 * pair.ours.cpu:.1f}",
                f"{1e3 * pair.simple.cpu:.1f}", f"{each[0]:.0f}", f"{each[1]:.0f}", f"{ratio:.3f}",
            ])  # fmt: skip
    report.table(
        "the same in processor time: milliseconds of the run, and rows found in a millisecond",
        ["data", "budget %", "ours ms", "SHJ ms", "ours rows/ms", "SHJ rows/ms", "ratio"],
        rows,
    )
    report.figures["join_rows_per_ms_ratio"] = (geometric(ratios), "of SHJ, geometric mean")


def freshest(report: Sections, stores: Sequence[Stores], budget: int) -> int:
    """Whole-stream windows, with and without fading: output and time between rows."""
    rows, wrong = [], 0
    fresher: dict[int, list[float]] = {rate: [] for rate in RATES}
    for one in stores:
        case = Case.of(one, Clock(Clock.of(one).tick, 0))
        allowance = Allowance(budget)
        trials = {"SHJ": symmetric(case, allowance)}
        trials["fade 1"] = promising(case, preferring("desc"), allowance)
        for rate in RATES:
            name = f"fade {FADE}, x {rate}"
            faded = promising(case, preferring("desc", FADE), allowance, case.summary(rate))
            beside = min(trials[other].freshness for other in ("SHJ", "fade 1"))
            fresher[rate].append(faded.freshness / max(1e-9, beside))
            trials[name] = faded
        wrong += sum(trial.wrong for trial in trials.values())
        rows.append([
            case.name, *(percent(trial.share) for trial in trials.values()),
            *(f"{trial.freshness:.0f}" for trial in trials.values()),
        ])  # fmt: skip
        report.cells.append({
            "section": "whole stream", "data": case.name, "budget": budget,
            "share": {name: trial.share for name, trial in trials.items()},
            "seconds": {name: trial.freshness for name, trial in trials.items()},
        })  # fmt: skip
    names = ["SHJ", "fade 1", *(f"fade {FADE}, x {rate}" for rate in RATES)]
    report.table(
        f"join, whole-stream window, {budget} %: output in %, then seconds between rows",
        ["data", *names, *(f"s: {name}" for name in names)],
        rows,
    )
    # Below one everywhere: fresher than both the join without fading and the plain one.
    worst = max((seconds for own in fresher.values() for seconds in own), default=None)
    report.bars["fresher_with_fade"] = Bar(worst, 1.0, at_least=False)
    return wrong


def faithful(report: Sections, cases: Sequence[Case]) -> int:
    """WEIGHTED: likeness of the output to the exact one in a hundred bins."""
    rows, ratios, wrong = [], {}, 0
    for case in cases:
        parts = [Case.of(part, case.clock) for part in case.stores.parts(PARTS)]
        for budget in BUDGETS:
            pairs = [_pair(part, "weighted", budget) for part in parts]
            wrong += sum(pair.wrong for pair in pairs)
            ours, simple, drawn = np.mean([_likeness(pair) for pair in pairs], axis=0)
            ratio = float(ours / simple) if simple else 1.0
            if case.stores.skewed:
                ratios[case.name, budget] = ratio
            shares = [
                sum(getattr(pair, way).output for pair in pairs) / sum(p.exact for p in parts)
                for way in ("ours", "simple")
            ]
            rows.append([
                case.name, str(budget), f"{ours:.3g}", f"{simple:.3g}", f"{ratio:.2f}",
                f"{drawn:.3g}", *(percent(share) for share in shares),
            ])  # fmt: skip
            report.cells.append({
                "section": "weighted", "data": case.name, "budget": budget,
                "mse": [float(ours), float(simple), float(drawn)], "share": shares,
            })  # fmt: skip
    report.table(
        f"join, WEIGHTED: Hist-MSE, mean of {PARTS} parts, beside as many rows drawn at random",
        ["data", "budget %", "ours", "SHJ", "ours/SHJ", "drawn", "our output %", "its output %"],
        rows,
    )
    worst = [
        geometric([ratio for (name, _), ratio in ratios.items() if name == case.name])
        for case in cases
        if case.stores.skewed
    ]
    report.bars["weighted_hist_mse"] = Bar(max(worst, default=None), 0.5, at_least=False)
    report.bars["weighted_hist_mse_worst_cell"] = Bar(
        max(ratios.values(), default=None), 0.5, at_least=False
    )
    return wrong


def _likeness(pair: Pair) -> tuple[float, float, float]:
    """Hist-MSE of both ways, and as expected of a random sample as large as ours."""
    case = pair.ours.case
    exact = case.line.counts(case.line.matches)
    ours, simple = (hist_mse(exact, t.counts, case.numbers) for t in (pair.ours, pair.simple))
    return ours, simple, _drawn(exact, pair.ours.output, case.numbers)


def _drawn(exact: npt.NDArray[np.float64], rows: int, number: npt.NDArray[np.int64]) -> float:
    """Hist-MSE of rows drawn from the exact output without putting any back, as expected."""
    share = histogram(exact, number)
    total = max(2.0, float(exact.sum()))
    left = max(0.0, 1.0 - (rows - 1) / (total - 1))
    return float((share * (1.0 - share)).sum() * left / max(1, rows))


def outliers(report: Sections, cases: Sequence[Case]) -> int:
    """ASC: rows of rare items, of those that exact counts would find for the same probes."""
    rows, recall, precision, everywhere, seen, wrong = [], [], [], [], [], 0
    for case in cases:
        line = case.line
        rare = rare_rows(line, in_all(line))
        most = _rarest(line)
        for budget in BUDGETS:
            trial = promising(case, preferring("asc"), Allowance(budget))
            best = omniscient(line, "asc", budget)
            wrong += trial.wrong
            ours = Outliers(trial.output, int(rare[trial.last].sum()), int(best[rare].sum()))
            could = int(best[rare].sum()) / max(1, int(best.sum()))
            now = in_window(line, trial.last, trial.at)
            in_view = float((now <= most).mean()) if len(now) else 0.0
            rows.append([
                case.name, str(budget), f"{ours.found:,}", f"{ours.true:,}", f"{ours.reachable:,}",
                f"{ours.recall:.2f}", f"{ours.precision:.2f}", f"{could:.2f}", f"{in_view:.2f}",
            ])  # fmt: skip
            report.cells.append({
                "section": "asc", "data": case.name, "budget": budget, "found": ours.found,
                "true": ours.true, "reachable": ours.reachable, "precision": ours.precision,
                "precision_exact_counts": could, "precision_in_window": in_view,
            })  # fmt: skip
            if budget == TIGHTEST and case.stores.skewed:
                recall.append(ours.recall)
                seen.append(in_view)
                everywhere.append(ours.precision)
                precision += [ours.precision] if could >= REACHED else []
    report.table(
        "join, ASC: rows of rare items (the rarest 5 % of the exact output)",
        ["data", "budget %", "found", "rare", "exact counts", "recall", "precision",
         "exact counts", "rare in window"],
        rows,
    )  # fmt: skip
    report.bars["outlier_recall"] = Bar(min(recall, default=None), 0.9)
    report.bars["outlier_precision"] = Bar(min(precision, default=None), 0.8)
    report.bars["outlier_precision_in_window"] = Bar(min(seen, default=None), 0.8)
    report.figures["outlier_precision_everywhere"] = (
        min(everywhere, default=None),
        "the least; exact counts do not reach 0.8 there",
    )
    return wrong


def _rarest(line: Line) -> int:
    """The largest count in the other window that is rare when a row comes."""
    rare = rare_rows(line, line.matches)
    return max(1, int(line.matches[rare].max()))


def _pair(case: Case, order: str, budget: int) -> Pair:
    ours = promising(case, preferring(order), Allowance(budget))
    return Pair(budget, ours, symmetric(case, Allowance(budget)))


def _cell(section: str, pair: Pair, **more: float) -> dict[str, object]:
    return {
        "section": section,
        "data": pair.ours.case.name,
        "budget": pair.budget,
        "share": [pair.ours.share, pair.simple.share],
        "probes": [pair.ours.probes, pair.simple.probes],
        "cpu_ms": [1e3 * pair.ours.cpu, 1e3 * pair.simple.cpu],
        **more,
    }


def _key(case: Case) -> str:
    return case.name.replace(" ", "_").replace(".", "_")
