"""A filter goes below a join, to the inputs it reads.

Law: filter(A join B on q, p) = filter(A, p) join B on q when p reads A alone, and A join B on
(q and p) when it reads both. Conditions on one input that are in `on` go to that input too.
For a left join only what reads the first input may go down from above, and of `on` only what
reads the second: the others decide about rows that stay without a partner. So it is for an anti
join; for a semi join all of `on` that reads one input may go there, and for a full join nothing.
Of an asof join conditions on the second input stay above: below they would let another row be the
nearest.
"""

from __future__ import annotations

from dataclasses import replace

from streamgauge.operators.expression import Expr, conjunction, conjuncts
from streamgauge.operators.functions import Functions
from streamgauge.plan.join_columns import pushed, sides_of
from streamgauge.plan.nodes import Filter, Join, Node
from streamgauge.plan.substitute import filtered

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = (Join,)


def apply(node: Node, functions: Functions) -> Node:
    """Push filters below joins everywhere in a plan."""

    def change(part: Node) -> Node:
        if isinstance(part, Filter) and isinstance(part.input, Join):
            return _from_above(conjuncts(part.where), part.input, functions)
        return _from_above((), part, functions) if isinstance(part, Join) else part

    return node.rebuilt(change)


# For each other kind, the inputs that conditions of `on` and those from above may go to.
_ALLOWED = {
    "left": ((1,), (0,)),
    "full": ((), ()),
    "semi": ((0, 1), (0,)),
    "anti": ((1,), (0,)),
    "asof": ((), (0,)),
    "asof left": ((), (0,)),
}


def _from_above(where: tuple[Expr, ...], join: Join, functions: Functions) -> Node:
    sides = sides_of(join, functions)
    everyone = tuple(range(len(sides)))
    above: tuple[Expr, ...] = ()
    if join.kind == "inner":
        below, rest = pushed((*conjuncts(join.on), *where), sides, everyone)
        on = conjunction(tuple(dict.fromkeys(rest)))
    else:
        from_on, from_where = _ALLOWED[join.kind]
        below, kept = pushed(conjuncts(join.on), sides, from_on)
        more, above = pushed(where, sides, from_where)
        for place, parts_of in more.items():
            below[place] = (*below.get(place, ()), *parts_of)
        on = conjunction(kept)
    if not below and on == join.on:
        return filtered(join, above) if where else join
    parts = tuple(filtered(part, below.get(place, ())) for place, part in enumerate(join.parts))
    return filtered(replace(join, parts=parts, on=on), above)
