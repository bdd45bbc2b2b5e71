"""From the trees of windows, terms and the options of a stream to their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from lark import Token

from streamgauge.kernel.errors import UnsupportedWindow
from streamgauge.kernel.time import Duration
from streamgauge.language.alternatives import OPTIONS as SOURCE_OPTIONS
from streamgauge.language.constants import positive
from streamgauge.language.mistakes import Misuse
from streamgauge.language.statements import AlertTarget, Preference, Terms
from streamgauge.operators.expression import Expr
from streamgauge.sources.source_kind import Option, SourceKind
from streamgauge.sources.table import DECLARED
from streamgauge.targets.table import KINDS, OF_ALERTS, OF_SINKS
from streamgauge.targets.target_kind import TargetKind
from streamgauge.windows.window import (
    Decay,
    Landmark,
    Now,
    Partition,
    Rows,
    Session,
    Unbounded,
    Window,
)

MICROSECONDS = 1_000_000
BYTES = {
    "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30,
}  # fmt: skip
CORES = {"percent": 0.01, "core": 1.0, "cores": 1.0}

Change = tuple[str, dict[str, Any]]


def _tried(build: Callable[..., Window], *args: Any) -> Window:
    try:
        return build(*args)
    except UnsupportedWindow as error:
        raise Misuse(error.what, "a window is written [RANGE 5 MINUTES] or [ROWS 100]") from None


def _rows(n: int) -> Window:
    return _tried(Rows, n)


def _range(length: Duration, slide: Duration | None) -> Window:
    positive(length, "RANGE")
    if slide is not None:
        positive(slide, "SLIDE")
    return Window("range", length=length, slide=slide)


def _session(gap: Duration, by: tuple[str, ...] | None) -> Window:
    return replace(Session(1, by or ()), length=positive(gap, "SESSION"))


def _decay(half_life: Duration) -> Window:
    return replace(Decay(1), length=positive(half_life, "DECAY"))


WINDOWS: dict[str, Callable[..., Any]] = {
    "window": lambda window: window,
    "now": Now,
    "rows": _rows,
    "all_rows": Unbounded,
    "range": _range,
    "partition": lambda by, n: _tried(Partition, by, n),
    "since": Landmark,
    "session": _session,
    "decay": _decay,
    "window_name": lambda name: name,
}


def _within(guaranteed: bool | None, width: float, unit: str | None) -> Change:
    given = {"within": float(width), "unit": unit or "", "guaranteed": bool(guaranteed)}
    if unit == "percent rank":
        given |= {"within": width / 100.0, "unit": "rank"}
    return "WITHIN", given


def _share(share: float, percent: bool | None) -> float:
    given = share / 100.0 if percent else float(share)
    if not 0.0 < given <= 1.0:
        raise Misuse("a confidence lies between 0 and 1", "write CONFIDENCE 95% or CONFIDENCE 0.95")
    return given


def _confidence(share: float, percent: bool | None) -> Change:
    return "CONFIDENCE", {"confidence": _share(share, percent)}


def _budget(name: str, amount: float, unit: Token | None) -> tuple[str, float]:
    kind = name.lower()
    if kind == "probes" and amount != int(amount):
        raise Misuse(f"{amount:g} probes are not a whole number", "write BUDGET PROBES 500")
    if unit is None:
        return kind, float(amount)
    if kind == "cpu" and unit.lower() in CORES:
        return kind, amount * CORES[unit.lower()]
    if kind != "memory" or unit.lower() not in BYTES:
        raise Misuse(f"unknown unit {str(unit)!r} of a budget", "write BUDGET MEMORY 1 MB, CPU 0.5")
    return kind, float(amount * BYTES[unit.lower()])


def _budget_percent(name: str, amount: float) -> tuple[str, float]:
    if name.lower() != "cpu":
        raise Misuse(f"a share of {name.upper()} says nothing", "only of CPU: BUDGET CPU 20%")
    return "cpu", amount / 100.0


def _budgets(*pairs: tuple[str, float]) -> Change:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise Misuse("a budget names one thing twice", "give each limit once")
    return "BUDGET", {"budget": pairs}


def _preference(
    order: str | None, exprs: tuple[Expr, ...], fade: float | None, window: Duration | None
) -> Change:
    span = None if window is None else positive(window, "WINDOW")
    faded = 1.0 if fade is None else float(fade)
    given = Preference(order or "desc", exprs[0], faded, span, exprs[1:])
    return "WITH PREFERENCE", {"preference": given}


def _on_change(by: float | None) -> Change:
    return "EVERY, ON CHANGE or ON CLOSE", {"change": 0.0 if by is None else float(by)}


TERMS: dict[str, Callable[..., Any]] = {
    "every": lambda t: ("EVERY, ON CHANGE or ON CLOSE", {"every": positive(t, "EVERY")}),
    "on_change": _on_change,
    "on_close": lambda: ("EVERY, ON CHANGE or ON CLOSE", {"close": True}),
    "within": _within,
    "exact": lambda: ("WITHIN", {"within": 0.0}),
    "confidence": _confidence,
    "throughout": lambda: ("THROUGHOUT", {"throughout": True}),
    "by_timer": lambda: ("BY TIMER or BY WATCH", {"regime": "timer"}),
    "by_watch": lambda: ("BY TIMER or BY WATCH", {"regime": "watch"}),
    "with_trend": lambda: ("WITH TREND", {"trend": True}),
    "fresh": lambda t: ("FRESH", {"fresh": positive(t, "FRESH")}),
    "budgets": _budgets,
    "budget": _budget,
    "budget_percent": _budget_percent,
    "with_history": lambda: ("WITH HISTORY or FROM NOW", {"history": True}),
    "from_now": lambda: ("WITH HISTORY or FROM NOW", {"history": False}),
    "emit": lambda mode: ("EMIT", {"mode": mode}),
    "preference": _preference,
    "guaranteed": lambda: True,
    "percent": lambda: True,
    "unit_percent": lambda: "percent",
    "unit_rank": lambda: "rank",
    "unit_percent_rank": lambda: "percent rank",
    "mode_store": lambda: "store",
    "mode_append": lambda: "append",
    "mode_changes": lambda: "changes",
    "prefer_asc": lambda: "asc",
    "prefer_desc": lambda: "desc",
    "prefer_weighted": lambda: "weighted",
}


def terms(changes: tuple[Change, ...]) -> Terms:
    """The terms together; each may be written once."""
    given: dict[str, Any] = {}
    seen: set[str] = set()
    for clause, fields in changes:
        if clause in seen:
            raise Misuse(f"{clause} is written twice", "write each term once")
        seen.add(clause)
        given |= fields
    return Terms(**given)


# A source: its kind, its address, and what else stands before the options.
Written = tuple[str, str, tuple[tuple[str, Any], ...]]


def _positive_option(name: str) -> Callable[[Duration], tuple[str, Any]]:
    return lambda span: (name, positive(span, name.upper()))


def _capacity(reads: int) -> tuple[str, Any]:
    if reads < 1:
        raise Misuse("a capacity of no reads evaluates nothing", "write CAPACITY 100000")
    return "capacity", reads


def _option(option: Option) -> Callable[..., tuple[str, Any]]:
    """Makes an option of a source from what is written."""

    def build(*written: Any) -> tuple[str, Any]:
        value: Any = written if option.takes == "texts" else written[0]
        if option.takes == "positive":
            value = positive(value, option.words)
        if option.takes == "word":
            value = value.lower()
        return option.name, option.read(value) if option.read else value

    return build


def _choice(name: str, value: Any) -> Callable[[], tuple[str, Any]]:
    return lambda: (name, value)


def _options() -> Iterator[tuple[str, Callable[..., Any]]]:
    for option in SOURCE_OPTIONS.values():
        yield f"option_{option.name}", _option(option)
        for number, (_word, value) in enumerate(option.choices):
            yield f"option_{option.name}_{number}", _choice(option.name, value)


OPTIONS: dict[str, Callable[..., Any]] = {
    **dict(_options()),
    "option_key": lambda names: ("key", names),
    "option_time": lambda name: ("time", name),
    "option_tick": _positive_option("tick"),
    "option_gap": _positive_option("gap"),
    "option_keep": lambda span: ("keep", span),
    "option_future": lambda span: ("future", span),
    "option_any_future": lambda: ("future", None),
    "option_drop": lambda: ("late", ("drop",)),
    "option_allow": lambda span: ("late", ("allow", span)),
    "option_revise": lambda span: ("late", ("revise", span)),
    "option_changes": lambda name: ("changes", name),
    "option_capacity": _capacity,
    "option_width": lambda name: ("width", name),
    "option_user": lambda name: ("user", name),
    "option_password_file": lambda path: ("password_file", path),
    "option_password_env": lambda name: ("password_env", name),
    "option_ca": lambda path: ("ca", path),
    "option_mechanism": lambda name: ("mechanism", name),
    "stream_option": lambda login: login,
    "option_idle": _positive_option("idle"),
}


def _from(kind: SourceKind) -> Callable[..., Written]:
    """Makes the source of a statement from what stands after FROM."""

    def build(*written: Any) -> Written:
        rest = list(written)
        path = (rest.pop(0) or "") if kind.address else ""
        then = rest.pop() if kind.then else None
        numbers = [number for number in rest if number is not None]
        if len(numbers) > len(kind.numbers):
            raise Misuse(*kind.too_many)
        names = (option.name for option in kind.numbers)
        given = tuple(zip(names, numbers, strict=False))
        after = ((kind.then.name, then),) if kind.then and then is not None else ()
        return kind.name, path, (*given, *after)

    return build


SOURCES: dict[str, Callable[..., Any]] = {
    f"from_{name}": _from(kind) for name, kind in DECLARED.items()
}

SUMMARIES: dict[str, Callable[..., Any]] = {
    "summary_kind": lambda name: ("kind", name),
    "summary_confidence": lambda share, percent: ("confidence", _share(share, percent)),
    "summary_longest": lambda span: ("longest", positive(span, "MAXLENGTH")),
    "summary_buckets": lambda count: ("buckets", count),
}


def _crossing(
    sure: str, side: str, level: float, back: str | None, clear: float | None
) -> tuple[str, float, float | None]:
    if clear is not None:
        other = "below" if side == "above" else "above"
        inside = clear <= level if side == "above" else clear >= level
        if back == side or not inside:
            raise Misuse(
                f"CLEAR {str(back).upper()} {clear:g} does not end {side.upper()} {level:g}",
                f"write CLEAR {other.upper()} and a number that is not {side} {level:g}",
            )
        clear = float(clear)
    return f"{sure} {side}", float(level), clear


def _delivered(kind: TargetKind) -> Callable[..., AlertTarget]:
    def build(address: str, *rest: Any) -> AlertTarget:
        detail, login = (rest[0], rest[1:]) if kind.detail else ("", rest)
        return kind.name, address, detail, login

    return build


ALERTS: dict[str, Callable[..., Any]] = {
    "watched_query": lambda name, group: (name, group or ()),
    "watched_group": lambda *parts: parts,
    "watched_audit": lambda: ("", ()),
    "crossing": _crossing,
    "contract_broken": lambda: ("contract broken", None, None),
    "interrupted": lambda: ("interrupted", None, None),
    "alarm": lambda: ("alarm", None, None),
    "certainly": lambda: "certainly",
    "possibly": lambda: "possibly",
    "above": lambda: "above",
    "below": lambda: "below",
    "level": lambda number: number,
    "negative_level": lambda number: -number,
    **{f"to_{name}": _delivered(KINDS[name]) for name in OF_ALERTS},
}


Outlet = tuple[tuple[str, str, str], tuple[tuple[str, str], ...]]


def _let_out(kind: TargetKind) -> Callable[..., Outlet]:
    def build(address: str, *rest: Any) -> Outlet:
        place, rest = (rest[0], rest[1:]) if kind.detail else ("", rest)
        form, login = (rest[0], rest[1:]) if kind.formats else (None, rest)
        if form is not None and form.lower() not in kind.formats:
            raise Misuse(
                f"answers are not written as {form}",
                f"write FORMAT {kind.formats[0]}, or leave it out",
            )
        return (kind.name, address, place), login

    return build


SINKS: dict[str, Callable[..., Any]] = {
    "delivered_queries": lambda names: names,
    "delivered_all": lambda: (),
    "delivered_history": lambda: True,
    **{f"out_{name}": _let_out(KINDS[name]) for name in OF_SINKS},
}

BUILDERS = {**WINDOWS, **TERMS, **SOURCES, **OPTIONS, **SUMMARIES, **ALERTS, **SINKS}
