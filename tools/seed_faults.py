"""Measure how strong the tests are: plant one fault at a time and see which command catches it.

`tests/faults.toml` lists the faults. Each is one small change that a tired engineer could have
made. A fault is planted in a copy of this tree, and the tests that reach it are run there, the
quickest first. Which tests reach which line is recorded once:

    tools/seed_faults --record            # runs the tests of `make test` with line coverage
    tools/seed_faults                     # plants all faults
    tools/seed_faults --only NAME ...     # plants some
    tools/seed_faults --nightly           # lets nightly tests have a try at survivors, too

Lines of compiled kernels are not seen by coverage. Such a fault is tried by the tests that reach
the modules which import it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "faults.toml"
RECORD = ROOT / ".reach"
COPIED = (
    "src", "tests", "tools", "docs", "examples", "bench",
    "conftest.py", "pyproject.toml", "Makefile",
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGES.md", "LICENSE",
    "requirements-dev.lock", ".ci",
)  # fmt: skip
COMMANDS = ("quick", "test", "nightly")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+(?:::\S.*?)?)(?: - |$)", re.MULTILINE)
# Tests are tried in groups that grow, so that a fault that is caught at all is caught soon.
FIRST_GROUP = 12.0
# One test alone may take this many times what it took when it was recorded.
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of one file, and what a user would see of it.

    `tests` names files or folders that try it where coverage cannot tell: scripts of pages, code
    that runs in processes of its own.
    """

    name: str
    area: str
    file: str
    reason: str
    find: str
    replace: str
    tests: tuple[str, ...] = ()

    def planted(self, text: str) -> str:
        """Return the text with the fault; its place must be found exactly once."""
        if text.count(self.find) != 1:
            raise SystemExit(
                f"fault {self.name!r} does not fit {self.file}: its text is found "
                f"{text.count(self.find)} times, expected once; update tests/faults.toml"
            )
        return text.replace(self.find, self.replace)

    def lines(self, text: str) -> range:
        """Lines of the file that the fault changes, from 1."""
        first = text[: text.index(self.find)].count("\n") + 1
        return range(first, first + self.find.strip("\n").count("\n") + 1)


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


@dataclass
class Reach:
    """Which tests reach which lines, how long each takes and which command runs it."""

    seconds: dict[str, float] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path) -> Reach:
        """Read what `--record` wrote."""
        # Imported here: only those who measure need coverage.
        from coverage import CoverageData

        reach = cls()
        for path in folder.glob("tests.*.jsonl"):
            for line in path.read_text(encoding="utf-8").splitlines():
                test, command, seconds = json.loads(line)
                reach.seconds[test], reach.commands[test] = seconds, command
        for path in folder.glob("lines.*"):
            data = CoverageData(str(path))
            data.read()
            for file in data.measured_files():
                found = reach.lines.setdefault(file.partition("/src/")[2], {})
                for number, tests in data.contexts_by_lineno(file).items():
                    found.setdefault(number, set()).update(test for test in tests if test)
        return reach

    def of(self, fault: Fault, root: Path) -> list[str]:
        """Tests that reach a fault: the nearest first, among them the quickest."""
        named = {
            test for test in self.seconds if any(test.startswith(name) for name in fault.tests)
        }
        if named or not fault.file.endswith(".py"):
            return sorted(named, key=self._seconds)
        text = (root / fault.file).read_text(encoding="utf-8")
        by_line = self.lines.get(fault.file.removeprefix("src/"), {})
        exact = {test for line in fault.lines(text) for test in by_line.get(line, ())}
        wider = self._nearby(fault, root, text) if not exact else set()
        mirror = "tests/" + fault.file.removeprefix("src/streamgauge/").rpartition("/")[0]
        known = {test for test in exact | wider if test in self.seconds}
        return sorted(
            known,
            key=lambda test: (bool(wider) and not test.startswith(mirror), self._seconds(test)),
        )

    def _nearby(self, fault: Fault, root: Path, text: str) -> set[str]:
        """Tests of the function that holds the fault, and of those who import its module."""
        own = self.lines.get(fault.file.removeprefix("src/"), {})
        inside = {test for line in _function(text, fault.lines(text)) for test in own.get(line, ())}
        direct = _importers(root, [fault.file], "tests")
        named = {test for test in self.seconds if test.partition("::")[0] in direct}
        found, seen, front = inside | named, {fault.file}, [fault.file]
        while front and len(found) < 20:
            front = [name for name in _importers(root, front) if name not in seen]
            seen.update(front)
            for name in front:
                body = _bodies((root / name).read_text(encoding="utf-8"))
                by_line = self.lines.get(name.removeprefix("src/"), {})
                found = found | {t for line in body for t in by_line.get(line, ())}
        return found

    def _seconds(self, test: str) -> float:
        return self.seconds.get(test, 0.0)


def _functions(text: str) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))


def _function(text: str, lines: range) -> Iterable[int]:
    """Lines of the smallest function that holds some lines; of all functions if none does."""
    holding = [
        range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        for node in _functions(text)
        if node.lineno <= lines.start <= (node.end_lineno or node.lineno)
    ]
    if not holding:
        return _bodies(text)
    return min(holding, key=len)


def _bodies(text: str) -> set[int]:
    """Lines inside functions: those that run when something is used, not when it is imported."""
    return {
        line
        for node in _functions(text)
        for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    }


def _importers(root: Path, names: Iterable[str], folder: str = "src") -> list[str]:
    """Files that import some modules."""
    dotted = [name.removeprefix("src/").removesuffix(".py").replace("/", ".") for name in names]
    patterns = []
    for module in dotted:
        package, _, last = module.rpartition(".")
        patterns += [rf"^(?:from|import) {re.escape(module)}\b"]
        patterns += [rf"^from {re.escape(package)} import [^\n]*\b{last}\b"]
    wanted = re.compile("|".join(patterns), re.MULTILINE)
    return [
        path.relative_to(root).as_posix()
        for path in sorted((root / folder).rglob("*.py"))
        if wanted.search(path.read_text(encoding="utf-8"))
    ]


def load_faults(path: Path = LIST) -> list[Fault]:
    """All faults of a list."""
    with path.open("rb") as opened:
        listed = tomllib.load(opened)["fault"]
    return [Fault(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in listed]


def grouped(tests: Sequence[str], seconds: Callable[[str], float]) -> Iterator[list[str]]:
    """Tests in groups, each allowed three times as long as the one before."""
    allowed, group, spent = FIRST_GROUP, list[str](), 0.0
    for test in tests:
        if group and spent + seconds(test) > allowed:
            yield group
            allowed, group, spent = 3.0 * allowed, [], 0.0
        group.append(test)
        spent += seconds(test)
    if group:
        yield group


class Tree:
    """A copy of this tree in which one fault at a time is planted."""

    def __init__(self, place: Path) -> None:
        self.place = place
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

    def tried(self, fault: Fault, reach: Reach, commands: Sequence[str], most: float) -> Tried:
        """Plant a fault, run the tests that reach it until one fails, take the fault out."""
        path = self.place / fault.file
        text, stamp = path.read_text(encoding="utf-8"), path.stat()
        result = Tried(fault.name, fault.area, fault.file, fault.reason)
        began, allowed = time.monotonic(), most
        path.write_text(fault.planted(text), encoding="utf-8")
        try:
            tests = [t for t in reach.of(fault, ROOT) if reach.commands[t] in commands]
            for group in grouped(tests, lambda test: reach.seconds.get(test, 0.0)):
                expected = sum(reach.seconds[test] for test in group)
                if result.tests and expected > allowed:
                    break
                allowed -= expected
                result.tests += len(group)
                result.caught_by = self._failing(group, expected)
                if result.caught_by:
                    result.command = reach.commands.get(result.caught_by, "test")
                    break
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        result.seconds = round(time.monotonic() - began, 1)
        return result

    def _failing(self, tests: Sequence[str], expected: float) -> str:
        """The first test that fails, or an empty text."""
        environment = {**os.environ, "PYTHONPATH": f"{self.place / 'src'}"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        listed = self.place.parent / "chosen.txt"
        listed.write_text("\n".join(tests), encoding="utf-8")
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
            "--no-header", f"@{listed}",
        ]  # fmt: skip
        try:
            ended = subprocess.run(
                command, cwd=self.place, env=environment, text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                timeout=120.0 + PATIENCE * expected,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{tests[0]} and {len(tests) - 1} more: no end in time"
        if ended.returncode in (0, 5):
            return ""
        if ended.returncode == 4:
            raise SystemExit(
                f"pytest did not find the tests; record again:\n{ended.stdout[-2000:]}"
            )
        failed = FAILED.search(ended.stdout)
        return failed[1] if failed else f"pytest ended with {ended.returncode}"


def run(faults: Sequence[Fault], options: argparse.Namespace) -> list[Tried]:
    """Try all faults, some beside each other, and tell each result as it comes."""
    reach = Reach.load(Path(options.reach))
    commands = COMMANDS if options.nightly else COMMANDS[:2]
    trees: Queue[Tree] = Queue()
    for job in range(options.jobs):
        trees.put(Tree(Path(options.copies) / f"faults-{job}" / "main"))
    done = []

    def one(fault: Fault) -> Tried:
        tree = trees.get()
        try:
            return tree.tried(fault, reach, commands, options.most)
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
    return done


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
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="faults to plant")
    parser.add_argument("--area", nargs="+", default=[], help="areas to plant faults in")
    parser.add_argument("--nightly", action="store_true", help="run nightly tests, too")
    parser.add_argument("--jobs", type=int, default=1, help="copies to work in; default: 1")
    parser.add_argument("--most", type=float, default=300.0, help="seconds of tests per fault")
    parser.add_argument("--list", default=str(LIST), help="default: tests/faults.toml")
    parser.add_argument("--reach", default=str(RECORD), help="what --record wrote; default: .reach")
    parser.add_argument("--copies", default=str(ROOT / ".faults"), help="where copies go")
    parser.add_argument("--json", metavar="FILE", help="write all results to a file")
    return parser.parse_args(arguments)


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
    survivors = [result for result in results if not result.command]
    for command in COMMANDS:
        print(f"{command}: catches {sum(result.command == command for result in results)}")
    print(f"survivors: {len(survivors)} of {len(results)}")
    for result in survivors:
        print(f"  {result.name} ({result.file}): {result.reason}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
