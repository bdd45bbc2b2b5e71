"""Promising plans: what is left of a plan once it is worked on by preference.

A view keeps its ordinary plan, which says what the exact answer is. Here the parts are found that
promising work needs: the streams of a join with the key they meet in, or the rows of a selection.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.kernel.hashing import stable_hash
from streamgauge.operators.expression import Expr, column, conjuncts
from streamgauge.plan.conditions import Derived, predicate_of
from streamgauge.plan.nodes import Filter, Join, Named, Node, Project, Scan, Streamed, Windowed
from streamgauge.plan.spans import Reach, Spans, spans_of
from streamgauge.plan.view import View
from streamgauge.promise.promise import Promise
from streamgauge.windows.window import Window

__all__ = [
    "PromisingJoinPlan",
    "Reach",
    "SelectionPlan",
    "Side",
    "column_of",
    "is_spread",
    "join_owner",
    "join_plan",
    "key_classes",
    "selection_plan",
    "spans_of",
]


@dataclass(frozen=True, slots=True)
class Side:
    """One stream of a join.

    Parameters
    ----------
    alias, stream, window
        Its name in the query, the stream and how long its rows stay.
    where
        Conditions on its rows alone, over the stream's own columns.
    key
        What must be equal on all sides, over the stream's own columns; numbers of two types are
        cast to float.
    """

    alias: str
    stream: str
    window: Window
    where: tuple[Expr, ...]
    key: Expr


@dataclass(frozen=True, slots=True)
class PromisingJoinPlan:
    """A join of streams in one key.

    Parameters
    ----------
    sides
        The streams, in the order of FROM.
    on
        Conditions that are left once the keys are equal, over columns like `a.price`.
    items
        What is selected, over the same columns.
    kind
        istream when rows are given as they come and never taken back, else empty.
    """

    sides: tuple[Side, ...]
    on: tuple[Expr, ...]
    items: Named
    kind: str = ""


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """Rows of one stream that meet conditions.

    Parameters
    ----------
    stream, window
        The stream, and the window after which rows are taken back; None: they stay.
    where, items
        Conditions and what is selected, over the stream's own columns.
    column
        The summarised column; empty where there is no preference.
    spans, words
        Numbers or texts of that column with which a row may pass; None: any.
    whole
        Whether every row with such a value passes.
    kind
        istream when rows are given as they come and never taken back, else empty.
    """

    stream: str
    window: Window | None
    where: tuple[Expr, ...]
    items: Named
    column: str = ""
    spans: Spans | None = None
    words: tuple[str, ...] | None = None
    whole: bool = False
    kind: str = ""


def estimates_of(promise: Promise) -> tuple[str, ...]:
    """Columns whose estimates a preference asks for, each once."""
    parts = [part for expr in promise.exprs for part in expr.walk() if part.op == "estimate"]
    return tuple(dict.fromkeys(str(part.args[0].value) for part in parts))


def column_of(promise: Promise) -> str:
    """The summarised column of a query of one stream."""
    return estimates_of(promise)[0]


def join_plan(view: View) -> PromisingJoinPlan | None:
    """The view as a join of streams in one key; None when it is anything else."""
    kind, items, join = _listed(view.plan)
    on: tuple[Expr, ...] = ()
    while isinstance(join, Filter):
        on, join = (*conjuncts(join.where), *on), join.input
    if not isinstance(join, Join) or kind is None:
        return None
    parts = _windowed(join)
    classes = key_classes(view)
    if parts is None or not classes:
        return None
    keys = _chosen(classes, join.names, view.promise)
    types = {scan.schema.type(key) for (scan, _, _), key in zip(parts, keys, strict=True)}
    mixed = len(types) > 1
    sides = tuple(
        Side(alias, scan.stream, window, where, _cast(key) if mixed else column(key))
        for alias, (scan, window, where), key in zip(join.names, parts, keys, strict=True)
    )
    equal = {f"{alias}.{key}" for alias, key in zip(join.names, keys, strict=True)}
    # Whole numbers beyond 2**53 have neighbours that are one float: they are compared again.
    rest = (*conjuncts(join.on), *on)
    rest = tuple(part for part in rest if mixed or not _says_equal(part, equal))
    if items is None:
        names = (f"{a}.{c}" for a, (s, _, _) in zip(join.names, parts, strict=True) for c in
                 s.schema.names)  # fmt: skip
        items = tuple((name, column(name)) for name in names)
    return PromisingJoinPlan(sides, rest, items, kind)


def key_classes(view: View) -> list[tuple[str, ...]]:
    """Columns that are equal on all sides of a join, one for each side; all such choices."""
    node = _listed(view.plan)[2]
    on: tuple[Expr, ...] = ()
    while isinstance(node, Filter):
        on, node = (*conjuncts(node.where), *on), node.input
    if not isinstance(node, Join) or node.kind != "inner":
        return []
    parts = _windowed(node)
    if parts is None:
        return []
    owners = {
        f"{alias}.{name}": (place, name)
        for place, (alias, (scan, _, _)) in enumerate(zip(node.names, parts, strict=True))
        for name in scan.schema.names
    }
    found = []
    for names in _equal_columns((*conjuncts(node.on), *on), set(owners)):
        sides: dict[int, str] = {}
        for name in names:
            place, plain = owners[name]
            sides.setdefault(place, plain)
        if len(sides) == len(parts):
            found.append(tuple(sides[place] for place in range(len(parts))))
    return found


def selection_plan(view: View) -> SelectionPlan | None:
    """The view as a selection of one stream; None when it is anything else."""
    kind, items, node = _listed(view.plan)
    where: tuple[Expr, ...] = ()
    while isinstance(node, Filter):
        where, node = (*conjuncts(node.where), *where), node.input
    part = _one_window(node)
    if kind is None or part is None:
        return None
    scan, window, below = part
    where = (*below, *where)
    if items is None:
        items = tuple((name, column(name)) for name in scan.schema.names)
    stays = None if window.unbounded else window
    plain = SelectionPlan(scan.stream, stays, where, items, kind=kind)
    if view.promise is None:
        return plain
    name = column_of(view.promise)
    reach = spans_of(predicate_of(where, Derived(scan.schema, {})), name)
    return SelectionPlan(
        scan.stream, stays, where, items, name, reach.spans, reach.words, reach.whole, kind
    )


def _listed(plan: Node) -> tuple[str | None, Named | None, Node]:
    """The kind of stream, the select list and what is below; the kind is None for others."""
    kind: str | None = ""
    if isinstance(plan, Streamed):
        kind, plan = plan.kind if plan.kind == "istream" else None, plan.input
    if isinstance(plan, Project):
        return kind, plan.items, plan.input
    return kind, None, plan


_Part = tuple[Scan, Window, tuple[Expr, ...]]


def _windowed(join: Join) -> list[_Part] | None:
    found = [_one_window(part) for part in join.parts]
    plain = [part for part in found if part is not None]
    return plain if len(plain) == len(found) else None


def _one_window(node: Node) -> _Part | None:
    """A scan under its window with the conditions on its rows; None for anything else."""
    where: tuple[Expr, ...] = ()
    window: Window | None = None
    while isinstance(node, (Filter, Windowed)):
        if isinstance(node, Filter):
            where = (*conjuncts(node.where), *where)
        else:
            window = node.window
        node = node.input
    if not isinstance(node, Scan) or node.changes or window is None:
        return None
    return (node, window, where) if window.kind == "range" or window.unbounded else None


def _equal_columns(on: tuple[Expr, ...], known: set[str]) -> list[list[str]]:
    """Columns that are equal to each other, by way of any number of equalities."""
    classes: list[list[str]] = []
    for part in on:
        if part.op != "=" or any(arg.op != "column" or arg.value not in known for arg in part.args):
            continue
        pair = [str(arg.value) for arg in part.args]
        touched = [names for names in classes if not set(pair).isdisjoint(names)]
        classes = [names for names in classes if names not in touched]
        names = [name for old in touched for name in old]
        classes.append([*names, *(name for name in pair if name not in names)])
    return classes


def _chosen(
    classes: list[tuple[str, ...]], aliases: tuple[str, ...], promise: Promise | None
) -> tuple[str, ...]:
    """The key that the preference is about, else the first."""
    wanted = set() if promise is None else set(estimates_of(promise))

    def known(keys: tuple[str, ...]) -> int:
        names = (f"{alias}.{key}" for alias, key in zip(aliases, keys, strict=True))
        return len(wanted.intersection(names))

    return max(classes, key=known)


def _says_equal(part: Expr, names: set[str]) -> bool:
    columns = [arg.value for arg in part.args if arg.op == "column"]
    return part.op == "=" and len(columns) == 2 and names.issuperset(columns)


def _cast(key: str) -> Expr:
    return Expr("cast", (column(key),), "float")


def is_spread(plan: PromisingJoinPlan) -> bool:
    """Whether shards may share the keys: equal rows must have equal keys, so one is selected."""
    listed = {expr.value for _, expr in plan.items if expr.op == "column"}
    keys = ((side.alias, sorted(side.key.columns())) for side in plan.sides)
    return any(f"{alias}.{name}" in listed for alias, names in keys for name in names)


def join_owner(name: str, shards: int) -> int:
    """The shard of a join whose keys are not shared out."""
    return stable_hash(name) % shards
