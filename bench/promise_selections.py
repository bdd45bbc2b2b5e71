"""A hundred selections over one store: tests where they promise most, beside rows as they come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.deferral_report import Sections, percent
from bench.promise_data import Stores
from bench.promise_fed import Fed
from bench.report import Bar
from streamgauge.operators.expression import Expr, column, literal
from streamgauge.operators.predicate_index import PredicateIndex
from streamgauge.promise.buckets import Layout
from streamgauge.promise.costs import Allowance
from streamgauge.promise.promise import Promise
from streamgauge.promise.selection import PromisingSelection

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Tests a tick and selection, in a hundred rows that come.
BUDGETS = (4, 10, 20, 40)
TIGHT = BUDGETS[0]


@dataclass(frozen=True, slots=True)
class Selected:
    """Share of the exact output of each selection, processor time, tests, rows given wrongly."""

    shares: Floats
    cpu: float
    tests: int
    wrong: int

    @property
    def share(self) -> float:
        """Mean over the selections, as in the paper."""
        return float(self.shares.mean()) if len(self.shares) else 0.0


def promising(fed: Fed, tests: int) -> Selected:
    """Each selection by promise, with so many tests a tick."""
    runs = [_selection(fed, query) for query in range(len(fed.spans))]
    allowance = Allowance(tests)
    serial = np.arange(len(fed.item))
    found: list[list[Ints]] = [[] for _ in runs]
    tests_of = [fed.test(query) for query in range(len(fed.spans))]
    probes = 0
    begun = time.thread_time()
    for tick in range(fed.ticks):
        a, b = fed.starts[tick], fed.starts[tick + 1]
        now = int(fed.enter[a]) * fed.tick
        # All selections over a column share how its values are cut.
        memo: dict[bytes, Layout] = {}
        for query, run in enumerate(runs):
            run.take(now, serial[a:b], fed.item[a:b], memo)
            given = run.step(now, allowance, tests_of[query])
            found[query].append(given.serials)
            probes += given.probes
    return _selected(fed, found, time.thread_time() - begun, probes)


def simple(fed: Fed, tests: int | None) -> Selected:
    """Each selection is fed the rows of a tick in turn; those beyond its budget are dropped."""
    looks = [fed.looks(query) for query in range(len(fed.spans))]
    found: list[list[Ints]] = [[] for _ in fed.spans]
    probes = 0
    begun = time.thread_time()
    for tick in range(fed.ticks):
        a, b = fed.starts[tick], fed.starts[tick + 1]
        stop = b if tests is None else min(b, a + tests)
        rows = fed.rows(int(a), int(stop))
        for query, look in enumerate(looks):
            found[query].append(np.flatnonzero(look(rows)) + a)
        probes += int(stop - a) * len(fed.spans)
    return _selected(fed, found, time.thread_time() - begun, probes)


def shared(fed: Fed) -> Selected:
    """One index over all selections: every row is looked up, nothing is dropped."""
    asked = [
        (Expr(">=", (column("item"), literal(low))), Expr("<=", (column("item"), literal(high))))
        for low, high in fed.spans.tolist()
    ]
    index = PredicateIndex.of(asked)
    rows = pa.table({"item": fed.item})
    index.match(rows.slice(0, 100), {})
    pairs = []
    begun = time.thread_time()
    for tick in range(fed.ticks):
        a, b = int(fed.starts[tick]), int(fed.starts[tick + 1])
        number, query = index.match(rows.slice(a, b - a), {})
        pairs.append((number + a, query))
    cpu = time.thread_time() - begun
    numbers = np.concatenate([number for number, _ in pairs])
    queries = np.concatenate([query for _, query in pairs])
    found = [[numbers[queries == query]] for query in range(len(fed.spans))]
    return _selected(fed, found, cpu, len(fed.item))


def _selected(fed: Fed, found: Sequence[Sequence[Ints]], cpu: float, tests: int) -> Selected:
    shares, wrong = [], 0
    for query, parts in enumerate(found):
        rows = np.concatenate([*parts, np.empty(0, np.int64)]).astype(np.int64)
        passing = fed.passing(query)
        wrong += int((~passing[rows]).sum()) + len(rows) - len(np.unique(rows))
        shares.append(len(rows) / max(1, int(passing.sum())))
    return Selected(np.array(shares), cpu, tests, wrong)


def _selection(fed: Fed, query: int) -> PromisingSelection:
    count = Expr("estimate", (column("item"),), "count")
    promise = Promise("desc", (count,), summaries=(("store", "items"),))
    return PromisingSelection(
        promise,
        fed.summary(),
        spans=fed.spans[query : query + 1] if fed.text is None else None,
        whole=fed.text is None,
        tick=fed.tick,
    )


def selections(report: Sections, stores: Sequence[Stores], queries: int, ticks: int) -> int:
    """Output of a hundred selections at equal numbers of tests."""
    rows, tight, wrong = [], [], 0
    for one in stores:
        fed = Fed.of(one, queries, ticks)
        if not len(fed.spans):
            report.skipped.append(f"{one.name}: no range of items holds 5 to 10 % of its rows")
            continue
        each = len(fed.item) / fed.ticks
        for budget in BUDGETS:
            tests = max(1, round(budget * each / 100))
            ours, plain = promising(fed, tests), simple(fed, tests)
            wrong += ours.wrong + plain.wrong
            ratio = ours.share / max(1e-9, plain.share)
            tight += [ratio] if budget == TIGHT else []
            rows.append([
                one.name, str(budget), percent(ours.share), percent(plain.share), f"{ratio:.2f}",
                f"{ours.tests:,}", f"{plain.tests:,}",
                f"{1e3 * ours.cpu:.0f}", f"{1e3 * plain.cpu:.0f}",
            ])  # fmt: skip
            report.cells.append({
                "section": "selection", "data": one.name, "budget": budget,
                "share": [ours.share, plain.share], "tests": [ours.tests, plain.tests],
                "cpu_ms": [1e3 * ours.cpu, 1e3 * plain.cpu],
            })  # fmt: skip
    report.table(
        f"{queries} selections of 5 to 10 %: output in % of the exact one, at equal tests",
        ["data", "budget %", "ours", "simple", "ratio", "our tests", "its tests", "ms", "its ms"],
        rows,
    )
    report.bars["selection_output_ratio"] = Bar(min(tight, default=None), 1.33)
    return wrong
