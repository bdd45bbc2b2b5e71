"""Stalling: what becomes of operators when queries are suspended, and when they are resumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from streamgauge.engine.distribution import input_of
from streamgauge.engine.operator import Arrays, Out, PageOperator, Site, page_module
from streamgauge.engine.page_operators import compiled_of, taken, taken_in_part
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.reading import Wanted
from streamgauge.engine.stalled import Stage, Stalled, Who, goes_on, is_wanted
from streamgauge.engine.stream_inputs import StreamState
from streamgauge.engine.turns import turn
from streamgauge.kernel.passing_names import PassingNames
from streamgauge.log.journal import Journal
from streamgauge.plan.assignment import Assignment
from streamgauge.plan.registry import Registry
from streamgauge.plan.sharing import StreamPlan
from streamgauge.plan.standing import Standing
from streamgauge.plan.technique import Key, technique


@dataclass(frozen=True, slots=True)
class StalledReader:
    """An operator that reads pages itself, without work since an epoch, as it was stored."""

    values: dict[str, Any]
    arrays: Mapping[str, Any]
    since: int
    stages: dict[str, Stage]
    queries: tuple[Who, ...]

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Plain values; arrays are added to `arrays`."""
        arrays.update({f"{prefix}/own{name}": array for name, array in self.arrays.items()})
        return {
            "values": self.values,
            "since": self.since,
            "stages": {
                name: stage.pack(f"{prefix}/stage/{serial}", arrays)
                for serial, (name, stage) in enumerate(self.stages.items())
            },
            "queries": [list(one) for one in self.queries],
        }

    @classmethod
    def unpack(cls, prefix: str, values: dict[str, Any], arrays: Arrays) -> StalledReader:
        """Read it back."""
        own = f"{prefix}/own"
        stages = {
            name: Stage.unpack(f"{prefix}/stage/{serial}", told, arrays)
            for serial, (name, told) in enumerate(values["stages"].items())
        }
        return cls(
            values["values"],
            {name.removeprefix(own): a for name, a in arrays.items() if name.startswith(own)},
            values["since"],
            stages,
            tuple((number, version) for number, version in values["queries"]),
        )


@dataclass(slots=True)
class Readers:
    """Operators of a shard that read pages and have stalled, by name."""

    stalled: dict[str, StalledReader] = field(default_factory=dict)

    def resumed(
        self,
        site: Site,
        registry: Registry,
        asked: Mapping[str, list[Standing]],
        held: Mapping[str, PageOperator],
        epoch: int,
    ) -> tuple[dict[str, PageOperator], list[Out]]:
        """Operators whose queries are resumed, brought over the epochs missed; what they answer."""
        found: dict[str, PageOperator] = {}
        given: list[Out] = []
        for name, one in list(self.stalled.items()):
            queries = asked.get(name, [])
            if name in held or not queries or not goes_on(one.queries, queries):
                continue
            with turn(name, partial(asked.__getitem__, name)):
                module = page_module(technique(name.partition("/")[0]))
                operator = module.restored("", one.values, dict(one.arrays))
                if compiled_of(site, registry, name, queries, operator):
                    runs = _runs(site, registry, {name: queries}, one)
                    given += _missed(site, runs, operator, one.since, epoch)
                    found[name] = operator
            del self.stalled[name]
        return found, given


def _runs(
    site: Site, registry: Registry, asked: Mapping[str, list[Standing]], stalled: StalledReader
) -> dict[str, StreamRun]:
    """Streams as they were when an operator stalled, with the columns that it takes of them."""
    columns, logged = taken(site, registry, asked, site.shard), taken_in_part(registry, asked)
    return {
        name: StreamRun(
            site.home,
            site.shard,
            StreamPlan(stream, {}),
            registry,
            StreamState.at(stalled.stages[name]),
            others=columns.get(name, Wanted()),
            logged=logged.get(name, {}),
        )
        for name, stream in registry.streams.items()
        if name in stalled.stages
    }


def _missed(
    site: Site, runs: dict[str, StreamRun], operator: PageOperator, since: int, epoch: int
) -> list[Out]:
    """What an operator answers of the epochs before one."""
    given: list[Out] = []
    for page in map(Journal(site.home).page, range(since, epoch)):
        for run in runs.values():
            run.advance(page)
        given += operator.advance(runs, page)
    return given


def forget_stalled(
    streams: Mapping[str, StreamState], readers: Readers, registry: Registry
) -> None:
    """Keep operators that may still be resumed."""
    for state in streams.values():
        for held in state.inputs.values():
            fed = held.stalled.items()
            held.stalled = {text: one for text, one in fed if is_wanted(one.queries, registry)}
    kept = readers.stalled.items()
    readers.stalled = {name: one for name, one in kept if is_wanted(one.queries, registry)}


def stall(
    streams: Mapping[str, StreamState],
    operators: dict[str, PageOperator],
    readers: Readers,
    registry: Registry,
    records: Iterable[Mapping[str, Any]],
) -> None:
    """Set the operators aside of which all queries are to be suspended, as they are stored."""
    asked = Assignment.of(registry)
    since = {tuple(who): one["since"] for one in records for who in one["queries"]}

    def found(queries: Sequence[Standing]) -> tuple[int, tuple[Who, ...]] | None:
        who = tuple((one.id, one.version) for one in queries)
        return (since[who[0]], who) if who and set(who) <= since.keys() else None

    for name, state in streams.items():
        plan = asked.plans.get(name)
        for key, queries in plan.operators.items() if plan is not None else ():
            if (failed := found(queries)) is not None:
                _stall_fed(state, plan, key, queries, failed)
    for name in list(operators):
        if (failed := found(asked.paged.get(name, []))) is not None:
            arrays: Arrays = {}
            values = operators.pop(name).pack("", arrays)
            stages = {stream: state.stage() for stream, state in streams.items()}
            readers.stalled[name] = StalledReader(values, arrays, failed[0], stages, failed[1])


def _stall_fed(
    state: StreamState,
    plan: StreamPlan | None,
    key: Key,
    queries: Sequence[Standing],
    failed: tuple[int, tuple[Who, ...]],
) -> None:
    held = state.inputs.get(input_of(key))
    if held is None or plan is None or key.text() not in held.pieces:
        return
    words = key.reads(plan.stream.schema, queries).words
    names = {*words, *(plan.stream.key if key.keyed else ())}
    columns = [n for n in sorted(names) if not isinstance(held.words.get(n), PassingNames)]
    operator = held.pieces.pop(key.text())
    held.stalled[key.text()] = Stalled(
        operator, failed[0], state.stage(), tuple(columns), failed[1]
    )
