"""Pictures of answers for notebooks: strings of HTML and SVG, every text in them escaped.

Nothing is loaded and nothing runs in them. Letters have the colour of the page around, and the
colours of charges can be told apart on white and on black.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from streamgauge.kernel.time import instant_text

if TYPE_CHECKING:
    from streamgauge.contracts.answer import Answer, Charge
    from streamgauge.contracts.row_change import RowChange

Scale: TypeAlias = tuple[float, float]

COLOURS = (
    "#3f81de", "#c0701a", "#1d9273", "#a65bc4", "#cc4f68", "#7f8a2b", "#2a8fa6", "#7c66da",
)  # fmt: skip
# Charges with a colour of their own, whichever else an answer carries; others share those left.
KNOWN = (
    "deferral by watch", "late rows", "deferral by timer", "interruption", "promising", "filter",
)  # fmt: skip
PLAIN, GOOD, BAD = "#7e8896", "#2c9160", "#c0701a"
ROWS = 50
WIDTH, HEIGHT = 200, 18

_LETTERS = "font:14px/1.45 system-ui,'Segoe UI','DejaVu Sans',sans-serif"
_FIGURES = "font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-variant-numeric:tabular-nums"
_FAINT = "opacity:.72;font-size:13px"
_LINE = "border:0;border-bottom:1px solid rgba(128,136,150,.35)"
_CELL = f"text-align:left;padding:3px 14px 3px 0;white-space:nowrap;vertical-align:middle;{_LINE}"
_HEAD = f"{_CELL};font-weight:600;font-size:12px;opacity:.72"


def number_text(value: float | None) -> str:
    """A number with at most six digits that matter; a whole one with all of its own.

    >>> number_text(1234567.891), number_text(0.25), number_text(None), number_text(2.5e12)
    ('1,234,570', '0.25', 'nothing', '2.500e+12')
    >>> number_text(1234567.0)
    '1,234,567'
    """
    if value is None or math.isnan(value):
        return "nothing"
    if math.isinf(value):
        return "unbounded"
    if value != 0 and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.3e}"
    if float(value).is_integer():
        return f"{value:,.0f}"
    whole, _, rest = f"{float(f'{value:.6g}'):,.10f}".partition(".")
    return f"{whole}.{rest}".rstrip("0").rstrip(".")


def percent_text(share: float) -> str:
    """A share in percent, with at most four digits that matter.

    >>> percent_text(0.95)
    '95 %'
    """
    return f"{100 * share:.4g} %"


def shown_coverage(coverage: float) -> float:
    """A coverage as it is shown: what is not whole does not round to 100 %.

    >>> shown_coverage(0.5), shown_coverage(1 - 1e-9), shown_coverage(1.0)
    (0.5, 0.999, 1.0)
    """
    return coverage if coverage == 1.0 else min(coverage, 0.999)


def interval_text(answer: Answer) -> str:
    """The bar in words, such as [101.2, 102.2] at 95 % confidence."""
    if answer.value is None:
        return "no bar"
    sure = f" {answer.sureness(' ')}" if answer.confidence < 1 else ""
    return f"[{number_text(answer.low)}, {number_text(answer.high)}]{sure}"


def spoken(answer: Answer) -> str:
    """An answer as it is read aloud."""
    paid = ", ".join(_charge_text(charge) for charge in answer.charges)
    widened = f", widened by {paid}" if paid else ""
    met = "contract met" if answer.contract_met else "contract not met"
    return f"{number_text(answer.value)} in {interval_text(answer)}, {answer.basis}{widened}, {met}"


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each charge; known ones always have the same, others take what comes next."""
    others = sorted({*names} - {*KNOWN})
    places = {name: place for place, name in enumerate([*KNOWN, *others])}
    return {name: COLOURS[places[name] % len(COLOURS)] for name in names}


def around(answers: Iterable[Answer]) -> Scale:
    """A scale that holds some answers, with a little room at both ends."""
    ends = [
        end
        for answer in answers
        if answer.value is not None
        for end in (answer.low, answer.value, answer.high)
        if math.isfinite(end)
    ]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    room = 0.08 * (high - low) or 0.05 * abs(high) or 0.5
    return low - room, high + room


def bar_svg(answer: Answer, scale: Scale | None = None, width: int = WIDTH) -> str:
    """The bar of an answer on a scale, split by who widened it."""
    label = escape(spoken(answer), quote=True)
    middle = HEIGHT / 2 - 1
    drawn = _rect(0, middle, width, 2, f"fill:{PLAIN};fill-opacity:.35")
    if answer.value is not None:
        low, high = scale or around([answer])
        span = (high - low) or 1.0

        def place(value: float) -> float:
            at = width * (value - low) / span if math.isfinite(value) else width * (value > 0)
            return min(float(width), max(0.0, at))

        begin, size = place(answer.low), max(place(answer.high) - place(answer.low), 2.0)
        drawn += _pieces(answer, min(begin, width - size), size)
        drawn += _rect(place(answer.value) - 1, 0, 2, HEIGHT, "fill:currentColor")
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width} {HEIGHT}" width="{width}" '
        f'height="{HEIGHT}" style="overflow:visible;flex:none;vertical-align:middle">'
        f"<title>{label}</title>{drawn}</svg>"
    )


def _pieces(answer: Answer, low: float, width: float) -> str:
    """Parts of a bar in proportion to its charges; one plain part when nobody is charged."""
    charged = [charge for charge in answer.charges if charge.width > 0]
    if not charged:
        return _rect(low, 4, width, HEIGHT - 8, f"fill:{PLAIN}", interval_text(answer))
    bounded = [charge.width for charge in charged if math.isfinite(charge.width)]
    largest = max(bounded, default=1.0)
    sizes = [charge.width if math.isfinite(charge.width) else largest for charge in charged]
    paint = colours([charge.by for charge in charged])
    drawn, x = "", low
    for charge, size in zip(charged, sizes, strict=True):
        part = width * size / sum(sizes)
        look = f"fill:{paint[charge.by]}"
        drawn += _rect(x, 4, part, HEIGHT - 8, look, _charge_text(charge))
        x += part
    return drawn


def _rect(x: float, y: float, width: float, height: float, look: str, title: str = "") -> str:
    inner = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{height:g}" '
        f'style="{look}">{inner}</rect>'
    )


def _charge_text(charge: Charge) -> str:
    width = number_text(charge.width) if math.isfinite(charge.width) else "without bound"
    chance = f", fails {percent_text(charge.delta)}" if charge.delta else ""
    return f"{charge.by} {width}{chance}"


def _charges(answer: Answer) -> str:
    """Who widened the bar, each with its colour and width."""
    paint = colours([charge.by for charge in answer.charges if charge.width > 0])
    square = "display:inline-block;width:10px;height:10px;margin-right:5px;background"
    return "".join(
        f'<span style="margin-right:14px;white-space:nowrap">'
        f'<span style="{square}:{paint.get(charge.by, PLAIN)}"></span>'
        f"{escape(_charge_text(charge))}</span>"
        for charge in answer.charges
    )


def _contract(met: bool, word: str = "") -> str:
    """The sign has a colour, the words that of the page: no one colour reads well on all."""
    colour, sign, text = (GOOD, "&#10003;", "met") if met else (BAD, "&#10007;", "not met")
    return (
        f'<span style="white-space:nowrap"><span aria-hidden="true" style="color:{colour};'
        f'font-weight:700">{sign}</span> {word}{text}</span>'
    )


def _facts(answer: Answer) -> list[str]:
    """How it was made; a basis that is among the charges has been said."""
    said = answer.basis in (charge.by for charge in answer.charges)
    basis = [] if said else [answer.basis]
    covers = (
        []
        if answer.coverage == 1.0
        else [f"covers {percent_text(shown_coverage(answer.coverage))}"]
    )
    looked = [] if answer.share == 1.0 else [f"looked at {percent_text(answer.share)}"]
    return [*basis, *covers, *looked]


def group_text(group: tuple[Any, ...]) -> str:
    """The key of a group as people read it."""
    return ", ".join("null" if part is None else str(part) for part in group)


def answer_html(answer: Answer) -> str:
    """One answer: value, bar, who widened it, whether the contract holds."""
    group = f"<span>{escape(group_text(answer.group))}</span>" if answer.group else ""
    facts = [*_facts(answer), f"as of {instant_text(answer.as_of)}"]
    paid = f'<div style="font-size:13px">{_charges(answer)}</div>' if answer.charges else ""
    return (
        f'<div style="{_LETTERS};padding:4px 0">'
        f'<div style="display:flex;gap:10px;align-items:baseline">'
        f"<strong>{escape(answer.query)}</strong>{group}</div>"
        f'<div style="display:flex;gap:14px;align-items:center;flex-wrap:wrap">'
        f'<span style="{_FIGURES};font-size:22px;font-weight:600">'
        f"{number_text(answer.value)}</span>"
        f'{bar_svg(answer)}<span style="{_FIGURES};font-size:13px">'
        f"{escape(interval_text(answer))}</span></div>"
        f"{paid}"
        f'<div style="font-size:13px">{_contract(answer.contract_met, "contract ")} '
        f'<span style="{_FAINT}">&middot; {escape(" · ".join(facts))}</span></div></div>'
    )


def answers_html(answers: Sequence[Answer]) -> str:
    """Many answers, a line each; the bars of one query are on one scale."""
    scales: dict[str, list[Answer]] = {}
    for answer in answers:
        scales.setdefault(answer.query, []).append(answer)
    common = {query: around(found) for query, found in scales.items()}
    grouped = any(answer.group for answer in answers)
    titles = ["query", *(["group"] if grouped else []), "value", "bar", ""]
    titles += ["widened by, basis", "contract", "as of"]
    rows = []
    for answer in answers[:ROWS]:
        group = [escape(group_text(answer.group))] if grouped else []
        value = f'<span style="{_FIGURES};font-weight:600">{number_text(answer.value)}</span>'
        bounds = f'<span style="{_FIGURES};font-size:13px">{escape(interval_text(answer))}</span>'
        rows.append(
            [
                f"<strong>{escape(answer.query)}</strong>",
                *group,
                value,
                bar_svg(answer, common[answer.query], 140),
                bounds,
                _charges(answer) + escape(", ".join(_facts(answer))),
                _contract(answer.contract_met),
                escape(instant_text(answer.as_of)),
            ]
        )
    return _table(titles, rows, len(answers) - len(rows), right=("value",))


def row_change_html(change: RowChange) -> str:
    """A row that came or went."""
    known = change.as_dict()
    sign = "came" if change.count > 0 else "went"
    times = f" {abs(change.count)} times" if abs(change.count) != 1 else ""
    titles = [change.query, *(str(name) for name in known["row"]), "contract", "as of"]
    cells = [escape(cell_text(value)) for value in known["row"].values()]
    as_of = escape(known["as_of"])
    row = [f"<strong>{sign}{times}</strong>", *cells, _contract(change.contract_met), as_of]
    notes = [f"{change.missing:,} late rows are missing"] if change.missing else []
    notes += [] if change.coverage == 1.0 else [f"covers {percent_text(change.coverage)}"]
    if change.share < 1.0:
        unseen = f"about {number_text(change.unseen)} rows unseen"
        notes.append(f"looked at {percent_text(change.share)}, {unseen}")
    return _table(titles, [row]) + "".join(_note(note) for note in notes)


def facts_html(title: str, facts: dict[str, Any]) -> str:
    """What is known of one thing, a line for each fact."""
    lines = "".join(
        f'<tr style="background:none"><th scope="row" style="{_HEAD}">{escape(name)}</th>'
        f'<td style="{_CELL};white-space:normal">{escape(cell_text(fact))}</td></tr>'
        for name, fact in facts.items()
    )
    caption = f'<caption style="text-align:left;padding:0 0 4px">{_strong(title)}</caption>'
    return f'<table style="{_LETTERS};border-collapse:collapse;border:0">{caption}{lines}</table>'


def _strong(text: str) -> str:
    return f'<strong style="color:inherit">{escape(text)}</strong>'


def table_html(titles: Sequence[str], rows: Iterable[Sequence[Any]], more: int = 0) -> str:
    """Any table of plain values."""
    texts = [[escape(cell_text(value)) for value in row] for row in rows]
    return _table(titles, texts, more)


def plan_html(text: str) -> str:
    """A plan as it is printed, its first line stressed."""
    first, _, rest = text.partition("\n")
    look = f"{_FIGURES};font-size:13px;line-height:1.5;white-space:pre;overflow:auto;margin:0"
    return f'<pre style="{look}"><strong>{escape(first)}</strong>\n{escape(rest)}</pre>'


def cell_text(value: Any) -> str:
    """A value as a cell shows it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return number_text(value) if isinstance(value, float) else str(value)


def _note(text: str) -> str:
    return f'<div style="{_LETTERS};{_FAINT}">{escape(text)}</div>'


def _table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    more: int = 0,
    right: tuple[str, ...] = (),
) -> str:
    """Cells that are HTML already, under titles that are not."""
    sides = [";text-align:right" if title in right else "" for title in titles]
    head = "".join(
        f'<th scope="col" style="{_HEAD}{side}">{escape(title)}</th>'
        if title
        else f'<td style="{_HEAD}"></td>'
        for title, side in zip(titles, sides, strict=True)
    )
    body = "".join(
        '<tr style="background:none">'
        + "".join(
            f'<td style="{_CELL}{side}">{cell}</td>' for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    foot = _note(f"and {more:,} more") if more > 0 else ""
    return (
        f'<div style="overflow-x:auto"><table style="{_LETTERS};border-collapse:collapse;border:0">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{foot}"
    )
