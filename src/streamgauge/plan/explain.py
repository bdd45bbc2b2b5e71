"""EXPLAIN: the plan of a standing query, who shares its work and who spends the error."""

from __future__ import annotations

from streamgauge.kernel.time import duration_text
from streamgauge.plan.bounds import bounds_budget, bounds_lines
from streamgauge.plan.deferral import deferred
from streamgauge.plan.explain_across import across_budget, across_lines
from streamgauge.plan.explain_deferral import deferral_budget, deferral_lines
from streamgauge.plan.explain_promise import aggregate_budget, aggregate_lines, promise_lines
from streamgauge.plan.freshness import told
from streamgauge.plan.memory import growth
from streamgauge.plan.promising import column_of
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import (
    BoundsKey,
    DeferralKey,
    PieceKey,
    PortfolioKey,
    piece_of,
    share,
)
from streamgauge.plan.summary import named_model
from streamgauge.plan.techniques import taken
from streamgauge.streams.stream import Stream
from streamgauge.synopses.choose import Refusal, full_bytes


def explain(registry: Registry, name: str, *, shards: int, epoch: int) -> str:
    """The plan of a query as text, outermost first, as seen after an epoch."""
    standing = registry.query(name)
    query = standing.query
    if query.parts:
        tree = across_lines(registry, standing, shards=shards)
        return f"{_title(standing, epoch)}\n{_body(tree)}\n{across_budget(standing)}"
    if query.promise is not None:
        return _promising(registry, standing, shards, epoch)
    stream = registry.stream(query.stream)
    key = piece_of(registry, standing)
    plan = share(registry, stream)
    sharing = len(plan.standings(key))
    lines = [
        (f"Answer {query.answer}", f"owed {query.owed}"),
        *_evaluation(registry, name, key, sharing, shards),
        (f"Scan {stream.name} ({', '.join(_columns(stream, key, query))})", _scan_note(stream)),
    ]
    tree = [(depth, text, note) for depth, (text, note) in enumerate(lines)]
    fresh = told(query, [stream], registry.windows)
    bounds = isinstance(key, BoundsKey)
    budget = bounds_budget(query) if bounds else _budget(standing)
    budget += f"\n{fresh}" if fresh else ""
    return f"{_title(standing, epoch)}\n{_body(tree)}\n{budget}"


def _promising(registry: Registry, standing: Standing, shards: int, epoch: int) -> str:
    query, stream = standing.query, registry.stream(standing.query.stream)
    read = [() if query.where is None else query.where.columns(), (query.select.x,)]
    used = [name for names in read for name in names if name is not None]
    assert query.promise is not None, "only of promising queries"
    used.append(column_of(query.promise))
    computed = dict(query.derived)
    plain = [computed[name].columns() if name in computed else (name,) for name in used]
    names = dict.fromkeys((stream.time, *(name for part in plain for name in part)))
    lines = [
        (f"Answer {query.answer}", f"owed {query.owed}"),
        *aggregate_lines(registry, standing, shards),
        (f"Scan {stream.name} ({', '.join(names)})", _scan_note(stream)),
    ]
    tree = [(depth, text, note) for depth, (text, note) in enumerate(lines)]
    fresh = told(query, [stream], registry.windows)
    rest = [
        *promise_lines(query, registry, shards),
        aggregate_budget(query),
        *([fresh] * bool(fresh)),
    ]
    return "\n".join([_title(standing, epoch), _body(tree), *rest])


def _title(standing: Standing, epoch: int) -> str:
    since = f"since epoch {standing.born}" if standing.born <= epoch else "from the next epoch"
    return f"{standing.name} version {standing.version}, {standing.status}, {since}"


def _body(tree: list[tuple[int, str, str]]) -> str:
    """Lines of depth, text and note, with the notes in one column."""
    width = max(len(text) + 2 * depth for depth, text, _ in tree) + 4
    return "\n".join(f"{'  ' * depth}{text}".ljust(width) + note for depth, text, note in tree)


def _budget(standing: Standing) -> str:
    """What is left of the error that is owed, and what else was thought of."""
    contract = standing.query.contract
    if contract.tolerance == "exact":
        return "kept back 0 of the error: nothing here is approximate"
    if deferred(standing.query):
        return deferral_budget(standing.query)
    if not standing.model:
        spared = min(standing.query.answer.by, contract.within)
        kept = contract.within - spared
        why = "answers that moved less are not given again" if spared else "values are exact"
        return f"kept back {kept:g} of {contract.within:g}: {why}"
    guarantee = named_model(standing.model).guarantee
    chance = max(0.0, round(1.0 - contract.confidence - guarantee.delta, 9))
    kept = max(0.0, contract.within - guarantee.epsilon)
    lines = [
        f"kept back {kept:.3g} of {contract.within:g}, {100 * chance:.3g}% of the chance to fail"
    ]
    lines += [f"not {other.name}: {other.reason}" for other in _others(standing)]
    return "\n".join(lines)


def _others(standing: Standing) -> list[Refusal]:
    """Synopses that would hold the contract too, and why another was chosen."""
    refused = taken(standing.query).others
    return [other for other in refused if other.reason.startswith("takes")]


def _evaluation(
    registry: Registry, name: str, key: PieceKey, sharing: int, shards: int
) -> list[tuple[str, str]]:
    standing = registry.query(name)
    query = standing.query
    shared = f"shared by {sharing} queries" if sharing > 1 else "not shared"
    if isinstance(key, DeferralKey):
        return deferral_lines(standing, shared, registry.stream(query.stream).capacity)
    if isinstance(key, BoundsKey):
        families = query.members is not None or query.group_by
        single = f"shard {standing.id % shards} of {shards}"
        return bounds_lines(
            standing, shared, f"groups over {shards} shards" if families else single
        )
    if isinstance(key, PortfolioKey):
        weighted = " weighted" if query.weights else ""
        members = "all series" if query.series is None else f"{len(query.series)}{weighted} series"
        place = f"shard {standing.id % shards} of {shards}"
        return [(f"Latest {query.select} of {members}", f"spends 0, {place}, {shared}")]
    window = registry.window_of(query)
    groups = f" by {', '.join(key.group_by)}" if key.group_by else ""
    place = key.place(shards)
    steps = [(f"Aggregate {query.select}{groups}", f"spends 0, {place}")]
    if key.synopsis:
        model = key.model()
        size = f"{full_bytes(model):,} bytes a group and pane"
        if model.guarantee.law == "exact":
            size = "every value kept"
            if key.kind == "landmark":
                size += f", state {growth((query.stream,))}"
        text = f"Summarise {query.select}{groups} in {model!r}"
        steps = [(text, f"spends {model.guarantee}, {size}, {place}")]
    if key.kind == "panes":
        start = "from history" if not key.born else f"from epoch {key.born}"
        note = f"spends 0, panes of {duration_text(key.width)}, {start}, {shared}"
    elif key.kind == "decay":
        note = f"spends 0, one fading sum a group, {shared}"
    elif key.kind == "landmark":
        note = f"spends 0, one pane, {shared}"
    else:
        note = f"spends 0, ring of {key.rows} rows, {shared}"
    named = f" ({query.window})" if isinstance(query.window, str) else ""
    window_step = (f"Window {window}{named}", note)
    where = [(f"Where {key.predicate()}", "spends 0")] if key.where else []
    # A filter never goes below a window of rows: the rows are counted first.
    return [*steps, *where, window_step] if key.kind == "ring" else [*steps, window_step, *where]


def _columns(stream: Stream, key: PieceKey, query: Query) -> tuple[str, ...]:
    """Columns that are read; of a computed one those that it is computed from."""
    used: tuple[str | None, ...]
    if isinstance(key, DeferralKey):
        used = (*stream.key, *query.group_by, stream.time, key.x)
    elif isinstance(key, BoundsKey):
        used = (*stream.key, stream.time, key.x, key.width)
    elif isinstance(key, PortfolioKey):
        used = (*stream.key, stream.time, key.x, key.y)
    else:
        where = key.predicate()
        filtered = () if where is None else where.columns()
        used = (stream.time, *key.by, *key.group_by, *filtered, key.x, key.y, key.weight)
    computed = dict(query.derived)
    read = [computed[name].columns() if name in computed else (name,) for name in used if name]
    return tuple(dict.fromkeys(name for names in read for name in names))


def _scan_note(stream: Stream) -> str:
    source = stream.source_dict()
    late = {
        "drop": "late rows dropped",
        "allow": f"late rows waited for {duration_text(stream.late.allowed)}",
        "revise": f"late rows revise {duration_text(stream.late.reach)} back",
    }[stream.late.policy]
    return f"{source['kind']}, tick {duration_text(stream.tick)}, {late}"
