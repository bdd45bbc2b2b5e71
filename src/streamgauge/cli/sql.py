"""The command `sql`: statements from the command line, a file, a pipe, or a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from streamgauge.cli.as_json import json_option, say_json
from streamgauge.cli.changes import wait_option
from streamgauge.cli.options import console, functions_option, home_option, open_home
from streamgauge.cli.repl import Repl
from streamgauge.cli.said import as_json as outcome_json
from streamgauge.cli.said import run_statements, say
from streamgauge.gauge import connect


@click.command(short_help="Run statements; a prompt without any.")
@click.argument("text", required=False)
@home_option
@click.option(
    "--file", "-f", type=click.File("r", encoding="utf-8"), help="Statements of a file; - is stdin."
)
@click.option("--name", help="Name for the one SELECT that has none.")
@click.option("--new", is_flag=True, help="Make the home if there is none.")
@functions_option
@wait_option
@json_option
def sql(
    text: str | None,
    home: Path,
    file: Any,
    name: str | None,
    new: bool,
    allow_functions: tuple[str, ...],
    wait: float | None,
    as_json: bool,
) -> None:
    """Run the statements of TEXT, of a file or of standard input, all or none.

    Without any of them, on a terminal, a prompt opens, where statements end with a semicolon.
    Works while a job runs on the home; when none runs, changes wait in the inbox.
    """
    if new:
        connect(home)
    gauge = open_home(home, allow_functions)
    if text is not None and file is not None:
        raise click.UsageError("give a TEXT or a --file, not both")
    if text is None and file is None:
        if sys.stdin.isatty():
            Repl(home, console()).run()
            return
        text = sys.stdin.read()
    elif file is not None:
        text = file.read()
    assert text is not None
    # Paths in a file start from the file, as they do in a project.
    root = (
        Path(file.name).absolute().parent if file is not None and file.name != "<stdin>" else None
    )
    outcomes, settled = run_statements(gauge, text, name=name, wait=wait, root=root)
    if as_json:
        say_json({"statements": [outcome_json(item) for item in outcomes], "settled": settled})
    else:
        say(console(), outcomes, settled)
