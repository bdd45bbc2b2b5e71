"""Reading: the rows of a page, read once with the columns of all that works on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.calendar import Calendar, merged
from streamgauge.engine.partial import Partial
from streamgauge.engine.rows import Columns, read_columns, read_in_place
from streamgauge.engine.slices import report_values
from streamgauge.log.home import Home
from streamgauge.log.journal import Page, Segment


@dataclass(frozen=True, slots=True)
class Wanted:
    """Columns that are read of a stream: as numbers, as names, and as they stand in the log.

    `checked` are columns that somebody will take as numbers, so that what is none is noted.

    Examples
    --------
    >>> Wanted(("x",), ("k",)).joined(Wanted(("x", "y"), logged=("n",)))
    Wanted(numbers=('x', 'y'), words=('k',), logged=('n',), checked=())
    """

    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    logged: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, list[str]]:
        """JSON form."""
        return {name: list(columns) for name, columns in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, list[str]]) -> Wanted:
        """Read the JSON form."""
        return cls(**{name: tuple(columns) for name, columns in data.items()})

    def joined(self, other: Wanted) -> Wanted:
        """What two want together."""
        return Wanted(
            _each(self.numbers, other.numbers),
            _each(self.words, other.words),
            _each(self.logged, other.logged),
            _each(self.checked, other.checked),
        )


def _each(*lists: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in lists for name in names))


@dataclass(frozen=True, slots=True)
class Brought:
    """Rows of a stream that came with a page: their calendar, and batches in order of arrival.

    `batches` have the rows that inputs and operators take columns of. What was made for an input
    already is in `inputs`, and rows that were added up in `cells`, by the text of the key of their
    table. `logged` has the rows that a shard works on where they are split, as they stand in the
    log, by how they are split. `whole` is false where rows were sent, which are not all rows.
    """

    calendar: Calendar = field(default_factory=Calendar)
    batches: Sequence[RowBatch] = ()
    inputs: Mapping[str, Sequence[RowBatch]] = field(default_factory=dict)
    cells: Mapping[str, Sequence[Partial]] = field(default_factory=dict)
    logged: Mapping[str, Sequence[RowBatch]] = field(default_factory=dict)
    whole: bool = True

    def alone(self) -> Brought:
        """The same rows for somebody else, who takes columns of them."""
        return Brought(self.calendar, self.batches, logged=self.logged)


def read_page(home: Home, plan: Columns, page: Page, wanted: Wanted) -> Brought:
    """The rows of a stream in a page, its segments read once."""
    batches = [
        read_batch(home, plan, (page.number, serial), segment, wanted)
        for serial, segment in enumerate(page.segments)
        if segment.stream == plan.stream.name
    ]
    return Brought(merged([batch.calendar(plan.stream.tick) for batch in batches]), batches)


def read_batch(
    home: Home,
    plan: Columns,
    place: tuple[int, int],
    segment: Segment,
    wanted: Wanted,
    start: int = 0,
) -> RowBatch:
    """The rows of a segment, or of a part of it from a row on; what is no number is noted."""
    table = read_columns(
        plan, segment, wanted.numbers, wanted.words, (*wanted.checked, *wanted.logged)
    )
    checked = read_in_place(plan, wanted.numbers)
    report_values(home, place, segment, table, _each(checked, wanted.checked))
    batch = RowBatch.of(plan.stream, segment, table, place, start)
    return batch.grown(plan, wanted.numbers, wanted.words)
