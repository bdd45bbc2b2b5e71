"""The command `bench`: runs a workload of the source tree's `bench` folder."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import click

import streamgauge
from streamgauge.kernel.errors import MissingRuntime


@click.command(short_help="Compare with what one would use instead.")
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the workloads.")
@click.option("--quick", is_flag=True, help="Smaller sizes, for a first look.")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where inputs are kept between runs.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the figures to a file.",
)
@click.pass_context
def bench(
    ctx: click.Context,
    name: str | None,
    listing: bool,
    quick: bool,
    data: Path | None,
    json_file: Path | None,
) -> None:
    """Compare with what one would use instead, on the workload NAME (spine, ...)."""
    workloads = bench_package()
    if listing:
        for workload in workloads.workloads():
            click.echo(workload)
        return
    if name is None:
        raise click.UsageError("name a workload; --list shows them")
    ctx.exit(workloads.run(name, quick=quick, data=data, json_file=json_file))


def bench_package(package: Path | None = None) -> ModuleType:
    """The `bench` package beside `src`, which is part of the source tree only."""
    source = package or Path(streamgauge.__file__)
    root = source.resolve().parents[2]
    if not (root / "bench" / "__init__.py").is_file():
        raise MissingRuntime(
            "the workloads are not installed",
            f"they are in the folder bench of the source tree; {root} has none",
            "clone the repository, run make install there, then streamgauge bench in its .venv",
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return importlib.import_module("bench")
