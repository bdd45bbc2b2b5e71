"""What all commands share: the home, JSON, the console."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from streamgauge.gauge import Gauge, connect
from streamgauge.kernel.errors import SourceFailure

HOME = "gauge-home"
PIPE_WIDTH = 160

home_option = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    default=HOME,
    envvar="STREAMGAUGE_HOME",
    show_default=True,
    show_envvar=True,
    help="Directory of the gauge.",
)
checkpoint_option = click.option(
    "--checkpoint",
    metavar="URL",
    help="Where Spark keeps its notes: a path or s3a://... [default: in the home]",
)
keep_option = click.option(
    "--keep-answers",
    metavar="DURATION",
    help="Clear away older answers and pages, as in '7 days'. [default: keep all]",
)
memory_option = click.option(
    "--memory",
    metavar="SIZE",
    help="What state may take on a machine, as in 8g. [default: half of what it has]",
)
timeout_option = click.option(
    "--query-timeout",
    metavar="DURATION",
    help="Suspend a query that works on one epoch for longer, as in '2 min'. [default: 10 min]",
)
functions_option = click.option(
    "--allow-functions",
    "allow_functions",
    multiple=True,
    metavar="MODULE[:NAME]",
    help="Python functions that CREATE FUNCTION may name. [default: none]",
)
roots_option = click.option(
    "--data-root",
    "data_roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory that clients below the role operator may name files in. [default: none]",
)


def console(*, stderr: bool = False) -> Console:
    """The terminal, or a pipe that is given room enough for whole lines."""
    plain = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not plain.is_terminal:
        plain.width = PIPE_WIDTH
    return plain


def open_home(
    home: Path, allow_functions: tuple[str, ...] = (), data_roots: tuple[Path, ...] = ()
) -> Gauge:
    """A gauge on a home that is there; reading must not make one."""
    # A journal without it is a home that is damaged, which is told by whoever opens it.
    if not (home / "gauge.json").exists() and not (home / "journal").is_dir():
        raise SourceFailure(
            f"no gauge lives in {home}",
            f"{home / 'gauge.json'} is not there",
            "name its home with --home or STREAMGAUGE_HOME, or make one: streamgauge sql --new",
        )
    return connect(home, engine="local", allow_functions=allow_functions, data_roots=data_roots)
