"""Scopes: which column a name in a query stands for."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr, column
from streamgauge.plan.nodes import Node


@dataclass(frozen=True, slots=True)
class Visible:
    """A column that can be named.

    Parameters
    ----------
    table, column
        How it is written.
    name
        What it is called in the plan.
    plain
        Whether it can be named without its table; the second of two USING columns cannot.
    """

    table: str
    column: str
    name: str
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """Columns in sight, and those of the query around.

    Examples
    --------
    >>> scope = Scope((Visible("a", "price", "a.price"), Visible("b", "price", "b.price")))
    >>> print(scope.resolved(column("price", "a")))
    a.price
    """

    columns: tuple[Visible, ...]
    outer: Scope | None = None

    def find(self, name: str, table: str = "") -> Visible | None:
        """The column of that name, None when there is none; an error when there are two."""
        found = [
            c for c in self.columns if c.column == name and (c.table == table if table else c.plain)
        ]
        if len(found) > 1:
            tables = [c.table for c in found if c.table]
            raise BindError(
                f"column {name!r} is ambiguous",
                f"{' and '.join(tables) or 'the subquery'} have it",
                f"write {tables[0]}.{name}" if tables else "give the columns different names",
            )
        return found[0] if found else None

    def resolved(self, expr: Expr) -> Expr:
        """The expression with plan names; columns of the query around get the op `outer`."""
        return expr.replaced(lambda part: self._placed(part) if part.op == "column" else None)

    def _placed(self, part: Expr) -> Expr:
        found = self.find(part.value, part.table)
        if found is not None:
            return column(found.name)
        around = self.outer.find(part.value, part.table) if self.outer is not None else None
        if around is not None:
            return Expr("outer", value=around.name)
        raise self._unknown(part)

    def _unknown(self, part: Expr) -> BindError:
        tables = dict.fromkeys(c.table for c in self.columns)
        if part.table and part.table not in tables:
            near = get_close_matches(part.table, tables, 1)
            return BindError(
                f"unknown table {part.table!r} in {part}",
                f"FROM has {', '.join(filter(None, tables)) or 'no names'}",
                f"did you mean {near[0]}.{part.value}?" if near else "name it in FROM",
            )
        names = [c.column for c in self.columns if not part.table or c.table == part.table]
        near = get_close_matches(str(part.value), names, 1)
        listed = ", ".join(dict.fromkeys(names))
        return BindError(
            f"unknown column {str(part)!r}",
            f"columns are {listed}",
            f"did you mean {near[0]}?"
            if near
            else f"name one of these columns, or write '{part.value}' for a text",
        )

    def of_table(self, table: str) -> tuple[Visible, ...]:
        """Columns of one table, or all that a star stands for."""
        if not table:
            return tuple(c for c in self.columns if c.plain)
        found = tuple(c for c in self.columns if c.table == table)
        if not found:
            raise self._unknown(column("*", table))
        return found


def settled(expr: Expr) -> Expr:
    """The expression with columns that were put there while binding as plain columns."""
    return expr.replaced(lambda part: column(part.value) if part.op == "placed" else None)


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound relation.

    Parameters
    ----------
    node, scope
        Its plan, and the names of its columns.
    alias
        Name of the one source it is; empty once it is a join.
    windows
        Whether a window was written somewhere in it.
    endless
        Streams of which every row stays because no window was written.
    kept
        Those of them whose rows a join would have to keep for ever.
    time
        The column of event time, while the rows are those of one stream.
    """

    node: Node
    scope: Scope
    alias: str = ""
    windows: bool = False
    endless: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    time: str = ""


def unknown_name(kind: str, name: str, known: list[str]) -> BindError:
    """A name that nothing has, with the nearest that something has."""
    near = get_close_matches(name, known, 1)
    listed = ", ".join(sorted(known)[:8]) + (" ..." if len(known) > 8 else "")
    return BindError(
        f"unknown {kind} {name!r}",
        f"there are {listed or 'none'}",
        f"did you mean {near[0]}?" if near else "check the spelling, or create it first",
    )
