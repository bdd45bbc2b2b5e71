"""Measured: what a standing query has done so far, for EXPLAIN ANALYZE.

All is read from committed epochs: the change log since this version of the query, the state, and
the commits. Nothing is counted while the job runs.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.contracts.contract import Contract
from streamgauge.engine.kept import Kept, kept
from streamgauge.execute.measured_promise import promising
from streamgauge.kernel.time import instant_text
from streamgauge.plan.registry import Standing
from streamgauge.plan.technique import has_report, report
from streamgauge.plan.view import View
from streamgauge.reading import Reader
from streamgauge.results.change_log import commits

Line = tuple[str, str]
# Epochs whose seconds are averaged.
RECENT = 10
# Names of silent series in a line.
MOST_SILENT = 20


def measured(reader: Reader, name: str) -> str:
    """What a query has done, as text: one line for each figure."""
    epoch = reader.home.committed()
    standing = reader.registry().queries.get(name)
    if standing is None:
        return f"measured: nothing, it begins after epoch {epoch}"
    given = _rows if isinstance(standing.asked, View) else _numbers
    found: list[Line] = [
        *given(reader, standing),
        *_promising(reader, standing),
        *(("state", _kept_text(part)) for part in kept(reader.home, name)),
        *_epochs(reader, standing),
    ]
    width = max(len(title) for title, _ in found) + 2
    body = "\n".join(f"  {title.ljust(width)}{text}" for title, text in found)
    return f"measured up to epoch {epoch}\n{body}"


def _promising(reader: Reader, standing: Standing) -> list[Line]:
    """Overload, probes and regions of a promising query."""
    if standing.asked.promise is None:
        return []
    return promising(reader.registry(), standing, report("figures")(reader.home, standing))


def _kept_text(part: Kept) -> str:
    return f"{part.what}: {part.count:,}, {part.nbytes:,} bytes"


def _many(count: int, of: str) -> str:
    return f"{count:,} {of}" if count == 1 else f"{count:,} {of}s"


def _numbers(reader: Reader, standing: Standing) -> list[Line]:
    """Answers, their bars against what is owed, and who widened them."""
    table = reader.answers(standing.name, since_epoch=_begin(reader, standing))
    if not table.num_rows:
        return [("answers", "none")]
    again = pc.sum(pc.greater(table["revision"], 0)).as_py() or 0
    instants, groups = (len(pc.unique(table[name])) for name in ("as_of", "group"))
    parts = [f"{table.num_rows:,} at {_many(instants, 'instant')}"]
    parts += [_many(groups, "group")] if groups > 1 else []
    parts += [f"{again:,} given again"] if again else []
    met = pc.sum(table["contract_met"]).as_py() or 0
    return [
        ("answers", ", ".join([*parts, _newest(table)])),
        ("bars", _bars_text(table, standing.query.contract)),
        ("contract", _share_text(met, table.num_rows)),
        *_charges(table),
        *_deferred(reader, standing),
    ]


def _deferred(reader: Reader, standing: Standing) -> list[Line]:
    """Regimes, models, evaluations saved and deadlines of a deferred query."""
    if not has_report(standing, "deferrals"):
        return []
    cells = reader.deferrals(standing.name)
    timed = pc.sum(pc.equal(cells["regime"], "timer")).as_py() or 0
    sums = ("checks", "evaluations", "missed")
    checks, made, missed = (pc.sum(cells[name]).as_py() or 0 for name in sums)
    sigma, drift, wait = (np.asarray(cells[n].to_numpy()) for n in ("sigma", "drift", "wait"))
    saved = 100.0 * (1.0 - made / checks) if checks else 0.0
    due = pc.min(cells["due"].cast(pa.int64())).as_py()
    deadline = "at every tick" if due is None else instant_text(due)
    return [
        ("regimes", f"{timed:,} by timer, {cells.num_rows - timed:,} by watch"),
        ("model", f"sigma {_spread(sigma)} a root second, drift {_spread(drift)} a second"),
        ("evaluations", f"{made:,} of {checks:,} checks, {saved:.3g}% saved"),
        ("waits", f"{_spread(wait)} s"),
        ("next deadline", deadline),
        ("late deadlines", f"{missed:,}, penalty {pc.sum(cells['penalty']).as_py() or 0.0:.3g}"),
        ("silent series", _silent(cells["silent_series"].to_pylist())),
    ]


def _silent(cells: list[list[str]]) -> str:
    """Names of the silent series of all cells, the first of them; none where all send."""
    names = sorted({name for cell in cells for name in cell})
    more = f" and {len(names) - MOST_SILENT:,} more" if len(names) > MOST_SILENT else ""
    return ", ".join(names[:MOST_SILENT]) + more or "none"


def _spread(values: np.ndarray) -> str:
    """Median of some values, and their range where there are several."""
    if not len(values):
        return "unknown"
    low, middle, high = np.quantile(values, (0.0, 0.5, 1.0))
    return f"{middle:.3g}" if len(values) == 1 else f"{middle:.3g} ({low:.3g} to {high:.3g})"


def _newest(table: pa.Table) -> str:
    epochs = len(pc.unique(table["epoch"]))
    at = pc.max(table["as_of"].cast(pa.int64())).as_py()
    return f"in {_many(epochs, 'epoch')}, the newest as of {instant_text(at)}"


def _share_text(met: int, of: int) -> str:
    return f"kept by {met:,} of {of:,} ({100 * met / of:.3g}%)"


def _bars_text(table: pa.Table, contract: Contract) -> str:
    """Mean and worst reach of the bars, in the unit of the contract."""
    there = table.filter(pc.is_valid(table["value"]))
    value, low, high = (np.asarray(there[name].to_numpy()) for name in ("value", "low", "high"))
    if contract.tolerance == "rank":
        sizes, unit, owed = high - low, " wide", str(contract)
    else:
        sizes, unit = np.maximum(high - value, value - low), ""
        owed = f"{contract.within:g}"
        if contract.tolerance == "relative":
            unit = " of the value"
            with np.errstate(divide="ignore", invalid="ignore"):
                sizes = np.where(sizes == 0.0, 0.0, sizes / np.abs(value))
    bounded = sizes[np.isfinite(sizes)]
    without = len(sizes) - len(bounded)
    if not len(bounded):
        return f"none has two ends, owed {owed}"
    text = f"{bounded.mean():.3g}{unit} on average, {bounded.max():.3g} at worst, owed {owed}"
    return f"{text}; {without:,} without ends" if without else text


def _charges(table: pa.Table) -> list[Line]:
    """How many answers each one widened, the most first."""
    charges = table["charges"].combine_chunks().flatten()
    wide = charges.filter(pc.greater(pc.struct_field(charges, "width"), 0.0))
    names = pc.struct_field(wide, "by")
    counted = pc.value_counts(names).to_pylist()
    if not counted:
        return []
    counted.sort(key=lambda item: (-item["counts"], item["values"]))
    texts = [f"{item['values']} {item['counts']:,}" for item in counted]
    return [("widened by", ", ".join(texts))]


def _rows(reader: Reader, standing: Standing) -> list[Line]:
    """Rows that came and went, and late rows that are missing from them."""
    view = standing.view
    table = reader.row_changes(standing.name, since_epoch=_begin(reader, standing))
    counts = np.asarray(table["count"].to_numpy(), np.int64)
    came, went = int(counts[counts > 0].sum()), -int(counts[counts < 0].sum())
    parts = [f"{came:,} came"]
    if not view.stream_kind:
        parts = [f"{reader.rows(standing.name).num_rows:,} now", *parts, f"{went:,} went"]
    if not table.num_rows:
        return [("rows", ", ".join(parts))]
    met = pc.sum(table["contract_met"]).as_py() or 0
    missing, last = pc.max(table["missing"]).as_py(), table["missing"][-1].as_py()
    return [
        ("rows", ", ".join([*parts, _newest(table)])),
        ("contract", _share_text(met, table.num_rows)),
        ("missing", f"{_many(missing, 'late row')} at worst, {last:,} at last"),
    ]


def _epochs(reader: Reader, standing: Standing) -> list[Line]:
    """Late rows and seconds of the epochs since the query began."""
    records = commits(reader.home, after=standing.born - 1)
    late, last = sum(record["late"] for record in records), records[-RECENT:]
    seconds = sum(record["seconds"] for record in last) / len(last)
    newest = records[-1]
    pace = f"{seconds:.3g} s each of the last {len(last)}" if len(last) > 1 else f"{seconds:.3g} s"
    return [
        ("late rows", f"{late:,} in all streams"),
        ("epochs", f"{len(records):,} since epoch {standing.born}, {pace}"),
        ("all queries", f"{newest['state_bytes']:,} bytes of state"),
    ]


def _begin(reader: Reader, standing: Standing) -> int:
    """The epoch before a query's first one, or the last one that was cleared away."""
    return max(standing.born - 1, reader.home.cleared())
