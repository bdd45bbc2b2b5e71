"""RowChange: a row that came to a standing query's answer, or went from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from streamgauge.contracts.picture import row_change_html
from streamgauge.kernel.time import Instant, instant_text


@dataclass(frozen=True, slots=True)
class RowChange:
    """One change of one view.

    Parameters
    ----------
    query, version
        Which view: its name and the version of its text.
    row
        The row, by column.
    count
        Copies that came, or went when negative.
    as_of
        Instant of the change, in event time.
    epoch
        Journal page in which it was made.
    missing
        Late rows that the windows behind it should hold and do not.
    contract_met
        Whether the row is exact: nothing is missing and the windows are whole.
    share
        Share of the regions that were looked at when it was found; under 1 when a budget did not
        reach, and then some rows are not given.
    unseen
        About how many rows of the answer were not found, then.
    coverage
        Share of the windows behind the row from which no row is missing; under 1 when they reach
        back further than what the stream keeps.

    Examples
    --------
    >>> print(RowChange("hot", {"room": "a", "heat": 31.5}, 1, as_of=0))
    hot + room=a heat=31.5, as of 1970-01-01T00:00:00Z
    """

    query: str
    row: dict[str, Any] = field(hash=False)
    count: int
    as_of: Instant
    version: int = 1
    epoch: int = 0
    missing: int = 0
    contract_met: bool = True
    share: float = 1.0
    unseen: float = 0.0
    coverage: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        """The one JSON shape of a change of rows."""
        return {
            "query": self.query,
            "version": self.version,
            "row": {name: _plain(value) for name, value in self.row.items()},
            "count": self.count,
            "as_of": instant_text(self.as_of),
            "epoch": self.epoch,
            "missing": self.missing,
            "contract_met": self.contract_met,
            "share": self.share,
            "unseen": self.unseen,
            "coverage": self.coverage,
        }

    def _repr_html_(self) -> str:
        return row_change_html(self)

    def __str__(self) -> str:
        sign = "+" if self.count > 0 else "-"
        times = f" x{abs(self.count)}" if abs(self.count) != 1 else ""
        cells = " ".join(f"{name}={_plain(value)}" for name, value in self.row.items())
        missing = f", {self.missing} late rows missing" if self.missing else ""
        seen = "" if self.coverage == 1.0 else f", covers {100 * self.coverage:.3g}%"
        if self.share < 1.0:
            seen += f", looked at {100 * self.share:.3g}%, about {self.unseen:.3g} rows unseen"
        as_of = instant_text(self.as_of)
        return f"{self.query} {sign} {cells}{times}{missing}{seen}, as of {as_of}"


def _plain(value: Any) -> Any:
    """A cell as JSON can say it."""
    return value.isoformat() if hasattr(value, "isoformat") else value
