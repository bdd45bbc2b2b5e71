"""The work of one shard on promising queries: joins, selections and aggregates."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pyarrow as pa

from streamgauge.engine.across_run import state_key
from streamgauge.engine.pieces import Given
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.promise_aggregate_run import AggregateRun
from streamgauge.engine.promise_costs import stopwatches
from streamgauge.engine.promise_join_run import JoinRun, JoinState, is_spread, owner
from streamgauge.engine.promise_panes import AggregateState
from streamgauge.engine.promise_reach import Asking, SelectState
from streamgauge.engine.promise_selection_run import SelectionsRun, SelectionsState
from streamgauge.engine.promise_state import PromiseState
from streamgauge.engine.row_work import row_blocks
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.plan.allowances import allowances, kind_of
from streamgauge.plan.promising import SelectionPlan, join_plan, selection_plan
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.costs import Allowance, Kind, Spent
from streamgauge.promise.figures import Figures
from streamgauge.results.row_blocks import RowBlock


@dataclass(slots=True)
class PromiseWork:
    """All promising queries of a shard, with what they spend, by kind."""

    home: Home
    shard: int
    state: PromiseState
    spent: dict[Kind, Spent] = field(default_factory=stopwatches)
    joins: list[JoinRun] = field(default_factory=list)
    selections: dict[str, SelectionsRun] = field(default_factory=dict)
    aggregates: list[AggregateRun] = field(default_factory=list)

    def plan(self, registry: Registry) -> None:
        """Make a run for each query; forget the state of those that are gone."""
        allowed, state = allowances(registry), self.state
        mine = [registry.queries[name] for name in allowed]
        mine = [one for one in mine if takes_part(one, self.shard, self.home.shards)]
        by_kind: dict[Kind, list[Standing]] = {"join": [], "selection": [], "aggregate": []}
        for standing in mine:
            by_kind[kind_of(standing)].append(standing)
        joins, numbers = by_kind["join"], by_kind["aggregate"]
        state.joins = {
            state_key(one): state.joins.get(state_key(one), JoinState()) for one in joins
        }
        state.aggregates = {
            state_key(one): state.aggregates.get(state_key(one), AggregateState())
            for one in numbers
        }
        self.joins = [self._join(registry, one, allowed[one.name]) for one in joins]
        self.aggregates = [self._aggregate(registry, one, allowed[one.name]) for one in numbers]
        self._plan_selections(registry, by_kind["selection"], allowed)

    def _join(self, registry: Registry, standing: Standing, allowance: Allowance) -> JoinRun:
        state, spent = self.state.joins[state_key(standing)], self.spent["join"]
        return JoinRun(self.home, registry, standing, self.shard, allowance, spent, state)

    def _aggregate(
        self, registry: Registry, standing: Standing, allowance: Allowance
    ) -> AggregateRun:
        state, spent = self.state.aggregates[state_key(standing)], self.spent["aggregate"]
        return AggregateRun(self.home, registry, standing, allowance, spent, state)

    def _plan_selections(
        self, registry: Registry, asking: list[Standing], allowed: dict[str, Allowance]
    ) -> None:
        """Those of one stream and window keep their rows together."""
        groups: dict[str, list[tuple[Standing, SelectionPlan]]] = {}
        for standing in asking:
            plan = selection_plan(standing.view)
            assert plan is not None, f"{standing.name!r} selects no rows of one stream"
            groups.setdefault(_group_of(plan), []).append((standing, plan))
        old, self.state.selections, self.selections = self.state.selections, {}, {}
        for key, members in groups.items():
            state = old.get(key) or SelectionsState()
            state.queries = {
                state_key(one): state.queries.get(state_key(one), SelectState())
                for one, _ in members
            }
            asked = [
                Asking(one, plan, allowed[one.name], state.queries[state_key(one)])
                for one, plan in members
            ]
            first = members[0][1]
            stream, spent = registry.stream(first.stream), self.spent["selection"]
            self.selections[key] = SelectionsRun(
                self.home, registry, stream, first.window, spent, asked, state
            )
            self.state.selections[key] = state

    def seat(self, runs: dict[str, StreamRun], epoch: int) -> None:
        """Let the changes of an epoch take effect."""
        for join in self.joins:
            join.seat(runs, epoch)
        for group in self.selections.values():
            group.seat(runs, epoch)
        for aggregate in self.aggregates:
            aggregate.seat(runs, epoch)

    def reprice(self, registry: Registry) -> None:
        """Go by new prices, which change what each query may spend and nothing else."""
        allowed = allowances(registry)
        runs: tuple[JoinRun | AggregateRun, ...] = (*self.joins, *self.aggregates)
        for run in runs:
            run.allowance = allowed[run.standing.name]
        for group in self.selections.values():
            for asked in group.asking:
                asked.allowance = allowed[asked.standing.name]

    def revived(self, state: PromiseState) -> PromiseWork:
        """The same plan over state that was stored."""
        work = PromiseWork(self.home, self.shard, state, self.spent)
        work.joins = [
            replace(run, state=state.joins[state_key(run.standing)]) for run in self.joins
        ]
        work.aggregates = [
            replace(run, state=state.aggregates[state_key(run.standing)]) for run in self.aggregates
        ]
        for key, group in self.selections.items():
            known = state.selections[key]
            asking = [
                replace(asked, state=known.queries[state_key(asked.standing)])
                for asked in group.asking
            ]
            work.selections[key] = replace(group, asking=asking, state=known)
        return work

    def numbers(self, runs: dict[str, StreamRun], page: Page) -> list[tuple[AggregateRun, Given]]:
        """Take a page; the answers of each aggregate."""
        return [(run, given) for run in self.aggregates for given in run.advance(runs, page)]

    def rows(self, runs: dict[str, StreamRun], page: Page) -> list[RowBlock]:
        """Take a page; the rows that joins and selections give."""
        blocks: list[RowBlock] = []
        joined = [item for run in self.joins if (item := run.advance(runs, page)) is not None]
        with self.spent["join"].giving():
            blocks += row_blocks(joined)
        for group in self.selections.values():
            shared, own = group.advance(runs, page)
            with self.spent["selection"].giving():
                blocks += [*shared, *row_blocks(own)]
        return blocks

    def rows_now(self, standing: Standing) -> pa.Table:
        """The rows of a view that were found and are alive, as far as this shard has them."""
        for run in self.joins:
            if run.standing.id == standing.id:
                return run.rows_now()
        groups = self.selections.values()
        (group,) = (g for g in groups if standing.name in (a.standing.name for a in g.asking))
        return group.rows_now(standing.name)

    def figures(self) -> dict[str, Figures]:
        """What each query has done so far that this shard speaks for, by name.

        Shards that share the keys of a join all make the same choices; the first counts them.
        """
        spoken = [run for run in self.joins if self.shard == 0 or not is_spread(run.plan)]
        found = {run.standing.name: run.state.figures for run in spoken}
        for group in self.selections.values():
            found |= {asked.standing.name: asked.state.figures for asked in group.asking}
        return found | {run.standing.name: run.state.figures for run in self.aggregates}


def takes_part(standing: Standing, shard: int, shards: int) -> bool:
    """Whether a shard has a part in a promising query."""
    if kind_of(standing) != "join":
        return standing.id % shards == shard
    plan = join_plan(standing.view)
    assert plan is not None, f"{standing.name!r} is no join in one key"
    return is_spread(plan) or owner(standing, shards) == shard


def _group_of(plan: SelectionPlan) -> str:
    """Name of the group of selections that keep their rows together."""
    return json.dumps([plan.stream, None if plan.window is None else plan.window.as_dict()])
