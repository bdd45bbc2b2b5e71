"""Expressions over the columns of a row, as plain frozen values.

One node for all of them keeps walking, rewriting, comparing and storing in one place each. The
language builds them from text, the planner rewrites them, `evaluate.py` gives them types and runs
them on columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from streamgauge.kernel.time import duration_text, instant_text

ARITHMETIC = ("+", "-", "*", "/", "%")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Expr:
    """An expression.

    Parameters
    ----------
    op
        column, literal, duration, instant, star; the arithmetic operators and neg, ||; the
        comparisons, in, between, like, is null; and, or, not; case, cast, call; aggregate, with
        filter, when, distinct and weight around or inside it; estimate, of a region, in a
        preference; subquery, in subquery and exists before binding.
    args
        Operands. `case` has pairs of condition and result, then the rest's result.
    value
        Name of a column, function or aggregate; the value of a literal; the type of a cast; a
        whole number of microseconds for duration and instant; the statement of a subquery.
    table
        Qualifier of a column as written; empty once it is bound.

    Examples
    --------
    >>> where = Expr("and", (Expr(">", (column("price"), literal(10))), column("open")))
    >>> print(where)
    price > 10 AND open
    >>> where.columns()
    ('price', 'open')
    >>> Expr.from_json(where.as_json()) == where
    True
    """

    op: str
    args: tuple[Expr, ...] = ()
    value: Any = None
    table: str = ""

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and TRUE are equal in Python, and three different constants of three types here.
        return (
            isinstance(other, Expr)
            and self.op == other.op
            and type(self.value) is type(other.value)
            and self.value == other.value
            and self.table == other.table
            and self.args == other.args
        )

    def walk(self) -> Iterator[Expr]:
        """The expression and all inside it, outermost first."""
        stack = [self]
        while stack:
            part = stack.pop()
            yield part
            stack.extend(reversed(part.args))

    def columns(self) -> tuple[str, ...]:
        """Names of the columns it reads, in order of first use."""
        return tuple(dict.fromkeys(part.value for part in self.walk() if part.op == "column"))

    def replaced(self, change: Callable[[Expr], Expr | None]) -> Expr:
        """The same expression with parts changed; `change` gives the new part, or None to go on."""
        changed = change(self)
        if changed is not None:
            return changed
        args = tuple(arg.replaced(change) for arg in self.args)
        return self if args == self.args else replace(self, args=args)

    def has(self, *ops: str) -> bool:
        """Whether one of these operations is inside."""
        return any(part.op in ops for part in self.walk())

    def as_json(self) -> list[Any]:
        """JSON form: op, value, then the operands."""
        unbound = self.op in ("subquery", "in subquery", "exists")
        assert not unbound, "a subquery is gone once a statement is bound"
        return [self.op, self.value, *[arg.as_json() for arg in self.args]]

    @classmethod
    def from_json(cls, data: list[Any]) -> Expr:
        """Read the JSON form."""
        # Lists rather than generators: a home with thousands of queries reads a million of these.
        return cls(data[0], tuple([cls.from_json(arg) for arg in data[2:]]), data[1])

    def __str__(self) -> str:
        return _text(self, 0)


def column(name: str, table: str = "") -> Expr:
    """A column by name."""
    return Expr("column", value=name, table=table)


def literal(value: float | int | str | bool | None) -> Expr:
    """A constant."""
    return Expr("literal", value=value)


def call(name: str, *args: Expr) -> Expr:
    """A function applied to arguments."""
    return Expr("call", args, name)


def conjuncts(where: Expr | None) -> tuple[Expr, ...]:
    """The conditions that are joined by AND.

    >>> [str(part) for part in conjuncts(Expr("and", (column("a"), column("b"))))]
    ['a', 'b']
    """
    if where is None:
        return ()
    if where.op != "and":
        return (where,)
    return tuple(part for arg in where.args for part in conjuncts(arg))


def conjunction(parts: tuple[Expr, ...]) -> Expr | None:
    """The conditions joined by AND; None for none."""
    if not parts:
        return None
    whole = parts[0]
    for part in parts[1:]:
        whole = Expr("and", (whole, part))
    return whole


_BINDING = {
    "when": 0, "or": 1, "and": 2, "not": 3, "is null": 4, "in": 4, "between": 4, "like": 4,
    **dict.fromkeys(COMPARISONS, 4), "||": 5, "+": 6, "-": 6, "*": 7, "/": 7, "%": 7, "neg": 8,
}  # fmt: skip


def _text(expr: Expr, outer: int) -> str:
    """SQL text; brackets only where they are needed."""
    own = _BINDING.get(expr.op, 9)
    text = _plain(expr, own)
    return f"({text})" if own < outer else text


def _plain(expr: Expr, own: int) -> str:
    op, args = expr.op, expr.args
    if op in ("and", "or"):
        return f"{_text(args[0], own)} {op.upper()} {_text(args[1], own + 1)}"
    if op in _BINDING and len(args) == 2 and op not in ("in", "when"):
        right = _text(args[1], own + 1)
        return f"{_text(args[0], own + (op in COMPARISONS))} {op.upper()} {right}"
    special = _SPECIAL.get(op)
    if special is not None:
        return special(expr, own)
    plain = ", ".join(_text(arg, 0) for arg in args if arg.op != "weight")
    inside = " ".join([plain, *(_text(arg, 0) for arg in args if arg.op == "weight")])
    if op in ("aggregate", "estimate"):
        return f"{str(expr.value).upper()}({inside or '*'})"
    return f"{expr.value}({inside})"


def _case(expr: Expr, own: int) -> str:
    pairs = [
        f"WHEN {_text(when, 1)} THEN {_text(then, 1)}"
        for when, then in zip(expr.args[:-1:2], expr.args[1:-1:2], strict=True)
    ]
    return f"CASE {' '.join(pairs)} ELSE {_text(expr.args[-1], 1)} END"


def _listed(expr: Expr, own: int) -> str:
    items = ", ".join(_text(arg, 0) for arg in expr.args[1:])
    return f"{_text(expr.args[0], own + 1)} IN ({items})"


def _constant(expr: Expr, own: int) -> str:
    value = expr.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def _span(value: int) -> str:
    sign = "-" if value < 0 else ""
    return f"{sign}INTERVAL '{duration_text(abs(value))}'"


def _between(expr: Expr, own: int) -> str:
    value, low, high = (_text(arg, own + 1) for arg in expr.args)
    return f"{value} BETWEEN {low} AND {high}"


def _name(expr: Expr, own: int) -> str:
    return f"{expr.table}.{expr.value}" if expr.table else str(expr.value)


_SPECIAL: dict[str, Callable[[Expr, int], str]] = {
    "column": _name,
    "literal": _constant,
    "parameter": lambda expr, own: f"${expr.value}",
    "star": lambda expr, own: f"{expr.table}.*" if expr.table else "*",
    "duration": lambda expr, own: _span(expr.value),
    "instant": lambda expr, own: f"TIMESTAMP '{instant_text(expr.value)}'",
    "neg": lambda expr, own: f"-{_text(expr.args[0], own + 1)}",
    "not": lambda expr, own: f"NOT {_text(expr.args[0], own)}",
    "is null": lambda expr, own: f"{_text(expr.args[0], own + 1)} IS NULL",
    "between": _between,
    "in": _listed,
    "case": _case,
    "cast": lambda expr, own: f"CAST({_text(expr.args[0], 0)} AS {str(expr.value).upper()})",
    "distinct": lambda expr, own: f"DISTINCT {_text(expr.args[0], 0)}",
    "weight": lambda expr, own: f"WEIGHT {_text(expr.args[0], 0)}",
    "filter": lambda expr, own: f"{expr.args[0]} FILTER (WHERE {expr.args[1]})",
    "when": lambda expr, own: f"{expr.args[0]} WHEN {_text(expr.args[1], 1)}",
    "subquery": lambda expr, own: f"({expr.value})",
    "exists": lambda expr, own: f"EXISTS ({expr.value})",
    "in subquery": lambda expr, own: f"{_text(expr.args[0], 5)} IN ({expr.value})",
}
