"""Trials: a promise against the truth, many times, with a stated rate of false alarms.

One trial is a fresh seed, fresh rows and one question fixed beforehand. If the promise is "broken
with chance delta at most", then more than `cutoff(trials, delta)` breaks in `trials` trials happen
to a correct synopsis with chance ALPHA at most.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import stats

from streamgauge.checks.probes import probes
from streamgauge.checks.streams import STREAMS
from streamgauge.synopses.questions import Question
from streamgauge.synopses.synopsis import Array, Expiring, Floats, Synopsis, Trial

ALPHA = 1e-6


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a run of trials."""

    synopsis: str
    stream: str
    question: str
    trials: int
    broken: int
    cutoff: int
    first_seed: int

    @property
    def alarm(self) -> bool:
        """Whether the promise is refuted."""
        return self.broken > self.cutoff

    def __str__(self) -> str:
        return (
            f"{self.synopsis} on {self.stream}, {self.question}: broken {self.broken} of "
            f"{self.trials} (cut-off {self.cutoff}), seeds from {self.first_seed}"
        )


def cutoff(trials: int, delta: float, alpha: float = ALPHA) -> int:
    """Most breaks that a promise of chance `delta` may show; 0 where it cannot fail.

    >>> cutoff(333, 0.05), cutoff(1791, 0.01), cutoff(50, 0.0)
    (38, 41, 0)
    """
    if delta <= 0.0:
        return 0
    return int(stats.binom.isf(alpha, trials, min(delta, 1.0)))


def fed(synopsis: Synopsis, trial: Trial) -> tuple[Array, Floats]:
    """Feed a trial's rows; return those that still count, and how much."""
    synopsis.update(trial.items, trial.weights, trial.times)
    weights: Floats = np.ones(len(trial.items)) if trial.weights is None else trial.weights
    if isinstance(synopsis, Expiring):
        assert trial.times is not None, f"{synopsis!r} expires: its trials need times"
        assert trial.now is not None, f"{synopsis!r} expires: its trials need a now"
        synopsis.advance(trial.now)
        weights = weights * synopsis.weights_at(trial.times, trial.now)
    alive = weights != 0.0
    return trial.items[alive], weights[alive]


def broken(synopsis: Synopsis, trial: Trial) -> bool:
    """Whether a synopsis, fed a trial's rows, breaks its promise on the trial's question."""
    alive, weights = fed(synopsis, trial)
    result = synopsis.query(trial.question)
    return trial.question.broken_by(result, alive, weights)


def on_tight(kind: type[Synopsis], *, trials: int, first_seed: int) -> Verdict:
    """Try a synopsis on the stream that makes its proof nearly an equality."""
    count, delta, question = 0, 0.0, ""
    for seed in range(first_seed, first_seed + trials):
        synopsis, trial = kind.specimen(seed), kind.tight(seed)
        count += broken(synopsis, trial)
        delta = synopsis.guarantee.delta
        question = type(trial.question).__name__
        if delta == 0.0 and seed >= first_seed + trials // 10:
            trials = seed - first_seed + 1
            break
    limit = cutoff(trials, delta)
    return Verdict(kind.name, "tight", question, trials, count, limit, first_seed)


def on_stream(kind: type[Synopsis], stream: str, *, trials: int, first_seed: int) -> list[Verdict]:
    """Try a synopsis on a named stream, one verdict for each kind of question it answers."""
    counts: Counter[str] = Counter()
    delta = 0.0
    for seed in range(first_seed, first_seed + trials):
        rng = np.random.default_rng([seed, *stream.encode()])
        column = STREAMS[stream](rng)
        expires = issubclass(kind, Expiring)
        times = np.arange(len(column)) if expires else None
        now = max(0, len(column) - 1) if expires else None
        synopsis = kind.specimen(seed)
        trial = Trial(column, Question(), times=times, now=now)
        alive, weights = fed(synopsis, trial)
        for question in probes(kind, column, rng):
            result = synopsis.query(question)
            counts[type(question).__name__] += question.broken_by(result, alive, weights)
        delta = synopsis.guarantee.delta
        if delta == 0.0 and seed >= first_seed + trials // 10:
            trials = seed - first_seed + 1
            break
    limit = cutoff(trials, delta)
    return [
        Verdict(kind.name, stream, question, trials, count, limit, first_seed)
        for question, count in counts.items()
    ]
