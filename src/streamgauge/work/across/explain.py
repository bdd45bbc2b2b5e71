"""EXPLAIN of a question across streams: one branch for each stream, put together at the top."""

from __future__ import annotations

from streamgauge.contracts.guarantee import EXACT
from streamgauge.plan.part import Part
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.summary import named_model
from streamgauge.synopses.choose import full_bytes
from streamgauge.work.across.offers import combined_law


def across_lines(registry: Registry, standing: Standing, place: str) -> list[tuple[int, str, str]]:
    """The plan as lines of depth, text and note."""
    query, model = standing.query, named_model(standing.model)
    size = f"{full_bytes(model):,} bytes a stream and pane"
    spends = f"spends {model.guarantee} of each stream, {size}, {place}"
    lines = [
        (0, f"Answer {query.answer}", f"owed {query.contract}"),
        (1, f"Combine {query.select} in {model!r}", spends),
    ]
    for number, part in enumerate(query.parts):
        lines += _part_lines(registry, f"p{number}", part)
    return lines


def _part_lines(registry: Registry, name: str, part: Part) -> list[tuple[int, str, str]]:
    stream = registry.stream(part.stream)
    items = ", ".join(map(str, part.by))
    lines = [(2, f"Items {name} = {items}", "spends 0")]
    if part.where is not None:
        lines.append((3, f"Where {part.where}", "spends 0"))
    columns = ", ".join(dict.fromkeys((stream.time, *part.columns)))
    depth = len(lines) + 2
    return [
        *lines,
        (depth, f"Window {part.window}", "spends 0"),
        (depth + 1, f"Scan {stream.name} ({columns})", f"{stream.source_dict().get('kind', '')}"),
    ]


def across_budget(standing: Standing) -> str:
    """What the width is a share of; the interval of each answer is often narrower."""
    query = standing.query
    union = combined_law(query, EXACT) is EXACT
    share = "pairs of rows" if query.select.name == "join_size" else "rows of all streams"
    return f"sized for {query.contract}: a share of the {'union' if union else share}"
