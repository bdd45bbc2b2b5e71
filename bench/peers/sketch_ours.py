"""Our grouped synopses inside Spark, over the same parquet."""

from __future__ import annotations

from typing import Any

from bench.harness import Outcome, Task
from bench.peers.sketch_spark import session, timed
from bench.sketches import SHARES, TOP, Prepared, distinct_error, missed, rank_error
from streamgauge import functions as sgf


def installed() -> bool:
    """It always is."""
    return True


def asked(form: str) -> dict[str, Any]:
    """The summaries of a form."""
    every = {
        # Spark's estimate knows the order of the rows and errs less at 12; 13 makes up for it.
        "distinct": sgf.distinct("key", lg_k=13),
        # A little more than Spark's 200, so that the error is no worse whatever the coins.
        "quantiles": sgf.quantiles("v", at=SHARES, k=220),
        "top": sgf.top_k("key", TOP, capacity=384),
    }
    return every if form == "all" else {form: every[form]}


def run(task: Task) -> Outcome:
    """One form, or all three in one pass."""
    prepared = Prepared.read(task.prepared)
    session()
    wanted = asked(task.form)

    def work() -> Any:
        return sgf.summarise(prepared.parquet, by="g", **wanted).collect()

    return timed(work, prepared, lambda rows: errors(prepared, rows, tuple(wanted)))


def errors(prepared: Prepared, rows: Any, forms: tuple[str, ...]) -> dict[str, float]:
    """How far off our answers are."""
    truth, out = prepared.truth(), {}
    answers = {form: {row["g"]: row[form]["answers"] for row in rows} for form in forms}
    for form in forms:
        told = answers[form]
        if form == "distinct":
            found = distinct_error(truth, {g: bars[0]["value"] for g, bars in told.items()})
        elif form == "quantiles":
            found = rank_error(truth, {g: [b["value"] for b in bars] for g, bars in told.items()})
        else:
            items = {g: [int(float(bar["item"])) for bar in bars] for g, bars in told.items()}
            found = missed(truth, items)
        out.update(found if len(forms) == 1 else {f"{form}_{k}": v for k, v in found.items()})
    return out
