"""Advice: cores, memory, disk and epochs for a workload, each with its bar, or why there are none.

A workload is carried when some epoch is long enough to be done in its time with room to spare, and
short enough for the answers to be as fresh as asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamgauge.capacity.costs import Costs
from streamgauge.capacity.fit import Estimate
from streamgauge.capacity.model import LONGEST, UTILISATION, Model, Parts
from streamgauge.capacity.workload import PARSED, Workload
from streamgauge.kernel.errors import ContractUnsatisfiable

FRESH = 10.0
# No more cores than this are looked at: the driver hands out one task for each.
MOST_CORES = 1024
DAY = 86_400.0
BINDING = {
    "land": "the one lander, which parses the rows of this source",
    "spark": "the driver, which schedules a task for each shard",
    "read": "reading: every shard reads all rows of a page",
    "work": "the work on queries, which is shared among the shards",
    "series": "the series, all of which every shard follows and writes in every epoch",
    "write": "the state, which every shard writes in every epoch",
    "commit": "the commit, which gathers all shards",
}


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes on disk: state as it stands, and what is written in a day."""

    state: Estimate
    answers: Estimate
    history: Estimate
    journal: Estimate

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        named = ("state", "answers", "history", "journal")
        return {name: getattr(self, name).as_dict() for name in named}


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Another workload or machine: how many cores it needs, or why it cannot be carried."""

    name: str
    cores: Estimate | None
    freshness: Estimate | None
    why: str

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "name": self.name,
            "cores": None if self.cores is None else _plain(self.cores),
            "freshness": None if self.freshness is None else _plain(self.freshness),
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Advice:
    """What a workload needs. Times are seconds, sizes are bytes.

    `shortest` is the shortest stable epoch, `epoch` the longest that is fresh enough, which costs
    least; `pace` is where epochs that follow each other at once settle. `headroom` is how many
    times the rows could come before something gives way.

    Examples
    --------
    >>> from streamgauge.capacity.workload import Asked
    >>> advice = advise(Workload(1_000.0, 100, (Asked("latest", 10),)), Costs.packaged())
    >>> advice.cores.value, advice.cores.low <= advice.cores.value <= advice.cores.high
    (1.0, True)
    """

    load: Workload
    fresh: float
    utilisation: float
    cores: Estimate
    shards: int
    shortest: Estimate
    epoch: float
    pace: float
    seconds: Estimate
    freshness: Estimate
    busy: Estimate
    shard_memory: Estimate
    driver_memory: Estimate
    disk: Disk
    parts: Parts
    binds: str
    headroom: float
    max_rows: int
    what_if: tuple[WhatIf, ...]
    about: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """JSON form; what has no upper end is null there."""
        plain = ("cores", "shortest", "seconds", "freshness", "busy")
        sizes = ("shard_memory", "driver_memory")
        return {
            "workload": self.load.as_dict(),
            "fresh": self.fresh,
            "utilisation": self.utilisation,
            **{name: _plain(getattr(self, name)) for name in (*plain, *sizes)},
            "shards": self.shards,
            "epoch": self.epoch,
            "pace": self.pace,
            "disk": self.disk.as_dict(),
            "parts": {name: _plain(part) for name, part in self.parts.named()},
            "binds": self.binds,
            "headroom": self.headroom,
            "max_rows": self.max_rows,
            "what_if": [one.as_dict() for one in self.what_if],
            "about": self.about,
        }


def advise(
    load: Workload,
    costs: Costs,
    *,
    fresh: float = FRESH,
    cores: int | None = None,
    utilisation: float = UTILISATION,
) -> Advice:
    """What a workload needs for answers no older than `fresh` seconds; on so many cores if given.

    Raises
    ------
    ContractUnsatisfiable
        When no number of cores carries it, or those given do not.
    """
    needed = cores or _fewest(load, costs, fresh)
    if needed is None or not _fits(load, costs, needed, fresh):
        raise _refusal(load, costs, fresh, cores)
    model = Model(costs, load, needed)
    epoch, least = model.longest(fresh), model.shortest(utilisation=utilisation)
    assert epoch is not None, "what fits has an epoch"
    assert least is not None, "what fits has an epoch"
    return Advice(
        load=load,
        fresh=fresh,
        utilisation=utilisation,
        cores=_cores(load, costs, fresh, needed) if cores is None else _exactly(needed),
        shards=needed,
        shortest=_between(least, model.shortest),
        epoch=epoch,
        pace=model.pace() or least,
        seconds=model.seconds(epoch),
        freshness=model.freshness(epoch),
        busy=model.busy(epoch),
        shard_memory=model.memory(epoch),
        driver_memory=_driver_memory(model),
        disk=_disk(model, epoch),
        parts=model.parts(epoch),
        binds=BINDING[_largest(model.parts(epoch))],
        headroom=_headroom(load, costs, needed, fresh),
        max_rows=_rounded(load.rows * epoch * 4.0),
        what_if=_what_if(load, costs, fresh, needed),
        about=costs.about,
    )


def _exactly(number: float) -> Estimate:
    return Estimate(float(number), float(number), float(number))


def _fits(load: Workload, costs: Costs, cores: int, fresh: float, side: str = "value") -> bool:
    return Model(costs, load, cores).carries(fresh, side)


def _fewest(load: Workload, costs: Costs, fresh: float, side: str = "value") -> int | None:
    """The smallest number of cores that carries a workload."""
    last, cores = 0, 1
    while not _fits(load, costs, cores, fresh, side):
        last, cores = cores, cores * 2
        if cores > MOST_CORES:
            return None
    while cores - last > 1:
        middle = (last + cores) // 2
        last, cores = (last, middle) if _fits(load, costs, middle, fresh, side) else (middle, cores)
    return cores


def _cores(load: Workload, costs: Costs, fresh: float, cores: int) -> Estimate:
    low, high = (_fewest(load, costs, fresh, side) for side in ("low", "high"))
    return Estimate(float(cores), float(low or cores), math.inf if high is None else float(high))


def _between(value: float, found: Callable[..., float | None]) -> Estimate:
    """A length with the lengths at both ends of the bars."""
    low, high = found(side="low"), found(side="high")
    return Estimate(value, min(value, low or value), math.inf if high is None else high)


def _largest(parts: Parts) -> str:
    return max(parts.named(), key=lambda pair: pair[1].value)[0]


def _driver_memory(model: Model) -> Estimate:
    registered = sum(
        one.queries for one in model.load.asked if one.kind not in ("deferred", "watched")
    )
    python = model.costs.memory.predict({"process": 1.0, "registered": float(registered)})
    return python + model.costs.rough("jvm_bytes")


def _disk(model: Model, epoch: float) -> Disk:
    costs, load = model.costs, model.load
    landed = load.rows if load.source in PARSED else 0.0
    return Disk(
        # The epoch before is kept until the next is committed.
        state=model.state * (2.0 * model.count),
        answers=costs.rough("answer_bytes", load.answers * DAY),
        history=costs.rough("row_bytes", landed * DAY),
        journal=costs.rough("epoch_bytes", DAY / epoch),
    )


def _headroom(load: Workload, costs: Costs, cores: int, fresh: float) -> float:
    """How many times the rows could come on the same cores."""
    low, high = 1.0, 2.0
    while high < 1e4 and _fits(load.times(rows=high), costs, cores, fresh):
        low, high = high, high * 2.0
    for _ in range(12):
        middle = (low + high) / 2.0
        fits = _fits(load.times(rows=middle), costs, cores, fresh)
        low, high = (middle, high) if fits else (low, middle)
    return low


def _what_if(load: Workload, costs: Costs, fresh: float, cores: int) -> tuple[WhatIf, ...]:
    changed = {
        "twice the rows": load.times(rows=2.0),
        "ten times the queries": load.times(queries=10.0),
        "ten times the series": load.times(series=10.0),
    }
    found = [_if_changed(name, other, costs, fresh) for name, other in changed.items()]
    half = max(1, cores // 2)
    if half < cores:
        found.append(_if_fewer(load, costs, fresh, half))
    return tuple(found)


def _if_changed(name: str, load: Workload, costs: Costs, fresh: float) -> WhatIf:
    cores = _fewest(load, costs, fresh)
    if cores is None:
        return WhatIf(name, None, None, str(_refusal(load, costs, fresh, None).what))
    model = Model(costs, load, cores)
    epoch = model.longest(fresh)
    assert epoch is not None, "what fits has an epoch"
    return WhatIf(name, _cores(load, costs, fresh, cores), model.freshness(epoch), "")


def _if_fewer(load: Workload, costs: Costs, fresh: float, cores: int) -> WhatIf:
    name, model = f"half the cores ({cores})", Model(costs, load, cores)
    least = model.shortest()
    if least is None:
        return WhatIf(name, _exactly(cores), None, "it falls behind for ever")
    told = model.freshness(least)
    why = "" if told.value <= fresh else f"answers {told.value:.3g} s old at best"
    return WhatIf(name, _exactly(cores), told, why)


def _refusal(
    load: Workload, costs: Costs, fresh: float, cores: int | None
) -> ContractUnsatisfiable:
    """Why a workload cannot be carried, and the nearest one that can."""
    tried = [cores] if cores else [2**k for k in range(int(math.log2(MOST_CORES)) + 1)]
    models = [Model(costs, load, each) for each in tried]
    best = min(models, key=lambda model: model.seconds(LONGEST).value)
    long = best.seconds(LONGEST).value / LONGEST
    on = f"on {cores} cores" if cores else f"on any number of cores up to {MOST_CORES}"
    if long > UTILISATION:
        part = BINDING[_largest(best.parts(LONGEST))]
        what = f"{load.rows:,.0f} rows a second cannot be carried {on}"
        detail = f"bound by {part}: {long:.2f} s of work for each second, at most {UTILISATION:g}"
    else:
        lengths = [length for model in models if (length := model.shortest()) is not None]
        oldest = (1.0 + UTILISATION) * min(lengths)
        quickest = models[[m.shortest() for m in models].index(min(lengths))]
        part = BINDING[_largest(quickest.parts(min(lengths)))]
        what = f"answers no older than {fresh:g} s cannot be had {on}"
        detail = f"bound by {part}: they are {oldest:.3g} s old at best"
    return ContractUnsatisfiable(what, detail, _nearest(load, costs, fresh, cores))


def _nearest(load: Workload, costs: Costs, fresh: float, cores: int | None) -> str:
    """The nearest workload that can be carried, in words."""

    def carried(times: float) -> bool:
        other = load.times(rows=times)
        if cores:
            return _fits(other, costs, cores, fresh)
        return _fewest(other, costs, fresh) is not None

    found = []
    if cores and (more := _fewest(load, costs, fresh)) is not None:
        found.append(f"take {more} cores")
    low, high = 0.0, 1.0
    for _ in range(14):
        middle = (low + high) / 2.0
        low, high = (middle, high) if carried(middle) else (low, middle)
    if low > 0.0:
        found.append(f"bring {_rounded(load.rows * low, down=True):,} rows a second")
    tried = [cores] if cores else [2**k for k in range(int(math.log2(MOST_CORES)) + 1)]
    lengths = [length for each in tried if (length := Model(costs, load, each).shortest())]
    if lengths and (1.0 + UTILISATION) * min(lengths) > fresh:
        found.append(f"allow answers {1.01 * (1.0 + UTILISATION) * min(lengths):.3g} s old")
    return ", or ".join(found) or "ask fewer queries, or spread the streams over several homes"


def _rounded(number: float, *, down: bool = False) -> int:
    """A number of rows with two digits."""
    if number < 10:
        return max(1, int(number))
    size = int(10.0 ** (int(math.log10(number)) - 1))
    return (math.floor(number / size) if down else math.ceil(number / size)) * size


def _plain(one: Estimate) -> dict[str, float | None]:
    return {name: None if math.isinf(n) else n for name, n in one.as_dict().items()}
