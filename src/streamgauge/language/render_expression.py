"""From `Expr` back to text, with brackets where another reading would be possible."""

from __future__ import annotations

from collections.abc import Callable

from streamgauge.kernel.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, Duration, instant_text
from streamgauge.language.statements import Query
from streamgauge.language.words import quoted
from streamgauge.operators.expression import ARITHMETIC, COMPARISONS, Expr

_UNITS = (
    (DAY, "DAY"),
    (HOUR, "HOUR"),
    (MINUTE, "MINUTE"),
    (SECOND, "SECOND"),
    (MILLISECOND, "MILLISECOND"),
    (1, "MICROSECOND"),
)

_WHEN, _OR, _AND, _NOT, _COMPARED, _JOINED, _SUM, _PRODUCT, _SIGNED, _ATOM = range(10)
_BINDING = {
    "when": _WHEN, "or": _OR, "and": _AND, "not": _NOT,
    **dict.fromkeys((*COMPARISONS, "like", "in", "in subquery", "between", "is null"), _COMPARED),
    "||": _JOINED, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT,
    "neg": _SIGNED,
}  # fmt: skip

QueryText = Callable[[Query], str]


def duration_words(span: Duration) -> str:
    """A duration in one unit.

    >>> duration_words(90 * MINUTE), duration_words(SECOND)
    ('90 MINUTES', '1 SECOND')
    """
    width, unit = next((w, u) for w, u in _UNITS if span % w == 0)
    count = span // width
    return f"{count} {unit}" if count == 1 else f"{count} {unit}S"


def text_words(text: str) -> str:
    """A text in quotes."""
    return "'" + text.replace("'", "''") + "'"


def constant_words(value: float | str | None) -> str:
    """A constant: NULL, TRUE, FALSE, a number or a text."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return text_words(value) if isinstance(value, str) else repr(value)


class ExpressionText:
    """Writes expressions; subqueries are written by `query`.

    Examples
    --------
    >>> write = ExpressionText(str)
    >>> a, b = Expr("column", value="a"), Expr("column", value="b")
    >>> write(Expr("*", (Expr("+", (a, b)), b)))
    '(a + b) * b'
    """

    def __init__(self, query: QueryText) -> None:
        self.query = query

    def __call__(self, expr: Expr, outer: int = _WHEN) -> str:
        """The text of an expression that stands where `outer` binds."""
        own = _BINDING.get(expr.op, _ATOM)
        if expr.op == "literal" and type(expr.value) in (int, float) and expr.value < 0:
            own = _SIGNED
        text = self._plain(expr, own)
        return f"({text})" if own < outer else text

    def _plain(self, expr: Expr, own: int) -> str:
        op, args = expr.op, expr.args
        if op in ("and", "or", "||", *ARITHMETIC):
            return f"{self(args[0], own)} {op.upper()} {self(args[1], own + 1)}"
        if op in COMPARISONS or op == "like":
            return f"{self(args[0], _JOINED)} {op.upper()} {self(args[1], _JOINED)}"
        if op in ("in", "between", "is null", "in subquery"):
            return self._tested(expr)
        if op in ("call", "aggregate", "filter", "distinct", "weight", "when"):
            return self._called(expr)
        return self._atom(expr)

    def _tested(self, expr: Expr) -> str:
        value, *rest = (self(arg, _JOINED) for arg in expr.args)
        if expr.op == "is null":
            return f"{value} IS NULL"
        if expr.op == "between":
            return f"{value} BETWEEN {rest[0]} AND {rest[1]}"
        if expr.op == "in subquery":
            return f"{value} IN ({self.query(expr.value)})"
        return f"{value} IN ({', '.join(self(arg) for arg in expr.args[1:])})"

    def _called(self, expr: Expr) -> str:
        op, args = expr.op, expr.args
        if op == "filter":
            return f"{self(args[0])} FILTER (WHERE {self(args[1])})"
        if op == "when":
            return f"{self(args[0], _OR)} WHEN {self(args[1], _OR)}"
        if op in ("distinct", "weight"):
            return f"{op.upper()} {self(args[0])}"
        inside = ""
        for i, arg in enumerate(args):
            inside += (" " if arg.op == "weight" else ", ") * (i > 0) + self(arg)
        if op == "aggregate":
            return f"{str(expr.value).upper()}({inside if args else '*'})"
        return f"{quoted(expr.value)}({inside})"

    def _atom(self, expr: Expr) -> str:
        op, args, value = expr.op, expr.args, expr.value
        prefix = f"{quoted(expr.table)}." if expr.table else ""
        if op == "column":
            return prefix + quoted(value)
        if op == "star":
            return f"{prefix}*"
        if op == "parameter":
            return f"${value}"
        if op == "literal":
            return constant_words(value)
        if op == "duration":
            return f"INTERVAL {duration_words(value)}"
        if op == "instant":
            return f"TIMESTAMP '{instant_text(value)}'"
        if op in ("not", "neg"):
            return f"NOT {self(args[0], _NOT)}" if op == "not" else f"-{self(args[0], _ATOM)}"
        if op == "cast":
            return f"CAST({self(args[0])} AS {value.upper()})"
        if op == "case":
            return self._case(expr)
        inside = self.query(value)
        return f"EXISTS ({inside})" if op == "exists" else f"({inside})"

    def _case(self, expr: Expr) -> str:
        # Brackets keep the WHEN of an aggregate apart from those of the branches.
        *branches, otherwise = (self(arg, _OR) for arg in expr.args)
        pairs = zip(branches[::2], branches[1::2], strict=True)
        text = " ".join(f"WHEN {when} THEN {then}" for when, then in pairs)
        return f"CASE {text} ELSE {otherwise} END"
