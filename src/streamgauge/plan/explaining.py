"""What EXPLAIN prints of queries that one stream feeds: parts that techniques put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from streamgauge.kernel.time import duration_text
from streamgauge.plan.distribution import Distribution
from streamgauge.plan.freshness import told
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import share
from streamgauge.plan.table_key import TableKey
from streamgauge.plan.technique import Explanation, Key
from streamgauge.streams.stream import Stream

Step = tuple[str, str]


def fed_explanation(
    registry: Registry,
    standing: Standing,
    steps: Sequence[Step],
    read: Iterable[str | None],
    closing: Sequence[str],
) -> Explanation:
    """The answer, the steps of a technique, and the scan of columns that it reads."""
    query = standing.query
    stream = registry.stream(query.stream)
    lines = [
        (f"Answer {query.answer}", f"owed {query.owed}"),
        *steps,
        (f"Scan {stream.name} ({', '.join(plain_columns(query, read))})", scan_note(stream)),
    ]
    fresh = told(query, [stream], registry.windows)
    tree = [(depth, text, note) for depth, (text, note) in enumerate(lines)]
    return Explanation(tree, [*closing, *([fresh] if fresh else [])])


def route_lines(routes: Mapping[str, Distribution]) -> list[str]:
    """How the rows of each stream reach the shards."""
    return [f"rows of {stream}: {route}" for stream, route in routes.items()]


def plain_columns(query: Query, read: Iterable[str | None]) -> tuple[str, ...]:
    """Columns that are read; of a computed one those that it is computed from."""
    computed = dict(query.derived)
    found = [computed[n].columns() if n in computed else (n,) for n in read if n]
    return tuple(dict.fromkeys(name for names in found for name in names))


def scan_note(stream: Stream) -> str:
    """Where rows come from, and what becomes of late ones."""
    source = stream.source_dict()
    late = {
        "drop": "late rows dropped",
        "allow": f"late rows waited for {duration_text(stream.late.allowed)}",
        "revise": f"late rows revise {duration_text(stream.late.reach)} back",
    }[stream.late.policy]
    return f"{source.get('kind', 'given')}, tick {duration_text(stream.tick)}, {late}"


def shared_words(registry: Registry, standing: Standing, key: Key) -> str:
    """How many queries share an operator."""
    plan = share(registry, registry.stream(standing.query.stream))
    sharing = len(plan.operators[key])
    return f"shared by {sharing} queries" if sharing > 1 else "not shared"


def exact_budget(standing: Standing) -> str:
    """What is left of the error that is owed where values are exact."""
    query = standing.query
    contract = query.contract
    if contract.tolerance == "exact":
        return "kept back 0 of the error: nothing here is approximate"
    spared = min(query.answer.by, contract.within)
    kept = contract.within - spared
    why = "answers that moved less are not given again" if spared else "values are exact"
    return f"kept back {kept:g} of {contract.within:g}: {why}"


def aggregate_step(standing: Standing, key: TableKey, shards: int) -> Step:
    """The aggregate of a table, and where it is kept."""
    return (f"Aggregate {standing.query.select}{by_groups(key)}", f"spends 0, {key.place(shards)}")


def by_groups(key: TableKey) -> str:
    """The columns that a table groups by, in words."""
    return f" by {', '.join(key.group_by)}" if key.group_by else ""


def window_step(registry: Registry, query: Query, note: str) -> Step:
    """The window of a query, by its name where it has one."""
    named = f" ({query.window})" if isinstance(query.window, str) else ""
    return (f"Window {registry.window_of(query)}{named}", note)


def where_steps(key: TableKey) -> list[Step]:
    """The filter of a table, if it has one."""
    return [(f"Where {key.predicate()}", "spends 0")] if key.where else []


def read_by_table(stream: Stream, key: TableKey) -> tuple[str | None, ...]:
    """Columns that a table reads, as its query names them."""
    return (stream.time, *key.by, *key.group_by, *key.filtered(), key.x, key.y, key.weight)


def begin_words(key: TableKey) -> str:
    """Whether panes begin with kept history."""
    return "from history" if not key.born else f"from epoch {key.born}"
