"""Observed: the workload of a home that runs, from its commits, its registry and its state."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamgauge.capacity.workload import PANED, PARSED, Asked, Workload
from streamgauge.engine import state as wire
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.operator import fed_module
from streamgauge.engine.stream_inputs import StreamState
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND
from streamgauge.log.commits import home_after, state_files
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import technique_of
from streamgauge.results.change_log import commits

# Epochs that are looked at, counted from the newest.
RECENT = 200


@dataclass(frozen=True, slots=True)
class Rates:
    """Rows, answers and files a second of the clock, and seconds of event time in one of them."""

    rows: float
    answers: float
    files: float
    speed: float


def observed(home: Home) -> Workload:
    """What a home carries now.

    Views of rows other than selections are counted as selections. A window of rows, a landmark or
    a decay is counted as a window of one pane.
    """
    epoch = home.committed()
    registry = registry_at(home, epoch)
    states = _states(home, epoch)
    rates = _rates(home)
    asked = _asked(registry, states, len(states))
    if not asked:
        raise BindError(
            f"nothing is asked of {home.path}",
            f"it has {len(registry.streams)} streams and no running query",
            "register queries, or describe the workload: --rows, --series, --queries",
        )
    ticks = [stream.tick / SECOND for stream in registry.streams.values()]
    series = max([s.n_series for s in states[0].values()], default=1)
    found = Workload(
        rows=rates.rows,
        series=max(1, series),
        asked=asked,
        tick=min(ticks) / rates.speed,
        source=_source(registry),
        files=rates.files,
    )
    return _with_answers(found, rates)


def _states(home: Home, epoch: int) -> list[dict[str, StreamState]]:
    """Streams as each shard knows them."""
    found = []
    for shard in range(home_after(home, epoch).shards):
        if not state_files(home, epoch, shard)[-1].exists():
            raise BindError(
                f"{home.path} has no epoch yet",
                "a workload is read from epochs with rows",
                "run it for a while, or describe the workload: --rows, --series, --queries",
            )
        found.append(wire.read_state(home, epoch, shard).streams)
    return found


def _rates(home: Home) -> Rates:
    records = [record for record in commits(home) if record["rows"]][-RECENT:]
    journal = Journal(home)
    pages = [journal.page(record["epoch"]) for record in records]
    if len(pages) < 2:
        raise BindError(
            f"too few epochs of {home.path} have rows",
            f"{len(pages)} of them; rates need two",
            "run it for a while, or describe the workload: --rows, --series, --queries",
        )
    clock = (pages[-1].landed_at - pages[0].landed_at) / SECOND
    event = max(_passed(pages), 1e-6)
    clock = clock if clock > 0.0 else event
    rows = sum(record["rows"] for record in records[1:])
    answers = sum(record["answers"] for record in records[1:])
    files = sum(len(page.segments) for page in pages[1:])
    return Rates(rows / clock, answers / clock, files / clock, event / clock)


def _passed(pages: list[Page]) -> float:
    """Seconds of event time between two pages, of the stream that moved most."""
    first, last = pages[0].peaks, pages[-1].peaks
    return max([(last[name] - first.get(name, last[name])) / SECOND for name in last], default=0.0)


def _source(registry: Registry) -> str:
    """A source whose rows are parsed, where one stream has such; else files."""
    for stream in registry.streams.values():
        source = stream.source_dict()
        if source["kind"] in PARSED:
            return str(source["kind"])
        if source.get("format", "parquet") != "parquet":
            return "lines"
    return "files"


def _asked(
    registry: Registry, states: list[dict[str, StreamState]], shards: int
) -> tuple[Asked, ...]:
    found: dict[tuple[str, int, float, float], Asked] = {}
    pieces: dict[tuple[str, int, float, float], set[str]] = {}
    for standing in registry.queries.values():
        if standing.status != "running":
            continue
        one, piece = _one(registry, standing, states, shards)
        key = (one.kind, one.members, one.window, one.slide)
        pieces.setdefault(key, set()).add(piece)
        if key in found:
            many = found[key].queries + one.queries
            found[key] = replace(
                found[key], queries=many, groups=max(found[key].groups, one.groups)
            )
        else:
            found[key] = one
    return tuple(
        replace(one, pieces=len(pieces[key])) if one.kind in PANED else one
        for key, one in found.items()
    )


def _one(
    registry: Registry, standing: Standing, states: list[dict[str, StreamState]], shards: int
) -> tuple[Asked, str]:
    """One standing query as a workload has it, and the operator that it shares."""
    technique = technique_of(standing)
    if not technique.fed:
        return Asked("selection", 1), ""
    key = technique.key(registry, standing).text()
    streams = [state.get(standing.query.stream) for state in states]
    held = [one.pieces[key] for one in streams if one is not None and key in one.pieces]
    series = max([s.n_series for s in streams if s is not None], default=1)
    load = fed_module(technique).load_of(registry, standing, held, series)
    found = Asked(load.kind, load.cells, groups=load.groups)
    if load.window:
        found = replace(found, window=load.window / SECOND, slide=load.slide / SECOND)
    return replace(found, members=load.members) if load.members else found, key


def _with_answers(load: Workload, rates: Rates) -> Workload:
    """The answers that were given, shared among the kinds as they would be expected."""
    expected = [one.given(load.rows, load.tick) for one in load.asked]
    total = sum(expected)
    share = rates.answers / total if total else 0.0
    asked = tuple(
        replace(one, answers=each * share) for one, each in zip(load.asked, expected, strict=True)
    )
    return replace(load, asked=asked)
