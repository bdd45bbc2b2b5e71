"""The command `plan-capacity`: cores, memory, disk and epochs for a workload, with bars."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from streamgauge.capacity.advice import Advice, WhatIf
from streamgauge.capacity.costs import PACKAGED, Costs
from streamgauge.capacity.fit import LEVEL, Estimate
from streamgauge.capacity.measure import measured
from streamgauge.capacity.planning import KIND
from streamgauge.capacity.planning import plan_capacity as planned
from streamgauge.capacity.workload import KINDS, SOURCES, Workload
from streamgauge.cli.options import console
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import instant_text

COSTS = Path("costs.json")
SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


@click.command(short_help="How many cores a workload needs.")
@click.option("--rows", type=float, help="Rows a second.")
@click.option("--series", type=click.IntRange(min=1), help="Different keys.")
@click.option("--queries", type=click.IntRange(min=1), help="Standing queries, or their cells.")
@click.option(
    "--kind", type=click.Choice(list(KINDS)), default=KIND, show_default=True, help="Their kind."
)
@click.option("--members", type=click.IntRange(min=1), default=9, help="Series each one reads.")
@click.option("--groups", type=click.IntRange(min=1), default=10, help="Groups of windows.")
@click.option("--window", default="5 minutes", show_default=True, help="Length of windows.")
@click.option("--slide", default="1 minute", show_default=True, help="What windows move by.")
@click.option("--answers-per-second", type=float, help="Answers of all; usual ones unless said.")
@click.option("--tick", default="1 s", show_default=True, help="Event time between two checks.")
@click.option(
    "--source", type=click.Choice(SOURCES), default="files", show_default=True, help="Of rows."
)
@click.option("--fresh", default="10 s", show_default=True, help="Oldest an answer may be.")
@click.option("--cores", type=click.IntRange(min=1), help="Cores there are; else the fewest.")
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Take the workload of a gauge that runs.",
)
@click.option(
    "--costs",
    "costs_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Costs measured on another machine; with --measure, where they go.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the advice to a file.",
)
@click.option("--measure", is_flag=True, help="Measure this machine; takes minutes.")
@click.option("--quick", is_flag=True, help="Measure with fewer pages.")
@click.option("--no-spark", is_flag=True, help="Measure without Java; Spark's part is kept.")
@click.option("--write-package", is_flag=True, hidden=True, help="Replace the packaged costs.")
def plan_capacity(
    costs_file: Path | None,
    json_file: Path | None,
    measure: bool,
    quick: bool,
    no_spark: bool,
    write_package: bool,
    **said: Any,
) -> None:
    """Say how many cores, how much memory and disk, and which epochs a workload needs.

    Each number has a bar that nine of ten measurements lie within. A workload that cannot be
    carried is refused with what binds and the nearest one that can (exit code 3).
    """
    if measure:
        place = costs_file or COSTS
        if write_package:
            place = Path(__file__).resolve().parents[1] / "capacity" / PACKAGED
        _measure(place, quick=quick, spark=not no_spark)
        return
    if quick or no_spark or write_package:
        raise BindError(
            "nothing is measured here",
            "--quick, --no-spark and --write-package are for --measure",
            "add --measure",
        )
    answers = said.pop("answers_per_second")
    advice = planned(answers=answers, costs=costs_file, **said)
    show(advice)
    if json_file is not None:
        json_file.write_text(json.dumps(advice.as_dict(), indent=2) + "\n", encoding="utf-8")


def _measure(place: Path, *, quick: bool, spark: bool) -> None:
    about = {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "measured": instant_text(time.time_ns() // 1000),
        "load": round(os.getloadavg()[0], 2),
        "quick": quick,
    }
    cores = min(2, os.cpu_count() or 1) if spark else 0
    found = measured(click.echo, about, quick=quick, cores=cores)
    found.about["load_after"] = round(os.getloadavg()[0], 2)
    found.write(place)
    click.echo(f"costs written to {place}; bars are {_times(found)} wide on average")


def _times(costs: Costs) -> str:
    return f"{100.0 * (math.exp(1.645 * costs.shard.scatter) - 1.0):.0f} %"


def show(advice: Advice) -> None:
    """Print advice as tables."""
    terminal = console()
    terminal.print(described(advice.load, advice.fresh), soft_wrap=True)
    terminal.print(_numbers(advice))
    busiest = max(advice.parts.named(), key=lambda pair: pair[1].value)[1]
    share = busiest.value / max(sum(part.value for _, part in advice.parts.named()), 1e-12)
    terminal.print(f"binds      {advice.binds} ({100 * share:.0f} % of an epoch)", soft_wrap=True)
    terminal.print(f"headroom   {advice.headroom:.2g} times the rows on the same cores")
    terminal.print(f"set        shards={advice.shards}, max_rows={advice.max_rows:_}")
    terminal.print()
    terminal.print(_what_if(advice.what_if))
    about = advice.about
    terminal.print(
        f"costs measured {about.get('measured', 'at an unknown time')} on "
        f"{about.get('cores', '?')} cores; bars hold {100 * LEVEL:.0f} % of measurements",
        soft_wrap=True,
    )


def described(load: Workload, fresh: float) -> str:
    """A workload in one sentence.

    >>> from streamgauge.capacity.workload import Asked
    >>> described(Workload(1_000.0, 100, (Asked("latest", 10),)), 5.0)
    '1,000 rows a second of 100 series from files; 10 latest; answers no older than 5 s'
    """
    asked = ", ".join(f"{one.queries:,} {one.kind}" for one in load.asked)
    return (
        f"{load.rows:,.0f} rows a second of {load.series:,} series from {load.source}; {asked}; "
        f"answers no older than {fresh:g} s"
    )


def _numbers(advice: Advice) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("bar", no_wrap=True)
    table.add_column("", no_wrap=True)
    cores = advice.cores
    table.add_row("cores", f"{cores.value:.0f}", _bar(cores, "{:.0f}".format), "one shard on each")
    table.add_row("cores busy", f"{advice.busy.value:.2g}", _bar(advice.busy, "{:.2g}".format))
    table.add_row("epoch", _time(advice.epoch), "", "the longest that is fresh enough")
    shortest = advice.shortest
    table.add_row("epoch, shortest", _time(shortest.value), _bar(shortest, _time),
                  f"{100 * advice.utilisation:.0f} % busy")  # fmt: skip
    table.add_row("epoch, at once", _time(advice.pace), "", "where it settles if nothing waits")
    table.add_row("takes", _time(advice.seconds.value), _bar(advice.seconds, _time))
    table.add_row("oldest answer", _time(advice.freshness.value), _bar(advice.freshness, _time))
    disk = advice.disk
    for name, size, note in (
        ("memory, shard", advice.shard_memory, "Python worker, one for each core"),
        ("memory, driver", advice.driver_memory, "with its Java process"),
        ("disk, state", disk.state, "two epochs"),
        ("disk, answers", disk.answers, "a day"),
        ("disk, history", disk.history, "a day, until it is past what streams keep"),
        ("disk, journal", disk.journal, "a day"),
    ):
        table.add_row(name, _size(size.value), _bar(size, _size), note)
    return table


def _what_if(rows: tuple[WhatIf, ...]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("what if", no_wrap=True)
    table.add_column("cores", justify="right", no_wrap=True)
    table.add_column("bar", no_wrap=True)
    table.add_column("oldest answer", no_wrap=True)
    table.add_column("", no_wrap=True)
    for one in rows:
        cores = "-" if one.cores is None else f"{one.cores.value:.0f}"
        bar = "" if one.cores is None else _bar(one.cores, "{:.0f}".format)
        age = "-" if one.freshness is None else _time(one.freshness.value)
        table.add_row(one.name, cores, bar, age, one.why)
    return table


def _bar(one: Estimate, form: Any) -> str:
    high = "none" if math.isinf(one.high) else form(one.high)
    return f"{form(one.low)} .. {high}"


def _time(seconds: float) -> str:
    if seconds < 1.0:
        return f"{1000.0 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 120.0 else f"{seconds / 60.0:.3g} min"


def _size(n: float) -> str:
    for size, unit in SIZES:
        # Three digits never round up to four.
        if n >= 0.9995 * 1000 * size / 1024:
            return f"{n / size:.3g} {unit}"
    return f"{n:.3g} B"
