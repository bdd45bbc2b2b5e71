"""What a kind of source is: how it is written, which options it has, what feeds its streams.

The language, statements, project files, the learning of columns and the reference are derived from
it. What lies in other folders stands here by its dotted name and is loaded when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from streamgauge.kernel.time import duration_text

if TYPE_CHECKING:
    from streamgauge.sources.declare import Source

# How the value of an option is written in a statement: 'text', a name, a word in small letters, a
# number, a whole number, an instant, a duration or a positive one, several texts.
Takes: TypeAlias = Literal[
    "", "text", "name", "word", "number", "whole", "moment", "span", "positive", "texts"
]
# How it is written in a project file: as any text, as whatever it is, as a file.
InToml: TypeAlias = Literal["", "text", "raw", "positive", "whole", "number", "file", "settings"]
Given: TypeAlias = dict[str, Any]


class Incoming(Protocol):
    """A home, as far as what writes the rows of a stream knows it."""

    def incoming(self, stream: str) -> Path:
        """The folder whose parquet files become rows of a stream."""


class FeedSite(NamedTuple):
    """Where a feed writes, and what it may use.

    `session` is that of Spark, None on the local engine; `frame` the streaming DataFrame that the
    stream is, if any; `checkpoint` a place for the notes of Spark.
    """

    home: Any
    session: Any
    frame: Any
    checkpoint: str


_FORMS = {
    "text": "'text'", "name": "name", "word": "name", "number": "n", "whole": "n",
    "moment": "'instant'", "span": "t", "positive": "t", "texts": "'text', ...",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a source, by the name of the argument that it sets.

    Parameters
    ----------
    name
        The argument; TIME UNIT in a statement for `time_unit`.
    takes
        How its value is written in a statement; empty: it is one of the choices.
    choices
        Words that may follow instead, with the values they stand for; no word: a flag.
    toml
        How it is written in a project file; empty: not there.
    file
        Whether it names a file, found from where the statement is written.
    as_text
        Whether a duration is handed over as a text.
    known
        The values that it may have.
    read
        Makes the value of what is written.
    """

    name: str
    takes: Takes = ""
    choices: tuple[tuple[str, Any], ...] = ()
    toml: InToml = ""
    file: bool = False
    as_text: bool = False
    known: tuple[str, ...] = ()
    read: Callable[[Any], Any] | None = None

    @property
    def written(self) -> bool:
        """Whether a statement can have it."""
        return bool(self.takes or self.choices)

    @property
    def form(self) -> str:
        """How a statement has it.

        >>> Option("speed", "number", choices=(("MAX", "max"),)).form
        'SPEED n|MAX'
        """
        known = "|".join(self.known) or _FORMS.get(self.takes, "")
        told = [*([known] if self.takes else []), *(word for word, _ in self.choices)]
        return f"{self.words} {'|'.join(told)}".rstrip()

    @property
    def words(self) -> str:
        """Its keywords.

        >>> Option("time_unit", "word").words
        'TIME UNIT'
        """
        return self.name.replace("_", " ").upper()


@dataclass(frozen=True, slots=True)
class Address:
    """What stands after the name of a source, as a text.

    Parameters
    ----------
    name
        The argument that it sets.
    example
        One in its form.
    needed
        Whether it must be written.
    local
        Whether it is a directory or a file, found from where the statement is written.
    """

    name: str
    example: str
    needed: bool = True
    local: bool = False


def _as_given(given: Given) -> Given:
    return given


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source.

    Parameters
    ----------
    name
        How it is written after FROM, and how it is stored.
    made
        Makes the source from its address and options, by name.
    text
        What rows come from, a sentence for the reference.
    columns
        "module:name" of what tells the columns of a source, or raises where they must be declared.
    feed
        "module:name" of what makes the feed of a stream from it and a FeedSite; none: the lander
        finds its files by itself.
    writer
        "module:name" of what makes, from a stream and its home, a function that writes parquet
        files into the folder of the stream until the event that it is given is set; instead of
        a feed.
    refuse
        "module:name" of what raises where a stream cannot be fed, from it, session and frame.
    address
        What is written after its name.
    then, then_needed
        An option that is written right after the address, and whether it must be.
    numbers, brackets, too_many
        Options that are written as numbers after the name, in brackets if there are several; the
        error of too many of them.
    options
        All others.
    formats
        Formats that its rows may have.
    prepared
        Options as they are handed over, from those that a statement has.
    usual
        Time, key and width of a stream that declares none of them and no columns.
    batches
        Whether its rows land in batches, each a folder with a manifest.
    beside
        Columns that come with each of its records, with the types that they may be read as.
    parsed
        Whether its rows are parsed before they are written: their times are microseconds then.
    buries
        Whether dead letters are kept by whoever writes its files.
    waits_for_lanes
        Whether it has lanes that are waited for until they have been silent for its idle time.
    how_to
        Page of the documentation that shows it, in docs/how-to.
    learns
        Whether later files may widen the columns that were learned.
    declared
        Whether statements and project files can name it.
    """

    name: str
    made: Callable[..., Source]
    text: str
    columns: str
    feed: str = ""
    writer: str = ""
    refuse: str = ""
    address: Address | None = None
    then: Option | None = None
    then_needed: bool = False
    numbers: tuple[Option, ...] = ()
    brackets: bool = False
    too_many: tuple[str, str] = ("", "")
    options: tuple[Option, ...] = ()
    formats: tuple[str, ...] = ()
    prepared: Callable[[Given], Given] = _as_given
    usual: tuple[str, str, str] | None = None
    batches: bool = False
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parsed: bool = False
    buries: bool = False
    waits_for_lanes: bool = False
    how_to: str = ""
    learns: bool = False
    declared: bool = True

    @property
    def written(self) -> str:
        """What stands after FROM in a statement, up to the options."""
        parts = [self.name.upper()]
        if self.address:
            told = f"'{self.address.example}'"
            parts.append(told if self.address.needed else f"[{told}]")
        if self.numbers:
            told = ", ".join(option.name for option in self.numbers)
            parts.append(f"[({told})]" if self.brackets else f"[{told}]")
        if self.then:
            told = self.then.form
            parts.append(told if self.then_needed else f"[{told}]")
        return " ".join(parts)

    @property
    def all_options(self) -> tuple[Option, ...]:
        """Its options, wherever they are written."""
        return (*((self.then,) if self.then else ()), *self.numbers, *self.options)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of its table in a project file."""
        address = (self.address.name,) if self.address else ()
        return ("kind", *address, *(option.name for option in self.all_options if option.toml))

    def handed(
        self, path: str, root: Path, options: Mapping[str, Any], found: Path | None
    ) -> Given:
        """Arguments of `made`, from the address and the options of a statement.

        Parameters
        ----------
        path
            The address as it is written.
        root
            Where the statement is written.
        options
            Options by name; others than those of this source are left out.
        found
            The address as a path, of one that is local.
        """
        written = (option for option in self.all_options if option.name in options)
        given = {o.name: _handed(o, options[o.name], root) for o in written if o.written}
        if self.address and (path or self.address.needed):
            given[self.address.name] = path if found is None else found
        return self.prepared(given)


def _handed(option: Option, value: Any, root: Path) -> Any:
    if option.file:
        return root / value
    return duration_text(value) if option.as_text else value
