"""EXPLAIN of a question across streams: one branch for each stream, put together at the top."""

from __future__ import annotations

from streamgauge.plan.across import owner
from streamgauge.plan.part import Part
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.summary import named_model
from streamgauge.synopses.choose import full_bytes


def across_lines(
    registry: Registry, standing: Standing, *, shards: int
) -> list[tuple[int, str, str]]:
    """The plan as lines of depth, text and note."""
    query, model = standing.query, named_model(standing.model)
    size = f"{full_bytes(model):,} bytes a stream and pane"
    place = f"shard {owner(standing.name, shards)}"
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
    """What the bar depends on, which nobody knows beforehand."""
    contract = standing.query.contract
    return (
        f"sized for {contract} of one stream alone; the bar of each answer says how much is known "
        "of them together, and whether it keeps the contract"
    )
