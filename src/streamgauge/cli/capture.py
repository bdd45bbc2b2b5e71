"""The command `capture`: packets of an interface as files that a stream takes."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from streamgauge.cli.as_json import json_option
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND, Instant, duration
from streamgauge.sources.packets.capture import KINDS, Capture, Filter, Written, prepare
from streamgauge.sources.packets.ring import Ring


@click.command(short_help="Write packets of an interface as files.")
@click.argument("interface")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--every", default="5 s", show_default=True, help="How long a file is gathered.")
@click.option(
    "--as",
    "kind",
    type=click.Choice(KINDS),
    default="packets",
    show_default=True,
    help="A row for each packet, each flow, or each host and second.",
)
@click.option(
    "--filter",
    "chosen",
    default="",
    metavar="TEXT",
    help="Such as 'tcp and host 10.0.0.7 and port 443'.",
)
@click.option("--for", "span", metavar="DURATION", help="Stop after so long; else at Ctrl-C.")
@click.option(
    "--ring",
    "blocks",
    type=click.IntRange(2, 4096),
    default=16,
    show_default=True,
    help="MiB that the kernel may fill before it drops packets.",
)
@json_option
def capture(
    interface: str,
    directory: Path,
    every: str,
    kind: str,
    chosen: str,
    span: str | None,
    blocks: int,
    as_json: bool,
) -> None:
    """Hear INTERFACE and write parquet files to DIRECTORY, for `sg.files(DIRECTORY)`.

    Linux only, and it needs the right to (root, or cap_net_raw). Files appear whole. What the
    kernel had to drop is told for each file, and with --as rates in the column dropped.
    """
    wide = duration(every)
    if wide <= 0:
        raise BindError("a file needs time", f"--every is {every!r}", "write --every 5s")
    fitting = Filter.read(chosen)
    total = [0, 0, 0]
    prepare()
    with Ring(interface, blocks=blocks) as ring, _until_stopped(span) as stop:
        heard = Capture(ring, directory, kind=kind, every=wide, chosen=fitting, now=_now)
        for written in heard.run(stop):
            _tell(written, as_json)
            total = [total[0] + 1, total[1] + written.packets, total[2] + written.dropped]
    click.echo(f"{total[0]} files, {total[1]} packets, {total[2]} dropped by the kernel", err=True)


def _now() -> Instant:
    return time.time_ns() // 1000


def _tell(written: Written, as_json: bool) -> None:
    if as_json:
        said = {"file": str(written.path), "rows": written.rows}
        click.echo(json.dumps({**said, "packets": written.packets, "dropped": written.dropped}))
        return
    lost = f", {written.dropped} packets dropped by the kernel" if written.dropped else ""
    click.echo(f"{written.path.name}: {written.rows} rows of {written.packets} packets{lost}")


@contextmanager
def _until_stopped(span: str | None) -> Iterator[threading.Event]:
    """An event that is set by Ctrl-C, by SIGTERM, or when the time is over."""
    stop = threading.Event()

    def halt(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = [(number, signal.signal(number, halt)) for number in (signal.SIGINT, signal.SIGTERM)]
    timer = None if span is None else threading.Timer(duration(span) / SECOND, stop.set)
    if timer is not None:
        timer.start()
    try:
        yield stop
    finally:
        if timer is not None:
            timer.cancel()
        for number, handler in before:
            signal.signal(number, handler)
