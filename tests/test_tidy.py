"""House rules as tests: banned calls, caps on length, docstrings, names, imports.

Each list of exceptions may only shrink: an entry that is no longer needed fails too.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "streamgauge"
FILE_CAP = 500
FUNCTION_CAP = 60

# "folder/file.py:Class.function" -> its length when it was let in.
LONG_FUNCTIONS: dict[str, int] = {}

# "folder/file.py" -> how many broad excepts it has; each must record the error or raise it again.
# A function that a user wrote may raise anything; it is raised again with the function's name.
BROAD_EXCEPTS: dict[str, int] = {
    "operators/function_worker.py": 1,
    "operators/own_functions.py": 1,
}

# Places where an import inside a function is right: peers that may not be installed.
LOCAL_IMPORTS: tuple[str, ...] = ("bench/peers/",)

FORBIDDEN_FILES = {"util", "utils", "helper", "helpers", "common", "misc", "core"}
FORBIDDEN_CLASSES = re.compile(r"Manager|Helper|Util|Handler|^Base|^Abstract|Impl$")
# Words of the field, and names that a library calls.
GIVEN_NAMES = {
    "PrecisionManager", "PrintedManager", "get_command", "get_completions",
    "get_cache_path", "get_source_stamp", "get_disambiguator",
}  # fmt: skip


@dataclass(frozen=True)
class Ban:
    """A name that is not used, what is used instead, and where it is allowed."""

    name: str
    instead: str
    allowed: tuple[str, ...] = ()

    def covers(self, dotted: str) -> bool:
        return dotted == self.name or dotted.startswith(self.name + ".")


CLOCKS = ("engine/", "cli", "log/", "coordinator/coordinator.py", "edge/clock.py")
BANS = (
    Ban("hash", "kernel/hashing.py: the builtin differs from process to process"),
    Ban("random", "a hash of data identity and a stored seed, or numpy.random.Generator with one"),
    Ban("numpy.random.seed", "numpy.random.Generator with a seed of its own"),
    Ban("time.time", "event time; a clock handed in by the caller", CLOCKS),
    Ban("time.time_ns", "event time; a clock handed in by the caller", CLOCKS),
    Ban("time.thread_time_ns", "a Spent, whose clock is handed in", ("work/promise/budget.py",)),
    Ban("time.sleep", "threading.Event.wait, which a stop can interrupt"),
    Ban("datetime.datetime.now", "event time; a clock handed in by the caller"),
    Ban("datetime.datetime.utcnow", "event time; a clock handed in by the caller"),
    Ban("datetime.datetime.today", "event time; a clock handed in by the caller"),
    Ban("datetime.date.today", "event time; a clock handed in by the caller"),
    Ban("pickle", "kernel/wire.py: versioned bytes that later releases can read"),
    Ban("cloudpickle", "kernel/wire.py: versioned bytes that later releases can read"),
    Ban("marshal", "kernel/wire.py: versioned bytes that later releases can read"),
    Ban("shelve", "kernel/wire.py: versioned bytes that later releases can read"),
    Ban("print", "a return value; only the command line writes to the terminal", ("cli",)),
)
TEST_BANS = (
    Ban("time.sleep", "streamgauge.checks.waiting.wait_until, or a clock moved by hand"),
    Ban("random", "hypothesis, or numpy.random.Generator with a fixed seed"),
    Ban("numpy.random.seed", "numpy.random.Generator with a fixed seed"),
)


@dataclass(frozen=True)
class Module:
    """One parsed file; `name` is its path below the package."""

    name: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        # Kept, because walking costs more than all that is asked of the nodes.
        return tuple(ast.walk(self.tree))


@cache
def modules(root: Path = SRC) -> tuple[Module, ...]:
    paths = sorted(root.rglob("*.py"))
    texts = [(path, path.read_text(encoding="utf-8")) for path in paths]
    # Trees are many small objects that all stay: collecting between them finds nothing to free
    # and takes three times as long as parsing.
    gc.disable()
    try:
        return tuple(
            Module(path.relative_to(root).as_posix(), text, ast.parse(text, str(path)))
            for path, text in texts
        )
    finally:
        gc.enable()


def aliases(module: Module) -> dict[str, str]:
    """Local name -> dotted name of what was imported."""
    found = {}
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                local = name.asname or name.name.partition(".")[0]
                found[local] = name.name if name.asname else local
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for name in node.names:
                found[name.asname or name.name] = f"{node.module}.{name.name}"
    return found


def bound(module: Module) -> set[str]:
    """Names that the file gives a meaning of its own, as a function, an argument or a variable."""
    found = set()
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    """Full name of `a.b.c`, with the first part resolved through the imports."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([names.get(node.id, node.id), *reversed(parts)])


def uses(module: Module) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported, read or called in a file."""
    names = aliases(module)
    own = bound(module) - names.keys()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Attribute | ast.Name):
            full = dotted(node, names)
            if full is not None and full.partition(".")[0] not in own:
                yield node.lineno, full


def breaches(module: Module, bans: tuple[Ban, ...]) -> Iterator[str]:
    found = {
        (line, ban)
        for line, full in uses(module)
        for ban in bans
        if ban.covers(full) and not module.name.startswith(ban.allowed)
    }
    for line, ban in sorted(found, key=lambda pair: (pair[0], pair[1].name)):
        yield f"{module.name}:{line}: {ban.name} is banned; use {ban.instead}"


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function of a tree with its qualified name, nested ones too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
        inner = f"{prefix}{child.name}." if isinstance(child, Function | ast.ClassDef) else prefix
        yield from functions(child, inner)


def length(function: Function) -> int:
    """Lines of a function without its docstring and decorators."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        assert first.end_lineno is not None
        lines -= first.end_lineno - first.lineno + 1
    return lines


def broad(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches everything: bare, or Exception, alone or among others."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))
        for kind in kinds
    )


def report(lines: Iterator[str] | list[str]) -> None:
    found = list(lines)
    assert not found, "\n" + "\n".join(found)


def test_banned_names_are_not_used() -> None:
    report(line for module in modules() for line in breaches(module, BANS))


def test_tests_do_not_sleep_or_roll_dice() -> None:
    report(line for module in modules(ROOT / "tests") for line in breaches(module, TEST_BANS))


def test_broad_excepts_are_named() -> None:
    counts = {}
    for module in modules():
        handlers = [node for node in module.nodes if isinstance(node, ast.ExceptHandler)]
        if count := sum(map(broad, handlers)):
            counts[module.name] = count
    assert counts == BROAD_EXCEPTS, "catch the errors you expect; see BROAD_EXCEPTS"


def test_files_are_short() -> None:
    sizes = {module.name: module.text.count("\n") for module in modules()}
    report(f"{name}: {n} lines, cap {FILE_CAP}" for name, n in sizes.items() if n > FILE_CAP)


def test_functions_are_short() -> None:
    lengths = {
        f"{module.name}:{name}": length(function)
        for module in modules()
        for name, function in functions(module.tree)
    }
    report(
        f"{name}: {n} lines, cap {LONG_FUNCTIONS.get(name, FUNCTION_CAP)}"
        for name, n in lengths.items()
        if n > LONG_FUNCTIONS.get(name, FUNCTION_CAP)
    )
    report(
        f"{name}: no longer needs its place in LONG_FUNCTIONS"
        for name in LONG_FUNCTIONS
        if lengths.get(name, 0) <= FUNCTION_CAP
    )


def imported(module: Module) -> set[str]:
    """Dotted names of all that a file imports, with and without the last part."""
    found = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module or "")
            found.update(f"{node.module}.{name.name}" for name in node.names)
    return found


def unused(found: tuple[Module, ...], public: str) -> Iterator[str]:
    """Modules that no other imports or loads by name, and that no page or verb names."""
    importing = [(module.name, module.text, imported(module)) for module in found]
    for module in found:
        name = ".".join(Path("streamgauge", module.name).with_suffix("").parts)
        last = Path(module.name).stem
        loaded = re.compile(rf'"{last}"|"{last}\.py"|\.{last}["\':]')
        if last.startswith("__") or re.search(rf"{re.escape(name)}\b", public):
            continue
        if not any(
            name in imports or loaded.search(text)
            for other, text, imports in importing
            if other != module.name
        ):
            yield f"{module.name}: tests and benches alone use it; its place is with them"


def test_modules_have_users() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
    pages += [ROOT / name for name in ("README.md", "Makefile", "pyproject.toml")]
    report(unused(modules(), "".join(page.read_text(encoding="utf-8") for page in pages)))


def test_a_module_without_users_is_found() -> None:
    texts = {
        "a.py": "from streamgauge import b",
        "b.py": "import importlib\nimportlib.import_module(f'streamgauge.c')",
        "c.py": "",
        "d.py": "",
        "e.py": "from streamgauge import e",
    }
    found = tuple(Module(name, text, ast.parse(text)) for name, text in texts.items())
    assert [line.partition(":")[0] for line in unused(found, "`streamgauge.a`")] == ["d.py", "e.py"]


def test_modules_have_docstrings() -> None:
    report(module.name for module in modules() if not ast.get_docstring(module.tree))


def test_public_classes_have_docstrings() -> None:
    report(
        f"{module.name}:{node.lineno}: {node.name} has no docstring"
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    )


def test_imports_stand_at_the_top() -> None:
    report(
        f"{module.name}:{node.lineno}: import inside {name}"
        for module in modules()
        if not module.name.startswith(LOCAL_IMPORTS)
        for name, function in functions(module.tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def test_files_are_named_for_an_idea() -> None:
    report(
        f"{module.name}: name it for what it holds"
        for module in modules()
        if FORBIDDEN_FILES & set(Path(module.name).with_suffix("").parts)
    )


def test_classes_and_functions_have_plain_names() -> None:
    for module in modules():
        for node in module.nodes:
            if getattr(node, "name", None) in GIVEN_NAMES:
                continue
            if isinstance(node, ast.ClassDef):
                assert not FORBIDDEN_CLASSES.search(node.name), f"{module.name}: {node.name}"
            if isinstance(node, Function):
                assert not node.name.startswith("get_"), f"{module.name}: {node.name}"


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("hash('a')", "hash"),
        ("import random", "random"),
        ("from random import random as dice", "random"),
        ("import numpy as np\nnp.random.seed(1)", "numpy.random.seed"),
        ("import time\ntime.time()", "time.time"),
        ("from time import time as now\nnow()", "time.time"),
        ("from datetime import datetime\ndatetime.now()", "datetime.datetime.now"),
        ("import datetime as dt\ndt.datetime.now()", "datetime.datetime.now"),
        ("import pickle", "pickle"),
        ("print('a')", "print"),
        ("import time\ntime.monotonic()", None),
        ("import numpy as np\nnp.random.Generator", None),
        ("class A:\n    def hash(self): ...\n\nA().hash()", None),
        ("'print(1)'", None),
    ],
)
def test_the_bans_catch(text: str, caught: str | None) -> None:
    found = list(breaches(Module("windows/example.py", text, ast.parse(text)), BANS))
    assert bool(found) == (caught is not None)
    assert all(f" {caught} is banned" in line for line in found)


def test_a_ban_is_lifted_where_it_is_allowed() -> None:
    text = "import time\ntime.time()"
    assert not list(breaches(Module("engine/loop.py", text, ast.parse(text)), BANS))


def test_the_length_of_a_function_leaves_out_its_docstring() -> None:
    tree = ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1\n')
    (_, function) = next(functions(tree))
    assert length(function) == 2
