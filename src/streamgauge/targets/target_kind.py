"""What a kind of target is: how it is written, which addresses it takes, and who delivers there.

The language, what is stored and shown, the form of the page and the reference are derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Literal, NamedTuple, TypeAlias

# What is delivered: crossings of alerts, or the answers of queries.
Goods: TypeAlias = Literal["alerts", "answers"]


class AlertSite(NamedTuple):
    """Where alerts are sent from.

    `origin` tells the watcher of this home from others; `allowed` are networks that are not public
    and may be reached all the same.
    """

    origin: str
    allowed: Sequence[IPv4Network | IPv6Network] = ()


class SinkSite(NamedTuple):
    """Whose answers are written: the home, its sink, and the epoch of the birth of that."""

    origin: str
    sink: str
    born: int


@dataclass(frozen=True, slots=True)
class Detail:
    """What is written of a target after its address.

    Parameters
    ----------
    word
        Keyword before it: TOPIC.
    label
        What it is called in forms.
    sample
        A text in its form.
    """

    word: str
    label: str
    sample: str


def _nothing(_address: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target.

    Parameters
    ----------
    name
        How it is written after TO, and how it is stored.
    title
        What it is called in forms and errors.
    address
        What an address of it is, in forms.
    example
        An address in its form.
    check
        Raises BindError unless an address and its detail can be used; told what is delivered.
    shown
        The target as people see it, without what may be secret.
    text
        What arrives there, a sentence.
    detail
        What is written after the address, if anything.
    login
        Whether a login can follow.
    formats
        What FORMAT can say of the answers of a sink.
    sender
        "module:name" of what makes the sender of an alert from a target and an AlertSite; none: no
        alert is delivered there.
    writer
        "module:name" of what makes the writer of a sink from a target and a SinkSite; none: no
        sink delivers there.
    refuses_rows
        Why changes of rows cannot be delivered there; empty where they can.
    is_a
        What an address is: a directory is found from where a statement is written, and clients may
        name those in a data root only; of a database they may name no files.
    refuse_stored
        Raises BindError for an address whose secret would be stored.
    secret
        The password in an address.
    secret_address
        Whether the whole address may be a secret, and is kept out of the history of the shell.
    """

    name: str
    title: str
    address: str
    example: str
    check: Callable[[str, str, Goods], None]
    shown: Callable[[str, str], str]
    text: str
    detail: Detail | None = None
    login: bool = False
    formats: tuple[str, ...] = ()
    sender: str = ""
    writer: str = ""
    refuses_rows: str = ""
    is_a: Literal["text", "directory", "database"] = "text"
    refuse_stored: Callable[[str], object] = _nothing
    secret: Callable[[str], str] = _nothing
    secret_address: bool = False

    @property
    def written(self) -> str:
        """Its form in a statement."""
        after = f" {self.detail.word} '{self.detail.sample}'" if self.detail else ""
        form = f" [FORMAT {'|'.join(self.formats)}]" if self.formats and self.writer else ""
        return f"TO {self.name.upper()} '{self.example}'{after}{form}" + " [login]" * self.login
