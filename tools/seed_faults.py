"""Measure how strong the tests are: plant one fault at a time and see which command catches it.

`tests/faults.toml` lists the faults. Each is one small change that a tired engineer could have
made, and names the test that catches it. A fault is planted in a copy of this tree and its test is
run there. If that passes, other tests are tried, the likeliest and quickest first:

    tools/seed_faults                     # plants all faults
    tools/seed_faults --known             # tries no other tests than those that the list names
    tools/seed_faults --only NAME ...     # plants some
    tools/seed_faults --nightly           # lets nightly tests have a try at survivors, too
    tools/seed_faults --write             # writes the tests that caught faults into the list
    tools/seed_faults --record            # records which tests reach which line: a run of all

With a record, tests are likely that reach the changed lines, or the modules that import a compiled
kernel; without, those that belong to the changed module by name or import it. A test has caught a
fault only if it passes without: in the end all that did run together in a tree without faults.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import Queue

from tools.candidates import Reach, grouped, likely
from tools.fault_list import LIST, ROOT, Fault, load_faults, with_catchers
from tools.forking import LONGEST, MARKS, Forks

RECORD = ROOT / ".reach"
COPIED = (
    "src", "tests", "tools", "docs", "examples", "bench",
    "conftest.py", "pyproject.toml", "Makefile",
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGES.md", "LICENSE",
    "requirements-dev.lock", ".ci",
)  # fmt: skip
COMMANDS = ("quick", "test", "nightly")
# One test alone may take this many times what it took when it was recorded.
PATIENCE = 20.0
# Which of the likely tests run when: what `make quick` runs, what `make test` adds, the rest.
ADDED = " or ".join(mark for mark in MARKS if mark != "nightly")
SELECTED = (("--quick",), ("-m", f"({ADDED}) and not nightly"), ("-m", "nightly"))


@dataclass
class Tried:
    """What came of one fault."""

    name: str
    area: str
    file: str
    reason: str
    caught_by: str = ""
    command: str = ""
    tests: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Run:
    """Arguments of one run of pytest, and how long it may take."""

    arguments: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Plan:
    """Which tests are tried: those named alone, or others too, from a record or by names."""

    known: bool
    nightly: bool
    most: float
    reach: Reach

    def runs(self, fault: Fault) -> Iterator[Run]:
        """Runs that try a fault, in their order."""
        if fault.caught_by:
            yield Run(("-m", "not nightly", fault.caught_by), 2.0 * LONGEST)
        if not self.known:
            yield from self._recorded(fault) if self.reach.seconds else self._likely(fault)

    def _recorded(self, fault: Fault) -> Iterator[Run]:
        """Runs of tests that reach the fault, until they would take too long together."""
        commands = COMMANDS if self.nightly else COMMANDS[:2]
        seconds, left = self.reach.seconds, self.most
        tests = [t for t in self.reach.of(fault, ROOT) if self.reach.commands[t] in commands]
        for number, group in enumerate(grouped(tests, lambda test: seconds[test])):
            expected = sum(seconds[test] for test in group)
            if number and expected > left:
                return
            left -= expected
            yield Run(tuple(group), 120.0 + PATIENCE * expected)

    def _likely(self, fault: Fault) -> Iterator[Run]:
        groups = list(likely(fault, ROOT))
        for selected in SELECTED if self.nightly else SELECTED[:2]:
            for group in groups:
                yield Run((*selected, *group), self.most)


class Tree:
    """A copy of this tree in which one fault at a time is planted."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._planted = 0
        if place.exists():
            shutil.rmtree(place)
        place.mkdir(parents=True)
        for name in COPIED:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / name, place / name, ignore=ignored)
            elif (ROOT / name).exists():
                shutil.copy2(ROOT / name, place / name)
        shared = ROOT.parent / "shared"
        if shared.exists() and not (place.parent / "shared").exists():
            (place.parent / "shared").symlink_to(shared)
        self._forks = Forks(place)

    def tried(self, fault: Fault, plan: Plan) -> Tried:
        """Plant a fault, run the tests that try it until one fails, take the fault out."""
        result = Tried(fault.name, fault.area, fault.file, fault.reason)
        began = time.monotonic()
        with self._with(fault):
            for run in plan.runs(fault):
                outcome = self._forks.run(("-x", *run.arguments), run.seconds)
                result.tests += outcome.ran
                if outcome.failed:
                    result.caught_by, result.command = next(iter(outcome.failed.items()))
                    break
                if outcome.error:
                    print(f"{fault.name}: {outcome.error}", file=sys.stderr)
        result.seconds = round(time.monotonic() - began, 1)
        return result

    def failing(self, tests: Sequence[str]) -> set[str]:
        """Tests that fail without any fault."""
        outcome = self._forks.run(tests, 60.0 * LONGEST)
        if outcome.error:
            raise SystemExit(f"the tests that caught faults did not end: {outcome.error}")
        return set(outcome.failed)

    def close(self) -> None:
        """End the process in which tests run."""
        self._forks.close()

    @contextmanager
    def _with(self, fault: Fault) -> Iterator[None]:
        path = self.place / fault.file
        text, stamp = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(fault.planted(text), encoding="utf-8")
        # Python tells a file by its size and its second: no two texts may have the same.
        self._planted += 1
        second = int(stamp.st_mtime) + self._planted
        os.utime(path, (second, second))
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def run(faults: Sequence[Fault], options: argparse.Namespace) -> list[Tried]:
    """Try all faults, some beside each other, and tell each result as it comes."""
    reach = Reach.load(Path(options.reach)) if Path(options.reach).exists() else Reach()
    plan = Plan(options.known, options.nightly, options.most, reach)
    copies = [Path(options.copies) / f"faults-{job}" / "main" for job in range(options.jobs)]
    trees: Queue[Tree] = Queue()
    for tree in map(Tree, copies):
        trees.put(tree)
    done = []

    def one(fault: Fault) -> Tried:
        tree = trees.get()
        try:
            return tree.tried(fault, plan)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(options.jobs) as pool:
        for number, result in enumerate(pool.map(one, faults), 1):
            caught = f"{result.command}: {result.caught_by}" if result.command else "SURVIVES"
            print(
                f"{number:3d}/{len(faults)} {result.name} ({result.seconds:.0f} s, "
                f"{result.tests} tests) {caught}",
                flush=True,
            )
            done.append(result)
    proven = list(without_false(done, trees.queue[0]))
    while not trees.empty():
        trees.get().close()
    return proven


def without_false(results: Sequence[Tried], tree: Tree) -> Iterator[Tried]:
    """Take back what was caught by tests that fail without the fault as well."""
    tests = sorted({result.caught_by for result in results if result.command})
    false = tree.failing(tests) if tests else set()
    for test in sorted(false):
        print(f"{test} fails without a fault and catches none")
    for result in results:
        yield result if result.caught_by not in false else replace(result, caught_by="", command="")


def record(folder: Path) -> int:
    """Run the tests of `make test` and write down which lines each reaches."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {**os.environ, "STREAMGAUGE_REACH": str(folder)}
    command = [sys.executable, "-m", "pytest", "-p", "tools.reach", "-q", "-n", "2"]
    command += ["-m", "not nightly"]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(prog="tools/seed_faults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--record", action="store_true", help="record which tests reach what")
    parser.add_argument("--known", action="store_true", help="try the tests of the list alone")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="faults to plant")
    parser.add_argument("--area", nargs="+", default=[], help="areas to plant faults in")
    parser.add_argument("--nightly", action="store_true", help="run nightly tests, too")
    parser.add_argument("--write", action="store_true", help="write who caught into the list")
    parser.add_argument("--jobs", type=int, default=1, help="copies to work in; default: 1")
    parser.add_argument("--most", type=float, default=300.0, help="seconds of a group of tests")
    parser.add_argument("--list", default=str(LIST), help="default: tests/faults.toml")
    parser.add_argument("--reach", default=str(RECORD), help="what --record wrote; default: .reach")
    parser.add_argument("--copies", default=str(ROOT / ".faults"), help="where copies go")
    parser.add_argument("--json", metavar="FILE", help="write all results to a file")
    return parser.parse_args(arguments)


def write(path: Path, results: Sequence[Tried]) -> None:
    """Write into the list which tests caught faults; parameters of tests are left out."""
    found = {r.name: r.caught_by.partition("[")[0] for r in results if "::" in r.caught_by}
    path.write_text(with_catchers(path.read_text(encoding="utf-8"), found), encoding="utf-8")


def main() -> int:
    """Plant the faults and print what survives; exit 1 if any does."""
    options = options_of()
    if options.record:
        return record(Path(options.reach))
    faults = load_faults(Path(options.list))
    if options.only or options.area:
        faults = [f for f in faults if f.name in options.only or f.area in options.area]
    results = run(faults, options)
    if options.json:
        text = json.dumps([asdict(result) for result in results], indent=1)
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    if options.write:
        write(Path(options.list), results)
    survivors = [result for result in results if not result.command]
    for command in COMMANDS:
        print(f"{command}: catches {sum(result.command == command for result in results)}")
    print(f"survivors: {len(survivors)} of {len(results)}")
    for result in survivors:
        print(f"  {result.name} ({result.file}): {result.reason}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
