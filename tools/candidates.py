"""Which tests may notice a fault, the likeliest and quickest first.

`Reach` is a record of the lines that each test reaches, made by a run of all tests. Without one,
`likely` goes by names: the test file of the module, tests that import it, tests of its folder.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.fault_list import Fault

PACKAGE = "src/streamgauge/"
# Tests are tried in groups that grow, so that a fault that is caught at all is caught soon.
FIRST_GROUP = 12.0


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


def likely(fault: Fault, root: Path) -> Iterator[list[str]]:
    """Files of tests in groups: what the fault names, its own doctests, what is near."""
    place = Path(fault.file.removeprefix(PACKAGE))
    tests = root / "tests"
    groups: list[Iterable[str]] = [fault.tests]
    if place.suffix == ".py":
        groups.append([fault.file])
        name = f"test_{place.stem}"
        mirror = [*tests.rglob(f"{name}.py"), *sorted(tests.rglob(f"{name}_*.py"))]
        groups.append(path.relative_to(root).as_posix() for path in mirror)
        groups.append(f for f in _importers(root, [fault.file], "tests") if "/test_" in f)
    if place.parts[1:] and (tests / place.parts[0]).is_dir():
        groups.append([f"tests/{place.parts[0]}"])
    seen = set[str]()
    for group in groups:
        fresh = [name for name in dict.fromkeys(group) if name not in seen]
        seen.update(fresh)
        if fresh:
            yield fresh


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
