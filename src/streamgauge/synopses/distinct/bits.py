"""Bits of a hash: how many zeros it begins or ends with, as one machine instruction."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def leading_zeros(context: Any, word: Any) -> Any:
    """Zeros above the highest bit set; 64 of zero."""
    return types.int64(types.uint64), _counting("ctlz")


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(context: Any, word: Any) -> Any:
    """Zeros below the lowest bit set; 64 of zero."""
    return types.int64(types.uint64), _counting("cttz")


def _counting(instruction: str) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return getattr(builder, instruction)(arguments[0], ir.Constant(ir.IntType(1), 0))

    return code
