"""Design: the runs that costs are fitted from, each thing varied apart from the others."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.capacity.probe import Trial
from streamgauge.capacity.workload import Asked, Workload

# Ticks and files of each page; the first ones compile and learn.
WARM = ((2, 1), (8, 1), (2, 1), (8, 2))
PAGES = (*WARM, (2, 1), (8, 1), (16, 1), (8, 4), (4, 2), (16, 1))
# Pages of so many series that two ticks are a million rows.
LARGE = ((1, 1), (1, 1), (1, 1), (2, 1), (1, 1), (2, 1))
SHORT = (*WARM, (2, 1), (12, 1), (4, 3))


def _trial(name: str, rows: int, series: int, one: Asked, shards: int = 1) -> Trial:
    return Trial(name, Workload(float(rows), series, (one,)), shards, PAGES, len(WARM))


def _latest() -> list[Trial]:
    return [
        _trial("latest few", 1_000, 1_000, Asked("latest", 100)),
        _trial("latest many", 1_000, 1_000, Asked("latest", 10_000), 2),
        _trial("latest wide", 20_000, 20_000, Asked("latest", 1_000)),
        _trial("latest sparse", 2_000, 20_000, Asked("latest", 5_000), 4),
        _trial("latest names", 20_000, 100_000, Asked("latest", 100)),
        _trial("latest members", 20_000, 1_000, Asked("latest", 2_000, members=30)),
        _trial("latest rows", 100_000, 100, Asked("latest", 1)),
    ]


def _deferred() -> list[Trial]:
    return [
        _trial("deferred few", 1_000, 1_000, Asked("deferred", 1_000)),
        _trial("deferred many", 5_000, 5_000, Asked("deferred", 100_000)),
        _trial("deferred sparse", 20_000, 50_000, Asked("deferred", 20_000), 2),
        _trial("deferred wide", 60_000, 60_000, Asked("deferred", 200_000), 2),
        _trial("deferred members", 2_000, 2_000, Asked("deferred", 100_000, members=3), 4),
        _trial("watched few", 1_000, 1_000, Asked("watched", 2_000)),
        _trial("watched many", 5_000, 5_000, Asked("watched", 20_000), 2),
        _trial("watched members", 10_000, 1_000, Asked("watched", 5_000, members=20)),
    ]


def _large() -> list[Trial]:
    """Tables that no cache holds."""
    few, many, more = (Asked("deferred", n) for n in (100_000, 300_000, 600_000))
    loads = {
        "deferred large": Workload(300_000.0, 300_000, (many,)),
        "deferred larger": Workload(600_000.0, 600_000, (more,)),
        "deferred large, sparse": Workload(100_000.0, 600_000, (few,)),
        "latest large": Workload(200_000.0, 200_000, (Asked("latest", 1_000),)),
        "latest large, sparse": Workload(100_000.0, 400_000, (Asked("latest", 1_000),)),
    }
    return [Trial(name, load, 1, LARGE, 3) for name, load in loads.items()]


def _paned(kind: str, queries: int) -> list[Trial]:
    def asked(share: float, **more: float) -> Asked:
        return replace(Asked(kind, max(1, round(queries * share)), slide=4.0), **more)  # type: ignore[arg-type]

    return [
        _trial(f"{kind} few", 5_000, 1_000, asked(0.01, groups=10, window=20.0)),
        _trial(f"{kind} filters", 20_000, 1_000, asked(0.2, groups=50, pieces=4, window=20.0), 2),
        _trial(f"{kind} many", 20_000, 1_000, asked(1.0, groups=10, window=12.0)),
        _trial(f"{kind} groups", 5_000, 5_000, asked(0.02, groups=4_000, window=20.0), 2),
        _trial(f"{kind} long", 5_000, 1_000, asked(0.05, groups=20, window=240.0)),
        _trial(f"{kind} both", 10_000, 2_000, asked(0.4, groups=600, window=16.0), 2),
        _trial(f"{kind} rows", 80_000, 100, asked(0.01, groups=4, window=8.0)),
    ]


def _several(name: str, rows: int, series: int, shards: int = 1) -> Trial:
    """One reading of the rows for queries of several kinds tells reading from the rest."""
    window = Asked("window", 20, groups=10, window=20.0, slide=4.0)
    asked = (Asked("latest", 50), Asked("deferred", 500), window, Asked("selection", 5))
    return Trial(name, Workload(float(rows), series, asked), shards, PAGES, len(WARM))


def _others() -> list[Trial]:
    lines = _trial("lines many", 10_000, 1_000, Asked("latest", 10))
    few = _trial("lines few", 1_000, 1_000, Asked("latest", 10))
    return [
        _trial("selection few", 2_000, 1_000, Asked("selection", 100)),
        _trial("selection many", 2_000, 1_000, Asked("selection", 3_000), 2),
        _trial("selection rows", 40_000, 1_000, Asked("selection", 20)),
        _several("several kinds", 30_000, 2_000),
        _several("several kinds, fewer rows", 5_000, 5_000, 2),
        replace(lines, load=replace(lines.load, source="lines"), pages=SHORT),
        replace(few, load=replace(few.load, source="lines"), pages=SHORT),
    ]


def designed(*, quick: bool = False) -> list[Trial]:
    """The runs of a measurement; a quick one has as many, with fewer and smaller pages.

    >>> len(designed()), len({trial.name for trial in designed()})
    (41, 41)
    """
    trials = [*_latest(), *_deferred(), *_paned("window", 1_000), *_paned("summary", 100)]
    trials += _others()
    trials = [replace(trial, pages=SHORT) for trial in trials] if quick else trials
    return trials + _large()


def on_spark(*, quick: bool = False) -> list[Trial]:
    """Runs that tell what Spark adds: next to nothing to do, and enough to be felt.

    >>> [trial.shards for trial in on_spark(quick=True)]
    [1, 2, 2]
    """
    small, large = Asked("latest", 10), Asked("deferred", 50_000)
    # Until then the Java process compiles what it runs.
    warm = 4 if quick else 12
    pages = ((2, 1),) * (9 if quick else 27)
    idle = Trial("idle", Workload(100.0, 100, (small,)), 1, pages, warm)
    laden = Trial("laden", Workload(10_000.0, 10_000, (large,)), 2, ((8, 1),) * len(pages), warm)
    found = [idle, replace(idle, name="idle, two shards", shards=2), laden]
    if quick:
        return found
    return [*found, replace(idle, name="idle, six shards", shards=6)]
