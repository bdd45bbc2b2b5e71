"""Quality does not slip: the error and the bytes of every synopsis, against a table kept here.

The error is the root of the mean squared one over `SEEDS`, relative where the truth is above 0,
for the first question that the specimen answers with a number (`Count` comes last: most count their
rows exactly). Seeds are fixed, so nothing here is left to chance; three standard errors leave room
for another but equally good way to roll the dice.
`REGOLD=1` writes the table anew.
"""

from __future__ import annotations

import csv
import io
import math
from typing import NamedTuple

import numpy as np
import pytest

from streamgauge.checks.probes import PROBES
from streamgauge.checks.streams import STREAMS
from streamgauge.checks.trials import fed
from streamgauge.synopses import REGISTRY
from streamgauge.synopses.questions import Count, HeavyHitters, Question, TopK
from streamgauge.synopses.synopsis import Array, Expiring, Synopsis, Trial
from tests.goldens import GOLDEN, regolding

pytestmark = pytest.mark.slow

TABLE = GOLDEN / "quality.csv"
COLUMNS = ("synopsis", "stream", "question", "rmse", "stderr", "bytes")
SAMPLE = ("zipf", "uniform", "heavy_tail", "bursts")
SEEDS = range(500, 520)
KINDS = sorted(name for name, kind in REGISTRY.items() if kind.repeatable)


class Quality(NamedTuple):
    """One line of the table."""

    question: str
    rmse: float
    stderr: float
    nbytes: float


def asked(kind: type[Synopsis], seed: int, column: Array) -> Question:
    """The first question of a kind that is answered with a number; `Count` comes last."""
    tight = kind.tight(seed).question
    for answer in sorted(kind.answers, key=lambda answer: answer is Count):
        if answer in (HeavyHitters, TopK):
            continue
        if answer in PROBES:
            return PROBES[answer](column, np.random.default_rng([seed, 1]))
        if isinstance(tight, answer):
            return tight
    raise AssertionError(f"{kind.name} answers no question with a number")


def trial(kind: type[Synopsis], stream: str, seed: int) -> tuple[str, float, int]:
    """Name of the question, error and bytes of a specimen on one stream."""
    column = STREAMS[stream](np.random.default_rng([seed, *stream.encode()]))
    question = asked(kind, seed, column)
    expires = issubclass(kind, Expiring)
    times = np.arange(len(column)) if expires else None
    now = len(column) - 1 if expires else None
    synopsis = kind.specimen(seed)
    alive, weights = fed(synopsis, Trial(column, question, times=times, now=now))
    truth = question.truth(alive, weights)
    error = synopsis.query(question).value - truth
    return type(question).__name__, error / truth if truth > 0.0 else error, synopsis.nbytes


def quality(name: str, stream: str) -> Quality:
    """Error, its standard error (by the delta method) and mean bytes over the seeds."""
    runs = [trial(REGISTRY[name], stream, seed) for seed in SEEDS]
    squares = np.array([error**2 for _, error, _ in runs])
    rmse = math.sqrt(squares.mean())
    spread = squares.std(ddof=1) / math.sqrt(len(squares))
    stderr = float(spread) / (2.0 * rmse) if rmse else 0.0
    return Quality(runs[0][0], rmse, stderr, float(np.mean([size for _, _, size in runs])))


def stored() -> dict[tuple[str, str], Quality]:
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="", encoding="utf-8") as file:
        return {
            (row["synopsis"], row["stream"]): Quality(
                row["question"], float(row["rmse"]), float(row["stderr"]), float(row["bytes"])
            )
            for row in csv.DictReader(file)
        }


def store(name: str, found: dict[str, Quality]) -> None:
    """Put the lines of one synopsis into the table; those of kinds that are gone leave it."""
    table = {key: line for key, line in stored().items() if key[0] in REGISTRY}
    table.update({(name, stream): line for stream, line in found.items()})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for (synopsis, stream), line in sorted(table.items()):
        numbers = (f"{line.rmse:.6g}", f"{line.stderr:.6g}", f"{line.nbytes:g}")
        writer.writerow((synopsis, stream, line.question, *numbers))
    TABLE.write_text(text.getvalue(), encoding="utf-8")


@pytest.mark.parametrize("name", KINDS)
def test_quality_is_what_it_was(name: str) -> None:
    found = {stream: quality(name, stream) for stream in SAMPLE}
    if regolding():
        store(name, found)
    table = stored()
    for stream, line in found.items():
        assert math.isfinite(line.rmse), f"{name} on {stream}: {line}"
        was = table.get((name, stream))
        assert was is not None, f"{name} on {stream} is not in {TABLE.name}; REGOLD=1 adds it"
        assert line.question == was.question
        slack = 3.0 * was.stderr + 1e-5 * was.rmse + 1e-9
        assert abs(line.rmse - was.rmse) <= slack, f"{name} on {stream}: was {was}, is {line}"
        assert line.nbytes == pytest.approx(was.nbytes, rel=0.01), f"{name} on {stream}: {line}"


def test_the_table_holds_what_is_registered() -> None:
    assert {name for name, _ in stored()} == set(KINDS)
