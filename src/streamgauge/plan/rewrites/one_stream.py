"""One stream: rows of one window, filtered and projected, in terms of the stream's own columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamgauge.kernel.errors import BindError
from streamgauge.operators.evaluate import type_of
from streamgauge.operators.expression import Expr, conjunction, conjuncts
from streamgauge.plan.nodes import Filter, Node, Project, Scan, Windowed
from streamgauge.plan.part import Part
from streamgauge.plan.restream import OF_TIME
from streamgauge.plan.substitute import through, through_named
from streamgauge.windows.window import Window


@dataclass(frozen=True, slots=True)
class OneStream:
    """A scan, its window, the conditions on its rows, and the columns computed from them."""

    scan: Scan
    window: Window
    where: tuple[Expr, ...] = ()
    columns: Mapping[str, Expr] = field(default_factory=dict)

    def read(self, expr: Expr) -> Expr:
        """An expression over the node, in terms of the stream."""
        return through(expr, self.columns)

    def kind(self, expr: Expr) -> str:
        """Type of an expression over the stream's columns; empty when it has none."""
        try:
            return type_of(expr, self.scan.schema, {})
        except BindError:
            return ""

    def part(self, by: Sequence[Expr], where: tuple[Expr, ...] = ()) -> Part:
        """The stream as a part of a question across streams."""
        whole = conjunction((*self.where, *where))
        return Part(self.scan.stream, self.window, tuple(by), whole)


def one_stream(node: Node) -> OneStream | None:
    """What a node says of one window of time of one stream; None when it is anything else."""
    found = one_window(node)
    return found if found is not None and found.window.kind in OF_TIME else None


def one_window(node: Node) -> OneStream | None:
    """What a node says of one window of one stream; None when it is anything else."""
    if isinstance(node, Windowed):
        where: tuple[Expr, ...] = ()
        below: Node = node.input
        while isinstance(below, Filter):
            where, below = (*conjuncts(below.where), *where), below.input
        # Filters below a window of rows choose which rows are counted; a query's filter does not.
        if not isinstance(below, Scan) or (where and node.window.kind not in OF_TIME):
            return None
        return OneStream(below, node.window, where)
    if not isinstance(node, (Filter, Project)):
        return None
    found = one_window(node.input)
    if found is None:
        return None
    if isinstance(node, Filter):
        more = tuple(found.read(part) for part in conjuncts(node.where))
        return OneStream(found.scan, found.window, (*found.where, *more), found.columns)
    columns = dict(through_named(node.items, found.columns))
    return OneStream(found.scan, found.window, found.where, columns)


def aligned(parts: Sequence[tuple[OneStream, Sequence[Expr]]]) -> list[Part] | None:
    """Parts whose items are of one type each, numbers brought together; None when they are not."""
    columns = list(zip(*(by for _, by in parts), strict=True))
    ready: list[list[Expr]] = [[] for _ in parts]
    for place in columns:
        kinds = {source.kind(expr) for (source, _), expr in zip(parts, place, strict=True)}
        mixed = kinds == {"int", "float"}
        if (len(kinds) > 1 and not mixed) or kinds & {"", "null"}:
            return None
        for own, expr in zip(ready, place, strict=True):
            own.append(Expr("cast", (expr,), "float") if mixed else expr)
    return [source.part(by) for (source, _), by in zip(parts, ready, strict=True)]


def counts_rows(aggregate: Expr) -> bool:
    """Whether an aggregate is COUNT(*)."""
    plain = aggregate.op == "aggregate" and aggregate.value == "count"
    return plain and all(arg.op == "star" for arg in aggregate.args)
