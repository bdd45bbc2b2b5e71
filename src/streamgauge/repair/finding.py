"""Findings: what is wrong with a file of a data directory, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.files import reading

# What a repair does with a file; none of it loses anything that was acknowledged.
REMOVE = "removes it"
SET_ASIDE = "moves it to damaged/"
RECOMPUTE = "computes it again from the journal"
REWRITE = "writes it again from what the other files say"

Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Parameters
    ----------
    path
        The file, below the data directory where it lies in it.
    what
        What it is.
    problem
        What is wrong with it.
    means
        What follows from that.
    repair
        What `--repair` does; empty where it can do nothing without losing something.
    advice
        What to do where `repair` is empty.
    harmless
        A leftover of a crash, which nothing reads.
    repaired
        Whether the repair was made.
    failure
        Why it could not be made.
    """

    path: str
    what: str
    problem: str
    means: str
    repair: str = ""
    advice: str = ""
    harmless: bool = False
    repaired: bool = False
    failure: str = ""

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class HomeReport:
    """What was found in a data directory.

    Examples
    --------
    >>> HomeReport("/data", 12, ()).sound
    True
    """

    home: str
    files: int
    findings: tuple[Finding, ...]

    @property
    def left(self) -> tuple[Finding, ...]:
        """What is wrong and was not repaired."""
        return tuple(f for f in self.findings if not (f.repaired or f.harmless))

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, or nothing any more."""
        return not self.left

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        found = [finding.as_dict() for finding in self.findings]
        return {"home": self.home, "sound": self.sound, "files": self.files, "findings": found}


@dataclass(slots=True)
class Notes:
    """What one look at a data directory has found so far."""

    root: Path
    tell: Tell = lambda _: None
    files: int = 0
    findings: list[Finding] = field(default_factory=list)

    def add(self, path: Path, what: str, problem: str, means: str, **more: Any) -> None:
        """Note something that is wrong."""
        inside = path.is_relative_to(self.root)
        name = path.relative_to(self.root).as_posix() if inside else str(path)
        self.findings.append(Finding(name, what, problem, means, **more))

    def seen(self) -> None:
        """Count one more file."""
        self.files += 1
        self.tell(self.files)

    @contextmanager
    def looking(self, path: Path, what: str, means: str, **more: Any) -> Iterator[None]:
        """Note what a reader of a file raises; a file that is gone is noted too."""
        self.seen()
        try:
            with reading(path, what):
                yield
        except FileNotFoundError:
            self.add(path, what, "it is absent", means, **more)
        except StreamgaugeError as error:
            self.add(path, what, error.detail.removeprefix(f"{path}: "), means, **more)
        except (OSError, pa.ArrowException) as error:
            self.add(path, what, str(error), means, **more)

    def settle(self, finding: Finding, failure: str = "") -> None:
        """Note that something was repaired, or why it was not."""
        place = self.findings.index(finding)
        self.findings[place] = replace(finding, repaired=not failure, failure=failure)
