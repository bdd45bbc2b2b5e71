"""Pieces of the library that no standing query reaches are tried when their text changes.

The planner chooses among a few synopses (`REACHED`); the others are for users of the library. A
test that names only such others gets the mark `library`. It runs where the text of what it tries,
or of the test itself, is not the one in `library.lock`, and always with STREAMGAUGE_LIBRARY=all, as
in `make nightly`. `python -m tests.library --write` locks the texts that a green nightly has tried.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from streamgauge.kernel import jit
from streamgauge.synopses import NAMES, registry
from tests.goldens import regolding

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "streamgauge"
SYNOPSES = "streamgauge.synopses."
LOCK = ROOT / "tests" / "library.lock"
# Where tests of synopses are; doctests of the synopses themselves come in addition.
FOLDERS = (ROOT / "tests" / "synopses", ROOT / "tests" / "guarantees")
# Bytes of every kind against golden ones: under a second for all, so they are always compared.
CHEAP = ROOT / "tests" / "synopses" / "test_wire.py"

# Kinds that the planner can choose for a standing query; the last line only where memory is short.
REACHED = frozenset({
    "exact", "kll", "log_histogram", "gk", "mrl", "reservoir", "hll", "theta", "count_min",
    "space_saving", "fast_ams",
    "ams", "bjkst", "fm", "misra_gries", "lossy_counting", "frequent_items",
})  # fmt: skip
# Modules that the engine itself imports, beside those that all synopses share.
ENGINE = frozenset({
    "correlated.compared", "distinct.set_expression", "distinct.bits", "frequencies.listed",
    "frequencies.space_saving_bank", "frequencies.vocabulary",
})  # fmt: skip
# What a synopsis imports and does not depend on: words, dates, pictures, where kernels are kept.
ASIDE = frozenset(
    SRC / name
    for name in (
        "contracts/answer.py",
        "contracts/picture.py",
        "kernel/errors.py",
        "kernel/jit.py",
        "kernel/time.py",
    )
)
# What tests read and do not import.
BESIDE = {"tests/guarantees/test_quality.py": ("tests/golden/quality.csv",)}
EVERYWHERE = "requirements-dev.lock"
# Packages that tests try pieces with, and where they are.
SHARED = {
    "streamgauge.checks": SRC / "checks",
    "tests": ROOT / "tests",
    "bench.lab": ROOT / "bench" / "lab",
}
_TRIED_WITH = re.compile(rf"^from ({'|'.join(SHARED)})\.(\w+) import", re.MULTILINE)

Read = Callable[[Path], bytes]


@functools.cache
def digest(path: Path) -> bytes:
    """Hash of one file."""
    return hashlib.blake2b(path.read_bytes(), digest_size=8).digest()


def fingerprint(files: Iterable[Path], read: Read = digest) -> str:
    """Hash of files and of all that they import from the package, but for what is aside."""
    seen: set[Path] = set()
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        if file not in seen and file not in ASIDE:
            seen.add(file)
            waiting += jit._imported(file) if file.is_relative_to(SRC) else ()
    texts = hashlib.blake2b(digest_size=8)
    for file in sorted(seen):
        texts.update(read(file))
    return texts.hexdigest()


def _tried_with(test: Path) -> Iterator[Path]:
    """A file of tests, the checks, shared tests and baselines it imports, and what it reads."""
    yield test
    for package, name in _TRIED_WITH.findall(test.read_text(encoding="utf-8")):
        if (file := SHARED[package] / f"{name}.py").exists():
            yield file
    for name in BESIDE.get(test.relative_to(ROOT).as_posix(), ()):
        yield ROOT / name


def fingerprints(read: Read = digest) -> dict[str, str]:
    """What is locked: each module of a synopsis, each file of tests, and the versions we use."""
    families = [SRC / "synopses" / name for name in NAMES]
    modules = [file for family in families for file in family.glob("[!_]*.py")]
    modules += [family.with_suffix(".py") for family in families if not family.is_dir()]
    tests = [test for folder in FOLDERS for test in folder.glob("test_*.py")]
    named = {file: (file,) for file in modules} | {test: _tried_with(test) for test in tests}
    found = {
        file.relative_to(ROOT).as_posix(): fingerprint(parts, read) for file, parts in named.items()
    }
    found[EVERYWHERE] = read(ROOT / EVERYWHERE).hex()
    return found


def locked(lock: Path) -> dict[str, str]:
    """Fingerprints by name, as a lock has them."""
    if not lock.exists():
        return {}
    lines = lock.read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines)  # type: ignore[arg-type]


def write(lock: Path) -> None:
    """Lock the texts as they are."""
    lines = [f"{name} {mark}\n" for name, mark in sorted(fingerprints().items())]
    lock.write_text("".join(lines), encoding="utf-8")


class Named:
    """Modules of synopses that a test names, in its parameters or in its code.

    Helpers, fixtures and constants of the test's own file are followed. The registry itself names
    nothing: the test takes one kind from it, by a name that it was given.
    """

    def __init__(self, home: str) -> None:
        self.home = home
        self.modules: set[str] = set()
        self._seen: dict[int, Any] = {}  # with the things, so that no id comes twice

    def add(self, thing: Any, owner: type | None = None) -> None:
        """Take note of what a thing names."""
        if id(thing) in self._seen or thing is registry():
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, str):
            if thing in registry():
                self._module(registry()[thing].__module__)
        elif isinstance(thing, ModuleType):
            self._module(thing.__name__)
        elif isinstance(thing, dict):
            self._all([*thing, *thing.values()])
        elif isinstance(thing, tuple | list | set | frozenset):
            self._all(thing)
        elif isinstance(thing, FunctionType):
            self._function(thing, owner)
        elif isinstance(thing, functools.partial):
            self._all([thing.func, *thing.args])
        else:
            self._object(thing)

    def _all(self, things: Iterable[Any]) -> None:
        for thing in things:
            self.add(thing)

    def _module(self, name: str) -> None:
        if name.startswith(SYNOPSES):
            self.modules.add(name.removeprefix(SYNOPSES))

    def _object(self, thing: Any) -> None:
        """A class, or a thing of one; classes of the test's own file say what they are made of."""
        kind = thing if isinstance(thing, type) else type(thing)
        self._module(kind.__module__)
        if kind.__module__ == self.home:
            self._all(base for base in kind.__bases__ if base is not object)
            for part in vars(kind).values():
                self.add(part, kind)
            if kind is not thing:
                self._all(getattr(thing, "__dict__", {}).values())

    def _function(self, function: FunctionType, owner: type | None) -> None:
        function = getattr(function, "hypothesis", function)
        function = getattr(function, "inner_test", function)
        self._module(function.__module__ or "")
        if function.__module__ != self.home:
            return
        self._all(function.__defaults__ or ())
        self._all(cell.cell_contents for cell in function.__closure__ or ())
        for name in _names(function.__code__):
            if name in function.__globals__:
                self.add(function.__globals__[name])
            if owner is not None and name in vars(owner):
                self.add(vars(owner)[name], owner)
        self._all(text for text in _texts(function.__code__))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _names(code: CodeType) -> set[str]:
    return {name for part in _codes(code) for name in part.co_names}


def _texts(code: CodeType) -> set[str]:
    return {text for part in _codes(code) for text in part.co_consts if isinstance(text, str)}


def modules_of(item: pytest.Item) -> frozenset[str]:
    """Modules of synopses that a test names, as `family.module`; none elsewhere in the tree."""
    if isinstance(item, pytest.DoctestItem):
        inside = item.path.is_relative_to(SRC / "synopses")
        parts = item.path.relative_to(SRC / "synopses").with_suffix("").parts if inside else ()
        return frozenset({".".join(parts)} if parts and parts[0] in NAMES else ())
    if not isinstance(item, pytest.Function) or item.path.parent not in FOLDERS:
        return frozenset()
    if item.path == CHEAP:
        return frozenset()
    named = Named(item.function.__module__)
    named.add(item.function, item.cls)
    if hasattr(item, "callspec"):
        named.add(list(item.callspec.params.values()))
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        named.add([definition.func for definition in definitions])
    return frozenset(name for name in named.modules if name.split(".")[0] in NAMES)


@functools.cache
def _kinds() -> frozenset[str]:
    return frozenset(kind.__module__.removeprefix(SYNOPSES) for kind in registry().values())


@functools.cache
def _reached() -> frozenset[str]:
    kinds = (registry()[name].__module__.removeprefix(SYNOPSES) for name in REACHED)
    return ENGINE.union(kinds)


@functools.cache
def _reached_parts() -> frozenset[str]:
    """What the reached ones are made of."""
    seen: set[Path] = set()
    waiting = [_path(name) for name in _reached()]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += jit._imported(file)
    inside = [
        file.relative_to(SRC / "synopses") for file in seen if file.is_relative_to(SRC / "synopses")
    ]
    return frozenset(".".join(file.with_suffix("").parts) for file in inside)


def _path(module: str) -> Path:
    return (SRC / "synopses").joinpath(*module.split(".")).with_suffix(".py")


def is_library(modules: frozenset[str]) -> bool:
    """Whether a test that names these modules is of no standing query.

    One that names no kind tries parts of kinds, and counts as those that are made of them.
    """
    if not modules or modules & _reached():
        return False
    return bool(modules & _kinds()) or not modules & _reached_parts()


def unchanged(
    test: Path, modules: frozenset[str], now: dict[str, str], lock: dict[str, str]
) -> bool:
    """Whether a test and all that it tries have the texts that are locked."""
    files = {test, *map(_path, modules)}
    names = {EVERYWHERE, *(file.relative_to(ROOT).as_posix() for file in files)}
    return all(name in lock and now.get(name) == lock[name] for name in names)


LEFT_OUT = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of the library, and leave those out that try nothing new."""
    found = [(item, modules) for item in items if is_library(modules := modules_of(item))]
    for item, _ in found:
        item.add_marker("library")
    if not found or os.environ.get("STREAMGAUGE_LIBRARY") == "all" or regolding():
        return
    now, lock = fingerprints(), locked(LOCK)
    left = [item for item, modules in found if unchanged(item.path, modules, now, lock)]
    config.stash[LEFT_OUT] = len(left)
    if left:
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist says what it left out; all workers leave out the same."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["library"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Hear a worker of xdist."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("library", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how many tests were left out, and how to run them."""
    if left := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{left} tests of the library left out: nothing they try has changed since it was "
            "locked; STREAMGAUGE_LIBRARY=all runs them"
        )


def main(arguments: list[str]) -> None:
    """Tell what has changed since it was locked, or lock it."""
    if arguments == ["--write"]:
        write(LOCK)
        return
    lock = locked(LOCK)
    changed = [name for name, mark in sorted(fingerprints().items()) if lock.get(name) != mark]
    sys.stdout.write("".join(f"{name}\n" for name in changed))


if __name__ == "__main__":
    main(sys.argv[1:])
