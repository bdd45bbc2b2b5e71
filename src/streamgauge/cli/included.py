"""Included files: Python modules that give queries."""

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


def included(path: Path) -> list[Query]:
    """Queries that the function `queries()` of a Python file gives."""
    if path.suffix == ".sql":
        raise BindError(
            f"cannot include {path.name}",
            "queries written in SQL need a front end that is not part of this release",
            "write them as [[queries]], or in a .py file whose queries() gives sg.Query values",
        )
    if path.suffix != ".py":
        raise BindError(
            f"cannot include {path.name}",
            f"a file of type {path.suffix or 'none'}",
            "include .py files whose queries() gives sg.Query values",
        )
    if not path.is_file():
        raise SourceFailure(
            f"cannot include {path.name}",
            f"{path} is not there",
            "names in include are relative to the project file",
        )
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
