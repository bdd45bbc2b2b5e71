"""The `streamgauge` command: its commands, and what becomes of an error."""

from __future__ import annotations

import errno
import json
from typing import Any

import click

from streamgauge.cli.answers import answers, dead_letters, export
from streamgauge.cli.bench import bench
from streamgauge.cli.changes import alter, drop, pause, register, resume
from streamgauge.cli.demo import demo
from streamgauge.cli.doctor import doctor
from streamgauge.cli.options import wants_json
from streamgauge.cli.plan import plan
from streamgauge.cli.queries import explain, ls, show, streams
from streamgauge.cli.run import run
from streamgauge.cli.sql import sql
from streamgauge.kernel.errors import SourceFailure, StreamgaugeError

INTERRUPTED = 130

HELP = """Standing queries over live streams, each answer with its bar.

A gauge lives in a home directory, chosen with --home or STREAMGAUGE_HOME. One process runs it; any
number of others read it and change its queries meanwhile.

\b
First steps:
  streamgauge doctor          is everything here that is needed?
  streamgauge demo            live answers of a synthetic plant
  streamgauge run FILE.toml   run a project; then, from another terminal:
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
  130  ended by Ctrl-C, after a clean stop (SIGTERM ends run and demo with 0)
"""


class Application(click.Group):
    """A group that prints errors in three parts and ends with their exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Commands in the order one meets them."""
        return list(self.commands)

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


def _as_failure(error: OSError) -> SourceFailure:
    return SourceFailure(
        f"cannot use {error.filename or 'a file'}",
        error.strerror or str(error),
        "check that it exists, that this user may use it, and that the disk is not full",
    )


@click.group(cls=Application, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="streamgauge", message="%(prog)s %(version)s")
def main() -> None:
    """Enter here; see HELP."""


for _command in (
    demo,
    run,
    plan,
    sql,
    register,
    ls,
    show,
    answers,
    alter,
    pause,
    resume,
    drop,
    explain,
    streams,
    dead_letters,
    export,
    doctor,
    bench,
):
    main.add_command(_command)
