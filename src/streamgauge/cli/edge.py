"""The command `edge`: an agent beside a source. It needs Python and click, nothing else."""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import click

from streamgauge.edge.agent import Agent
from streamgauge.edge.clock import wall_clock
from streamgauge.edge.link import Credentials
from streamgauge.edge.readings import open_readings
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import SECOND, duration

PATH = click.Path(exists=True, dir_okay=False, path_type=Path)


HELP = """Read values beside their source and send to URL only those that the answers need.

URL is the coordinator (http://host:port, https://host:port) or the broker between
(mqtt://, mqtts://, kafka://). Ctrl-C and SIGTERM deliver what is left, then end.

\b
--read stdin                     lines `key value [time]`; stdin?format=json or csv
--read tail:FILE                 the same, as FILE grows
--read host                      CPU, memory, load, network; host?every=5s
--read mqtt://HOST/plant/+/temp  what sensors publish; ?field=celsius
--read simulate:walk?n=10        random walks; also ramp, tags
"""


@click.command(short_help="Run an agent beside a source.", help=HELP)
@click.argument("url")
@click.option("--stream", required=True, help="The stream that the readings belong to.")
@click.option("--agent", default=socket.gethostname, help="Name of this agent. [default: the host]")
@click.option("--read", "source", default="stdin", show_default=True, help="Where readings are.")
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where reports wait, over restarts too. [default: memory only]",
)
@click.option("--token-file", type=PATH, metavar="FILE", help="The coordinator's token.")
@click.option("--user", help="User name at a broker.")
@click.option("--password-file", type=PATH, metavar="FILE", help="Password at a broker.")
@click.option("--ca", type=PATH, metavar="FILE", help="Certificates to believe.")
@click.option("--cert", type=PATH, metavar="FILE", help="This agent's certificate.")
@click.option("--key", type=PATH, metavar="FILE", help="Its private key.")
@click.option("--beat", default="1s", show_default=True, help="Longest silence.")
@click.option("--separator", default="/", show_default=True, help="Cuts a key into its parts.")
@click.option(
    "--settle", default="1min", show_default=True, help="When an object not read again is gone."
)
@click.option("--grace", default="5s", show_default=True, help="Time to deliver at the end.")
@click.option("--once", is_flag=True, help="Send what is there, wait for its receipt, then exit.")
@click.option(
    "--log",
    type=click.Choice(["text", "json", "none"]),
    default="text",
    show_default=True,
    help="Lines on stderr about the agent itself.",
)
def edge(
    url: str,
    stream: str,
    agent: str,
    source: str,
    state: Path | None,
    beat: str,
    separator: str,
    settle: str,
    grace: str,
    once: bool,
    log: str,
    **files: Any,
) -> None:
    """Read values beside their source and send only those that the answers need."""
    credentials = _credentials(**files)
    readings = open_readings(source, credentials)
    runner = Agent(
        url,
        stream,
        agent,
        state=state,
        credentials=credentials,
        beat=beat,
        separator=separator,
        settle=settle,
        log=_Lines(log),
    )
    asked: list[int] = []
    told = False
    with _signals(runner, asked):
        try:
            if not once or runner.contact(duration(grace) / SECOND):
                runner.run(readings, once=once)
        finally:
            readings.close()
            told = runner.stop(duration(grace) / SECOND)
    runner.check()
    if signal.SIGINT in asked:
        raise KeyboardInterrupt
    if not told and not asked:
        trouble, status = runner.trouble, runner.status()
        kept = (
            f"{status['unacknowledged']} reports wait" if status["reports"] else "nothing is kept"
        )
        raise SourceFailure(
            "not everything was delivered",
            f"{kept} after {grace}" + (f": {trouble.what}, {trouble.detail}" if trouble else ""),
            "start again with the same --state to deliver the rest, or give a longer --grace",
        )


class _Lines:
    """Events of the agent as lines on stderr."""

    def __init__(self, form: str) -> None:
        self._form = form

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        if self._form == "none":
            return
        at = datetime.fromtimestamp(wall_clock() / SECOND, UTC).isoformat(timespec="milliseconds")
        if self._form == "json":
            line = json.dumps({"at": at, "event": event, **facts})
        else:
            line = " ".join([at, event, *(f"{name}={fact}" for name, fact in facts.items())])
        click.echo(line, err=True)


@contextmanager
def _signals(runner: Agent, asked: list[int]) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the reading, once; a second Ctrl-C does not wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: FrameType | None) -> None:
        if number in asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.append(number)
        runner.halt()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def _credentials(
    token_file: Path | None,
    user: str | None,
    password_file: Path | None,
    ca: Path | None,
    cert: Path | None,
    key: Path | None,
) -> Credentials:
    if (cert is None) != (key is None):
        raise click.UsageError("--cert and --key go together")
    return Credentials(_secret(token_file), user, _secret(password_file), ca, cert, key)


def _secret(path: Path | None) -> str | None:
    """The first line of a file."""
    if path is None:
        return None
    text = path.read_text(encoding="utf-8").strip().splitlines()
    if not text:
        raise SourceFailure("a secret is empty", str(path), "write it into the first line")
    return text[0].strip()
