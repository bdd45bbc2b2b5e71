"""A budget for each test: one that takes longer fails the run, unless it says why it may.

With `--budget SECONDS` (as `make quick` and `make test` do) a test may take 1 s in `make quick`
and 20 s in `make test`. `@pytest.mark.budget(SECONDS, "reason")` grants more. Shared fixtures and
the compiling of kernels are not counted, and a busy machine gets more in proportion to its load.
The slowest fifteen and the total are told at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from numba.core import event

from streamgauge.language.parse import parse

QUICK, OTHER = 1.0, 20.0
SLOWEST = 15
SPENT = "seconds and budget"


class Compiling(event.Listener):
    """Seconds spent on compiling kernels, the outermost only: kernels compile what they call."""

    def __init__(self) -> None:
        self.seconds, self._depth, self._began = 0.0, 0, 0.0

    def on_start(self, event: event.Event) -> None:
        if not self._depth:
            self._began = time.monotonic()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.monotonic() - self._began


COMPILING = Compiling()
event.register("numba:compile", COMPILING)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that turns budgets on."""
    parser.addoption("--budget", type=float, metavar="SECONDS", help="budget of the whole run")


def budget(item: pytest.Item) -> float:
    """Seconds that a test may take on an idle machine."""
    granted = item.get_closest_marker("budget")
    if granted is not None:
        seconds, reason = granted.args
        assert reason, f"{item.nodeid}: a budget needs a reason"
        return float(seconds)
    return QUICK if item.config.getoption("--quick") else OTHER


def stretch() -> float:
    """How much longer things take now than on an idle machine, our own workers included."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(1.0, max(os.getloadavg()[0], workers) / (os.cpu_count() or 1))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Load what the first test of `make quick` that needs it would otherwise be charged for."""
    if session.items and session.config.getoption("--quick"):
        parse("SELECT AVG(price) FROM trades [NOW]")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Time a test without its fixtures and what it compiles."""
    began, compiling, load = time.monotonic(), COMPILING.seconds, stretch()
    yield
    spent = time.monotonic() - began - (COMPILING.seconds - compiling)
    item.user_properties.append((SPENT, [spent, budget(item) * max(load, stretch())]))


class Ledger:
    """What all tests of a run took, kept by the process that reports."""

    def __init__(self, whole: float) -> None:
        self.whole = whole
        self.began = time.monotonic()
        self.spent: list[tuple[float, float, str]] = []

    @property
    def over(self) -> list[tuple[float, float, str]]:
        """Tests that took more than their budget."""
        return [entry for entry in self.spent if entry[0] > entry[1]]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take down what a test took."""
        properties: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and SPENT in properties:
            seconds, allowed = properties[SPENT]
            self.spent.append((seconds, allowed, report.nodeid))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run in which a test took too long."""
        if self.over and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell the slowest, those over their budget, and the total."""
        write = terminalreporter.write_line
        terminalreporter.section(f"slowest {SLOWEST}")
        for seconds, allowed, name in sorted(self.spent, reverse=True)[:SLOWEST]:
            write(f"{seconds:7.2f} s of {allowed:5.1f} s  {name}")
        for seconds, allowed, name in self.over:
            write(f"OVER BUDGET {name}: {seconds:.2f} s, allowed {allowed:.1f} s", red=True)
        whole = time.monotonic() - self.began
        write(f"total {whole:.0f} s of {self.whole:.0f} s, {len(self.spent)} tests")


def pytest_configure(config: pytest.Config) -> None:
    """Keep a ledger where reports are gathered."""
    whole = config.getoption("--budget")
    if whole and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Ledger(whole), "budget-ledger")
