"""The prompt of the language: statements in, answers out, until it is left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from rich.console import Console
from rich.text import Text

from streamgauge.cli.options import open_home
from streamgauge.cli.reading import expected_registry
from streamgauge.cli.said import run_statements, say
from streamgauge.cli.signals import clean_signals
from streamgauge.cli.watching import watch_query
from streamgauge.execute.known import known_names
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.masking import masked
from streamgauge.language.complete import complete
from streamgauge.log import lock
from streamgauge.targets.table import KINDS

HISTORY = "sql-history"
_HIDDEN = "|".join(name.upper() for name, kind in KINDS.items() if kind.secret_address)
_SECRET_ADDRESS = re.compile(rf"(\b(?:{_HIDDEN})\s+)'(?:[^']|'')*'", re.IGNORECASE)
PROMPT = "gauge> "
MORE = "   ... "
HELP = """Statements end with a semicolon and may take several lines.
  SHOW STREAMS;  SHOW QUERIES;  DESCRIBE plant;    what there is
  SELECT AVG(value) FROM plant [RANGE 5 MINUTES] EVERY 1 MINUTE;
  CREATE QUERY heat AS SELECT ...;  DROP QUERY heat;
  EXPLAIN SELECT ...;  EXPLAIN heat;               what it would cost, and why
  WATCH heat;                                      its answers, live, until Ctrl-C
Tab completes, the arrows go back, Ctrl-C clears the line.
  \\h  this help      \\q  leave (so does Ctrl-D)"""
_WATCH = re.compile(r'\s*WATCH\s+"?([^";]+?)"?\s*;?\s*$', re.IGNORECASE)


def ready(text: str) -> bool:
    """Whether a text is to be run when Enter is pressed.

    >>> ready("SELECT 1"), ready("SELECT 1;"), ready("watch heat")
    (False, True, True)
    """
    bare = text.strip()
    return not bare or bare.endswith(";") or bare.startswith("\\") or _WATCH.match(bare) is not None


class History(FileHistory):
    """Statements that were typed, in a file of the home, without the secrets in them."""

    def store_string(self, string: str) -> None:
        """Keep a statement; an address, such as that of a webhook, may be a secret as a whole."""
        super().store_string(_SECRET_ADDRESS.sub(r"\1'***'", masked(string)))


class StatementCompleter(Completer):
    """Completes what can come at the cursor: keywords of the grammar, and names that fit there.

    Parameters
    ----------
    home
        Directory of the gauge; it is read anew each time, since others may change it.
    """

    def __init__(self, home: Path) -> None:
        self.home = home

    def get_completions(
        self, document: Document, _complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Words that can stand where the cursor is."""
        known = known_names(expected_registry(open_home(self.home).home))
        place = document.cursor_position
        found = complete(document.text, place, known)
        for word, kind in found.words:
            yield Completion(word, start_position=found.start - place, display_meta=kind)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if ready(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


class Repl:
    """Reads statements and runs them on a home.

    Parameters
    ----------
    home
        Directory of the gauge.
    terminal
        Where results go.
    input, output
        Where keys come from and the prompt goes; the terminal when None.
    """

    def __init__(
        self,
        home: Path,
        terminal: Console,
        *,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.home = home
        self.terminal = terminal
        self.session: PromptSession[str] = PromptSession(
            history=History(str(home / HISTORY)),
            completer=StatementCompleter(home),
            complete_while_typing=False,
            key_bindings=_keys(),
            multiline=True,
            prompt_continuation=MORE,
            input=input,
            output=output,
        )

    def run(self) -> None:
        """Go on until it is left, or the input ends."""
        self.terminal.print(f"home {self.home}; \\h helps, \\q leaves", soft_wrap=True)
        if not lock.held(self.home):
            self.terminal.print(
                "no job is running on this home: changes wait in its inbox, answers stand still",
                style="yellow",
                soft_wrap=True,
            )
        with clean_signals():
            while (text := self._entry()) is not None:
                self.answer(text)

    def _entry(self) -> str | None:
        """What is typed next; None at the end."""
        while True:
            try:
                text = self.session.prompt(PROMPT)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return None
            return None if text.strip() in ("\\q", "\\q;") else text

    def answer(self, text: str) -> None:
        """Run one entry; an error is told, and the prompt goes on."""
        bare = text.strip()
        try:
            if bare.startswith("\\"):
                self.terminal.print(HELP)
            elif found := _WATCH.match(bare):
                watch_query(open_home(self.home), found[1], self.terminal)
            elif bare.strip(";"):
                # Another process may have changed the home since the last entry.
                gauge = open_home(self.home)
                say(self.terminal, *run_statements(gauge, text, name=None, wait=None))
        except StreamgaugeError as error:
            self.terminal.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)
        except KeyboardInterrupt:
            self.terminal.print("interrupted", style="dim")
