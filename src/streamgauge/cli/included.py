"""Included files: Python modules that give queries, and statements of the language."""

from __future__ import annotations

import importlib.util
import traceback
from collections.abc import Iterable
from pathlib import Path

from streamgauge.kernel.errors import BindError, SourceFailure, StreamgaugeError
from streamgauge.plan.query import Query

# What a mistake in a user's file shows as; anything rarer keeps its traceback.
MISTAKES = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError,
    SyntaxError, TypeError, ValueError,
)  # fmt: skip


def found_files(root: Path, name: str) -> list[Path]:
    """Files that an entry of `include` names; one with *, ? or [...] may name several."""
    wild = any(sign in name for sign in "*?[")
    paths = sorted(root.glob(name)) if wild else [root / name]
    for path in paths:
        if path.suffix not in (".py", ".sql"):
            raise BindError(
                f"cannot include {path.name}",
                f"a file of type {path.suffix or 'none'}",
                "include .sql files, or .py files whose queries() gives sg.Query values",
            )
    if not paths or not all(path.is_file() for path in paths):
        raise SourceFailure(
            f"cannot include {Path(name).name}",
            f"{root / name} is not there",
            "names in include are relative to the project file",
        )
    return paths


def included(path: Path) -> list[Query]:
    """Queries that the function `queries()` of a Python file gives."""
    found = list(_called(path))
    for item in found:
        if not isinstance(item, Query):
            raise BindError(
                f"queries() of {path.name} gives something that is no query",
                f"{item!r} is a {type(item).__name__}",
                "give sg.Query values",
            )
    return found


def _called(path: Path) -> Iterable[Query]:
    spec = importlib.util.spec_from_file_location(f"streamgauge_project_{path.stem}", path)
    assert spec is not None, "a .py file always has a spec"
    assert spec.loader is not None, "a .py file always has a loader"
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        queries = module.queries
        return list(queries())
    except StreamgaugeError:
        raise
    except MISTAKES as error:
        if isinstance(error, AttributeError) and not hasattr(module, "queries"):
            raise BindError(
                f"{path.name} has no function queries()",
                f"looked in {path}",
                "define queries() so that it returns an iterable of sg.Query",
            ) from None
        raise BindError(
            f"{path.name} fails: {type(error).__name__}",
            f"{error}, {_line(error, path)}",
            f"run it alone to see more: python {path}",
        ) from error


def _line(error: BaseException, path: Path) -> str:
    """The last line of the file that the error went through."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f"line {frames[-1].lineno}" if frames else "before its first line"
