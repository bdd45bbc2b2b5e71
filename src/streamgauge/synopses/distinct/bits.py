"""Bits of a hash: how many zeros it begins or ends with, as one machine instruction."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _counting(instruction: str) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return getattr(builder, instruction)(arguments[0], context.get_constant(types.boolean, 0))

    return code


def _leading_zeros(context: Any, word: Any) -> Any:
    """Zeros above the highest bit set; 64 of zero."""
    return types.int64(types.uint64), _counting("ctlz")


def _trailing_zeros(context: Any, word: Any) -> Any:
    """Zeros below the lowest bit set; 64 of zero."""
    return types.int64(types.uint64), _counting("cttz")


leading_zeros: Any = intrinsic(_leading_zeros)
trailing_zeros: Any = intrinsic(_trailing_zeros)
