"""Planning: from what a user says of a workload, or from a home, to advice."""

from __future__ import annotations

from pathlib import Path

from streamgauge.capacity.advice import FRESH, Advice, advise
from streamgauge.capacity.costs import Costs
from streamgauge.capacity.observed import observed
from streamgauge.capacity.workload import Asked, Workload
from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.time import SECOND, DurationLike, duration
from streamgauge.log.home import Home

KIND = "deferred"


def plan_capacity(
    rows: float | None = None,
    series: int | None = None,
    queries: int | None = None,
    *,
    kind: str = KIND,
    members: int = 9,
    groups: int = 10,
    window: DurationLike = "5 minutes",
    slide: DurationLike = "1 minute",
    answers: float | None = None,
    tick: DurationLike = "1 s",
    source: str = "files",
    asked: tuple[Asked, ...] = (),
    home: str | Path | None = None,
    fresh: DurationLike = FRESH,
    cores: int | None = None,
    costs: Costs | str | Path | None = None,
) -> Advice:
    """How many cores, how much memory and disk, and which epochs a workload needs.

    Parameters
    ----------
    rows, series, queries
        Rows a second, different keys, standing queries.
    kind, members, groups, window, slide, answers
        What the queries are, as in `Asked`; `answers` is what they give in a second.
    tick
        Event time between two checks.
    source
        Where rows come from: files, kafka, mqtt, push, lines.
    asked
        Queries of several kinds, instead of `queries` and `kind`.
    home
        A home that runs; its workload is taken where nothing else is said.
    fresh
        How old an answer may be when it is published.
    cores
        Cores there are; as few as carry it when None.
    costs
        Measured costs, or the file that has them; those of the package when None.

    Returns
    -------
    Advice
        Numbers, each with its bar.

    Examples
    --------
    >>> advice = plan_capacity(1_000, 100, 50, kind="latest")
    >>> advice.shards, advice.freshness.value <= 10.0
    (1, True)
    """
    load = _observed(home) if home is not None else None
    if load is None:
        load = _described(rows, series, queries, kind, asked, members, groups, window, slide,
                          answers, tick, source)  # fmt: skip
    elif rows is not None:
        load = load.times(rows=rows / load.rows)
    if isinstance(costs, str | Path):
        costs = Costs.read(Path(costs))
    if cores is not None and cores < 1:
        raise BindError("cores must be 1 or more", f"got {cores}", "leave it out to be told")
    return advise(load, costs or Costs.packaged(), fresh=duration(fresh) / SECOND, cores=cores)


def _described(
    rows: float | None,
    series: int | None,
    queries: int | None,
    kind: str,
    asked: tuple[Asked, ...],
    members: int,
    groups: int,
    window: DurationLike,
    slide: DurationLike,
    answers: float | None,
    tick: DurationLike,
    source: str,
) -> Workload:
    missing = [
        name
        for name, value in (("rows", rows), ("series", series), ("queries", queries))
        if value is None and not (name == "queries" and asked)
    ]
    if rows is None or series is None or missing:
        raise BindError(
            "the workload is not described",
            f"nothing is said of {', '.join(missing)}",
            "give --rows, --series and --queries, or --home of a gauge that runs",
        )
    if not asked:
        one = Asked(
            kind,
            queries or 0,
            members=members,
            groups=groups,
            window=duration(window) / SECOND,
            slide=duration(slide) / SECOND,
            answers=answers,
        )
        asked = (one,)
    return Workload(float(rows), series, asked, duration(tick) / SECOND, source)


def _observed(home: str | Path) -> Workload:
    path = Path(home)
    if not (path / "gauge.json").exists():
        raise SourceFailure(
            f"no gauge lives in {path}",
            f"{path / 'gauge.json'} is not there",
            "name its home with --home, or describe the workload: --rows, --series, --queries",
        )
    return observed(Home.open(path, shards=1))
