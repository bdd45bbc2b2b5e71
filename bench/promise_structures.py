"""What summaries cost and what they bring: the paper's figures 9 and 10.

Four structures: T1 keeps no summaries, T2 cuts time only (one bucket), T3 cuts time and values into
fixed zones, T4 lets zones follow the stream. `t_ins` is what one row costs to summarise and judge,
`t_hit` what one output row costs to find; `(tau - t_ins) / t_hit` are the rows that an arrival gap
of `tau` pays for, as far as the exact output has as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.deferral_report import Sections, percent
from bench.promise_data import Stores, zipf
from bench.promise_measures import WINDOW_TICKS, Clock
from bench.promise_runs import Case, Trial, preferring, promising, symmetric
from streamgauge.promise.costs import Allowance, Prices
from streamgauge.promise.figures import RAW

BUDGET = 10
# Microseconds of processor time for each row that comes.
GAPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
# Lengths of windows in ticks of five seconds: 10 s to 2 min.
WINDOWS = (2, 6, 10, 14, 18, 24)
# Where windows grow, a row has so much of the time that looking it up as it comes takes.
PART = 0.3
# Rows that come in a tick when the stream is fast: what a tick costs whatever it has is then small.
FAST = 20


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of a structure: of a row, and of an output row."""

    name: str
    insert: float
    hit: float
    trial: Trial

    def outputs(self, gap: float) -> float:
        """Output rows for each row that comes, by the paper's equation; no more than there are."""
        case = self.trial.case
        most = case.exact / max(1, case.stores.rows)
        return min(most, max(0.0, gap - self.insert) / self.hit) if self.hit > 0 else 0.0


def structures(report: Sections, stores: Sequence[Stores], fast_rows: int) -> int:
    """Costs and output of the four structures, then where rows as they come are the better way."""
    slow = [Case.of(one) for one in stores]
    crowd = zipf(fast_rows, items=20_000, power=0.8)
    tick = FAST * Clock.of(crowd).tick
    fast = Case.of(replace(crowd, name="zipf 0.8, fast"), Clock(tick, WINDOW_TICKS * tick))
    wrong = 0
    for case in (*slow, fast):
        costs = measured(case)
        wrong += sum(cost.trial.wrong for cost in costs)
        _table(report, case, costs)
    return wrong + sum(_rates(report, case) + _windows(report, case) for case in (slow[0], fast))


def measured(case: Case) -> list[Cost]:
    """The four structures under one budget."""
    kept = case.summary()
    forms = {
        "T2": replace(kept, buckets=1, confidence=0.0),
        "T3": replace(kept, confidence=0.0),
        "T4": kept,
    }
    probes = Allowance(max(1, round(BUDGET * case.arrivals_a_tick / 100)))
    # Without probes rows are only put where others will find them.
    idle, plain = symmetric(case, Allowance(0)), symmetric(case, probes)
    insert, work = idle.cpu / case.stores.rows, max(0.0, plain.cpu - idle.cpu)
    found = [Cost("T1", 1e6 * insert, 1e6 * work / max(1, plain.output), plain)]
    for name, summary in forms.items():
        trial = promising(case, preferring("desc"), probes, summary)
        spent = trial.spent
        insert = spent.insert_ns / 1e3 / max(1, spent.inserted)
        hit = spent.hit_ns / 1e3 / max(1, trial.output)
        found.append(Cost(name, insert, hit, trial))
    return found


def _table(report: Sections, case: Case, costs: Sequence[Cost]) -> None:
    rows = [
        [
            cost.name, f"{cost.insert:.2f}", f"{cost.hit:.3f}", percent(cost.trial.share),
            *(f"{cost.outputs(gap):.2g}" for gap in GAPS),
        ]
        for cost in costs
    ]  # fmt: skip
    report.table(
        f"{case.name}: structures at {BUDGET} % probes, and rows that an arrival gap pays for",
        ["", "t_ins us", "t_hit us", "output %", *(f"{gap:g} us" for gap in GAPS)],
        rows,
    )
    for cost in costs:
        report.cells.append({
            "section": "structure", "data": case.name, "structure": cost.name,
            "t_ins_us": cost.insert, "t_hit_us": cost.hit, "share": cost.trial.share,
        })  # fmt: skip


def _rates(report: Sections, case: Case) -> int:
    """The arrival gap grows from one at which rows as they come are better."""
    prices, rows, wrong = prices_of(case), [], 0
    for gap in GAPS:
        shown, bad = _chosen(case, gap, prices)
        wrong += bad
        rows.append([f"{gap:g}", *shown])
        report.cells.append({
            "section": "rates", "data": case.name, "gap_us": gap, "shown": shown,
        })  # fmt: skip
    report.table(
        f"{case.name}: processor time for each row that comes: output in % of the exact one",
        ["us a row", *SHOWN],
        rows,
    )
    return wrong


def _windows(report: Sections, slower: Case) -> int:
    """The window grows from one in which there is little to tell apart."""
    tick = slower.clock.tick
    rows, wrong = [], 0
    for ticks in WINDOWS:
        case = Case.of(slower.stores, Clock(tick, ticks * tick))
        prices = prices_of(case)
        gap = PART * prices.raw / 1e3
        shown, bad = _chosen(case, gap, prices)
        wrong += bad
        rows.append([f"{ticks * tick / 1e6:g}", *shown])
        report.cells.append({
            "section": "windows", "data": case.name, "window_s": ticks * tick / 1e6,
            "shown": shown,
        })  # fmt: skip
    report.table(
        f"{slower.name}: windows, {PART:g} of the time that all look-ups take: output in %",
        ["window s", *SHOWN],
        rows,
    )
    return wrong


SHOWN = ("summaries", "as they come", "chosen", "raw ticks %")


def prices_of(case: Case) -> Prices:
    """Nanoseconds that were measured, as a job writes them into its journal."""
    probes = Allowance(max(1, round(BUDGET * case.arrivals_a_tick / 100)))
    guided = promising(case, preferring("desc"), probes).spent
    plain = promising(case, preferring("desc"), Allowance()).spent
    return Prices(
        guided.insert_ns / max(1, guided.inserted),
        max(1.0, guided.hit_ns / max(1, guided.hits)),
        max(1.0, plain.raw_ns / max(1, plain.raws)),
    )


def _chosen(case: Case, gap: float, prices: Prices) -> tuple[list[str], int]:
    """Output with summaries, of rows as they come, and of what is chosen, for the same time."""
    arrivals = case.arrivals_a_tick
    time_ns = 1e3 * gap * arrivals
    probes = int(time_ns / prices.hit)
    insert, raw = prices.insert / prices.hit, prices.raw / prices.hit
    left = int(max(0.0, probes - insert * arrivals))
    plain = symmetric(case, Allowance(int(time_ns / prices.raw)))
    auto = promising(case, preferring("desc"), Allowance(probes, insert, raw))
    trials = [plain, auto]
    guided = 0.0
    if left:
        trials.append(promising(case, preferring("desc"), Allowance(left)))
        guided = trials[-1].share
    share = float((auto.tally.mode == RAW).mean()) if len(auto.tally.mode) else 0.0
    shown = [percent(guided), percent(plain.share), percent(auto.share), percent(share)]
    return shown, sum(trial.wrong for trial in trials)
