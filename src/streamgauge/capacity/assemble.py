"""Assemble: from what probes saw to costs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from streamgauge.capacity import amounts
from streamgauge.capacity.costs import Costs
from streamgauge.capacity.fit import Fitted, fit
from streamgauge.capacity.probe import Epoch, Seen
from streamgauge.capacity.spark_probe import Turned
from streamgauge.capacity.workload import PARSED, Workload

# Bars of numbers that were measured in one place only.
ROUGHLY = 0.25
# Share of epochs whose waiting counts: on a busy machine the least is the disk's own.
QUIETEST = 0.1
JVM_BYTES = float(2**30)
NOTHING = Fitted({}, (), 0.0, 0)


def leaf_seen(load: Workload, rows: int, ticks: int, segments: int, answers: int) -> amounts.Leaf:
    """The page that was seen; where kinds are mixed, answers are shared as expected."""
    expected = amounts.leaf_of(load, ticks * load.tick)
    total = sum(expected.answers.values())
    share = answers / total if total else 0.0
    given = {kind: n * share for kind, n in expected.answers.items()}
    return amounts.Leaf(float(rows), float(ticks), float(segments), given)


def work_seen(seen: Seen, epoch: Epoch, shard: int) -> amounts.Amounts:
    """What a shard did in an epoch that was seen."""
    load = seen.trial.load
    leaf = leaf_seen(load, epoch.rows, epoch.ticks, epoch.segments, epoch.answers)
    return amounts.work(load, leaf, seen.trial.shards, float(epoch.state[shard]))


def _elapsed(seen: Seen) -> Iterator[tuple[Epoch, float]]:
    """Epochs, each with the event time since the start in seconds."""
    done = sum(ticks for ticks, _ in seen.trial.pages[: seen.trial.warm])
    for epoch in seen.epochs:
        done += epoch.ticks
        yield epoch, done * seen.trial.load.tick


def assembled(probed: Sequence[Seen], turned: Sequence[Turned], about: dict[str, Any]) -> Costs:
    """Costs from all probes."""
    shard = _shard(probed)
    spark, driver = _spark(turned, shard)
    return Costs(
        shard=shard,
        land=_land(probed),
        commit=_commit(probed),
        state=_state(probed),
        memory=_memory(probed),
        spark=spark,
        driver=driver,
        single={**_single(probed), "crowding": _crowding(turned, shard)},
        about=about,
    )


def _fitted(rows: list[tuple[str, Mapping[str, float], float]]) -> Fitted:
    return fit([x for _, x, _ in rows], [y for _, _, y in rows], [run for run, _, _ in rows])


def _shard(probed: Sequence[Seen]) -> Fitted:
    return _fitted(
        [
            (seen.trial.name, work_seen(seen, epoch, k), step.cpu)
            for seen in probed
            for epoch in seen.epochs
            for k, step in enumerate(epoch.shards)
        ]
    )


def _land(probed: Sequence[Seen]) -> Fitted:
    rows: list[tuple[str, Mapping[str, float], float]] = []
    for seen in probed:
        parsed = seen.trial.load.source in PARSED
        waits = _waiting([epoch.land.wall - epoch.land.cpu for epoch in seen.epochs])
        for epoch in seen.epochs:
            lines = float(epoch.rows) if parsed else 0.0
            done = {"epoch": 1.0, "segments": float(epoch.segments), "parsed": lines}
            rows.append((seen.trial.name, done, epoch.land.cpu + waits))
    return _fitted(rows)


def _commit(probed: Sequence[Seen]) -> Fitted:
    rows: list[tuple[str, Mapping[str, float], float]] = []
    for seen in probed:
        waits = _waiting([epoch.commit.wall - epoch.commit.cpu for epoch in seen.epochs])
        for epoch in seen.epochs:
            done = {"epoch": 1.0, "shards": float(seen.trial.shards)}
            rows.append((seen.trial.name, done, epoch.commit.cpu + waits))
    return _fitted(rows)


def _state(probed: Sequence[Seen]) -> Fitted:
    rows: list[tuple[str, Mapping[str, float], float]] = []
    for seen in probed:
        for epoch, elapsed in _elapsed(seen):
            there = amounts.held(seen.trial.load, seen.trial.shards, elapsed)
            rows.append((seen.trial.name, there, statistics.fmean(epoch.state)))
    return _fitted(rows)


def _memory(probed: Sequence[Seen]) -> Fitted:
    rows: list[tuple[str, Mapping[str, float], float]] = []
    for seen in probed:
        most = max(epoch.rows for epoch in seen.epochs)
        state = float(max(sum(epoch.state) for epoch in seen.epochs))
        # All shards of a probe live in one process, so it has the members of all.
        there = amounts.resident(seen.trial.load, float(most), 1, state)
        rows.append((seen.trial.name, there, float(seen.memory)))
    return _fitted(rows)


def _waiting(waits: Sequence[float]) -> float:
    return max(0.0, float(np.quantile(waits, QUIETEST)))


def _single(probed: Sequence[Seen]) -> dict[str, float]:
    epochs = [epoch for seen in probed for epoch in seen.epochs]
    numbers = [
        epoch
        for seen in probed
        if not seen.trial.load.of("selection")
        for epoch in seen.epochs
        if epoch.answers >= 1000
    ]
    waits = [step.wall - step.cpu for epoch in epochs for step in epoch.shards]
    return {
        "waits": _waiting(waits),
        "answer_bytes": statistics.median(e.answer_bytes / e.answers for e in numbers),
        "epoch_bytes": statistics.median(e.log_bytes for e in epochs),
        "row_bytes": ROW_BYTES,
        "jvm_bytes": JVM_BYTES,
        "roughly": ROUGHLY,
    }


# Bytes of a landed row: time, key, two numbers and a name in Parquet.
ROW_BYTES = 24.0


def _beyond(one: Turned) -> list[float]:
    """Seconds of each epoch that are not the shards'."""
    waves = -(-one.trial.shards // one.cores)
    return [
        max(turn.seconds - (max(turn.shards) if waves == 1 else sum(turn.shards) / one.cores), 0.0)
        for turn in one.turns
    ]


def _spark(turned: Sequence[Turned], shard: Fitted) -> tuple[Fitted, Fitted]:
    """What Spark adds to an epoch, in seconds and in processor seconds."""
    if not turned:
        return NOTHING, NOTHING
    added: list[tuple[str, Mapping[str, float], float]] = []
    spent: list[tuple[str, Mapping[str, float], float]] = []
    for one in turned:
        run = f"{one.cores} {one.trial.name}"
        waves = float(-(-one.trial.shards // one.cores))
        each = {"epoch": 1.0, "waves": waves, "shards": float(one.trial.shards)}
        added += [(run, each, seconds) for seconds in _beyond(one)]
        own = statistics.median(
            shard.predict(turn_work(one, k)).value * one.trial.shards for k in range(len(one.turns))
        )
        tasks = {"epoch": 1.0, "shards": float(one.trial.shards)}
        spent.append((run, tasks, max(one.cpu - own, 0.01)))
    return _fitted(added), _fitted(spent)


def turn_work(one: Turned, number: int) -> amounts.Amounts:
    """What a shard did in an epoch on Spark."""
    turn, load = one.turns[number], one.trial.load
    leaf = leaf_seen(load, turn.rows, turn.ticks, 1, turn.answers)
    return amounts.work(load, leaf, one.trial.shards, float(turn.state))


def _crowding(turned: Sequence[Turned], shard: Fitted) -> float:
    """How much slower a shard is beside another, where shards are most of the work."""
    ratios = [
        statistics.fmean(turn.shards) / shard.predict(turn_work(one, k)).value
        for one in turned
        if one.cores > 1 and one.trial.shards == one.cores and one.trial.load.of("deferred")
        for k, turn in enumerate(one.turns)
    ]
    return min(max(1.0, float(np.quantile(ratios, 0.25))), 2.0) if ratios else 1.0
