"""The prompt: keys in, results out; on a pipe of keys, and on a real terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.cli.reading import expected_registry
from streamgauge.cli.repl import Repl, StatementCompleter

pytestmark = pytest.mark.slow

TOTAL = "SELECT SUM(value) FROM rows [RANGE 2 SECONDS] EVERY 2 SECONDS"
COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07|\r")


def typed(home: Path, keys: str) -> str:
    """What the prompt says to some keys."""
    said = io.StringIO()
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text(keys)
        Repl(
            home, Console(file=said, width=160, markup=False), input=pipe, output=DummyOutput()
        ).run()
    return said.getvalue()


def test_statements_take_several_lines(home: Path) -> None:
    said = typed(home, f"CREATE QUERY total AS\r{TOTAL}\r;\rSHOW QUERIES;\r\\q\r")
    assert "registered total" in said
    assert "4 rows" in said
    assert "no job is running on this home" in said
    assert "total" in expected_registry(sg.connect(home, engine="local").home).queries


def test_an_error_is_told_and_the_prompt_goes_on(home: Path) -> None:
    said = typed(home, "SELECT AVG(value) FORM rows;\rSHOW STREAMS;\r\\q\r")
    assert "error: " in said
    lines = said.splitlines()
    (at,) = [n for n, line in enumerate(lines) if line.strip().strip("^") == "" and "^" in line]
    assert lines[at].index("^") == lines[at - 1].index("FORM")
    assert "1 rows" in said


def test_help_an_empty_line_and_the_end_of_the_input(home: Path) -> None:
    said = typed(home, "\\h\r\r;\r\x04")
    assert "WATCH heat;" in said


def test_ctrl_c_clears_the_line(home: Path) -> None:
    said = typed(home, "DROP QUERY seen\x03SHOW WINDOWS;\r\\q\r")
    assert "0 rows" in said
    assert "dropped" not in said


def test_watch_shows_the_newest_answers(home: Path) -> None:
    said = typed(home, "WATCH sites;\rwatch nothing\r\\q\r")
    assert "north" in said
    assert "no job is running" in said
    assert "no query named 'nothing'" in said


def test_what_was_typed_is_kept_in_the_home(home: Path) -> None:
    typed(home, "SHOW WINDOWS;\r\\q\r")
    assert "+SHOW WINDOWS;" in (home / "sql-history").read_text()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SEL", "SELECT"),
        ("select val", "value"),
        ("SELECT AVG(value) FROM ro", "rows"),
        ("DROP QUERY new", "newest"),
    ],
)
def test_words_are_completed(home: Path, text: str, found: str) -> None:
    event = CompleteEvent(completion_requested=True)
    given = list(StatementCompleter(home).get_completions(Document(text), event))
    assert found in [item.text for item in given]
    begun = re.split(r"\W", text)[-1]
    assert all(item.text.lower().startswith(begun.lower()) for item in given)


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, *command: str) -> None:
        self.main, other = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, close_fds=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
            start_new_session=True, preexec_fn=_own_terminal,
        )  # fmt: skip
        os.close(other)
        os.set_blocking(self.main, False)
        self.said = ""

    def type(self, text: str) -> None:
        os.write(self.main, text.encode())

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self._read(), seconds=180, what=f"{text!r} in {self.said!r}")

    def interrupt(self) -> None:
        """Type Ctrl-C and wait for the prompt: a terminal drops what is typed behind it at once."""
        shown = self.said.count("gauge>")
        self.type("\x03")
        wait_until(lambda: self._read().count("gauge>") > shown, seconds=180, what="the prompt")

    def _read(self) -> str:
        # Nothing to read yet, or the process has ended.
        with suppress(OSError):
            self.said += COLOURS.sub("", os.read(self.main, 65536).decode(errors="replace"))
        return self.said


def _own_terminal() -> None:
    # As a shell does for what it starts in the background.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(0, True)
    os.close(os.open(os.ttyname(0), os.O_RDWR))


@contextmanager
def terminal(*command: str) -> Iterator[Terminal]:
    opened = Terminal(*command)
    try:
        yield opened
    finally:
        opened.process.kill()
        opened.process.wait()
        os.close(opened.main)


@pytest.mark.kills
def test_a_real_terminal(home: Path) -> None:
    command = (sys.executable, "-m", "streamgauge", "sql", "--home", str(home))
    with terminal(*command) as opened:
        opened.wait_for("gauge>")
        opened.type("SHOW STREAMS;\r")
        opened.wait_for("1 rows")
        opened.type("WATCH sites;\r")
        opened.wait_for("Ctrl-C ends")
        opened.interrupt()
        opened.type("DESCRIBE rows;\r")
        opened.wait_for("4 rows")
        opened.type("EXPL\t")
        opened.wait_for("EXPLAIN")
        opened.type(" seen;\r")
        opened.wait_for("kept back 0 of the error")
        opened.type("\\q\r")
        wait_until(lambda: opened.process.poll() is not None, seconds=120)
        assert opened.process.returncode == 0
