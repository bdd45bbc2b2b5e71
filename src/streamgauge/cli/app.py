"""The `streamgauge` command: its commands, and what becomes of an error."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from streamgauge.cli.as_json import wants_json
from streamgauge.kernel.errors import MissingRuntime, SourceFailure, StreamgaugeError

INTERRUPTED = 130

HELP = """Standing queries over live streams, each answer with its bar.

A gauge lives in a home directory, chosen with --home or STREAMGAUGE_HOME. One process runs it; any
number of others read it and change its queries meanwhile.

\b
First steps:
  streamgauge doctor          is everything here that is needed?
  streamgauge demo            live answers of a synthetic plant, on a page
  streamgauge run FILE.toml   run a project; then, from another terminal:
  streamgauge serve           the same over HTTP, with metrics
  streamgauge ls              what is asked, and the newest answers
  streamgauge answers -f      answers as they come
  streamgauge sql             ask in the language, at a prompt

\b
Exit codes:
  0    done
  1    any other error
  2    wrong usage; a query, stream, window or project file that does not fit
  3    a contract that cannot be held
  4    no query, stream or window of that name
  5    a source or a directory that cannot be read or written
  6    a home written by another release, or damaged
  7    Java, PySpark or a package is missing; doctor found something that fails
  8    the job stopped, or did not do what was asked in time
  9    two synopses that do not fit, or a question one cannot answer
  10   a text that is no statement of the language
  11   a target of a sink does not take answers
  12   answers that were cleared away
  13   state would take more memory than it may
  130  ended by Ctrl-C, after a clean stop (SIGTERM ends run and demo with 0)
"""


# Where each command is, in the order one meets them. A command is imported when it is called, so
# that `edge` runs on a machine that has nothing but Python.
COMMANDS = {
    "demo": "demo",
    "run": "run",
    "serve": "serve",
    "token": "serve",
    "plan": "plan",
    "plan-capacity": "capacity",
    "sql": "sql",
    "register": "changes",
    "ls": "queries",
    "show": "queries",
    "answers": "answers",
    "alter": "changes",
    "pause": "changes",
    "resume": "changes",
    "drop": "changes",
    "rescale": "rescale",
    "explain": "queries",
    "streams": "queries",
    "agents": "agents",
    "alerts": "alerts",
    "sinks": "sinks",
    "audit": "audit",
    "edge": "edge",
    "capture": "capture",
    "dead-letters": "answers",
    "export": "answers",
    "clear": "clear",
    "check": "check",
    "doctor": "doctor",
    "jars": "jars",
    "bench": "bench",
}


class Application(click.Group):
    """A group that prints errors in three parts and ends with their exit code.

    `places` says in which module a command is that is imported when it is called.
    """

    def __init__(self, *args: Any, places: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.places = dict(places or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Commands in the order one meets them."""
        return [*self.places, *self.commands]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Find a command, or import it."""
        if name not in self.places:
            return super().get_command(ctx, name)
        try:
            module = import_module(f"streamgauge.cli.{self.places[name]}")
        except ModuleNotFoundError as error:
            return _absent(name, error.name or "?")
        found: click.Command = getattr(module, name.replace("-", "_"))
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; turn what a user can act on into a message and an exit code."""
        try:
            return super().invoke(ctx)
        except StreamgaugeError as error:
            code = _tell(ctx, error)
        except KeyboardInterrupt:
            code = INTERRUPTED
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            code = _tell(ctx, _as_failure(error))
        return ctx.exit(code)


def _tell(ctx: click.Context, error: StreamgaugeError) -> int:
    if wants_json(ctx):
        click.echo(json.dumps(error.as_dict()), err=True)
    else:
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        click.echo(str(error), err=True)
    return error.exit_code


def _absent(name: str, module: str) -> click.Command:
    """A command that says what it would need."""

    def refuse(args: tuple[str, ...]) -> None:
        raise MissingRuntime(
            f"the command {name} needs what is not installed",
            f"no module named {module!r}",
            "pip install 'streamgauge[spark]'; streamgauge[edge] is enough for edge alone",
        )

    rest = click.Argument(["args"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True}
    short = "Needs streamgauge[spark]."
    return click.Command(name, settings, refuse, [rest], short_help=short)


def _as_failure(error: OSError) -> SourceFailure:
    return SourceFailure(
        f"cannot use {error.filename or 'a file'}",
        error.strerror or str(error),
        "check that it exists, that this user may use it, and that the disk is not full",
    )


@click.group(
    cls=Application,
    places=COMMANDS,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="streamgauge", message="%(prog)s %(version)s")
def main() -> None:
    """Enter here; see HELP."""
