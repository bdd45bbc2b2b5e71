"""What the condition of an ASOF join must be."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr, conjuncts
from streamgauge.operators.functions import Functions
from streamgauge.operators.join_rows import nearest
from streamgauge.plan.join_columns import Sides, side_of, sides_of
from streamgauge.plan.nodes import Join

_EXAMPLE = "write ON a.key = b.key AND a.ts >= b.ts, with other conditions in WHERE"


def check_as_of(node: Join, functions: Functions) -> None:
    """Refuse a condition that is not equalities and one inequality between both inputs."""
    sides = sides_of(node, functions)
    left, right = (set(side) for side in sides)
    found = len(nearest(node.on, left, right))
    if found != 1:
        raise BindError(
            f"{node.kind.upper()} JOIN needs one inequality between its two sides",
            f"got {found} of <, <=, >, >= in ON {node.on}",
            _EXAMPLE,
        )
    for part in conjuncts(node.on):
        if not nearest(part, left, right) and not _equates(part, sides):
            raise BindError(
                f"{node.kind.upper()} JOIN takes equalities and one inequality",
                f"got {part} in ON",
                _EXAMPLE,
            )


def _equates(part: Expr, sides: Sides) -> bool:
    return part.op == "=" and {side_of(side, sides) for side in part.args} == {0, 1}
