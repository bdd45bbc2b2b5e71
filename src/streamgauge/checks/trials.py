"""Trials: a promise against the truth, many times, with a stated rate of false alarms.

One trial is a fresh seed, fresh rows and one question fixed beforehand. If the promise is "broken
with chance delta at most", then more than `cutoff(trials, delta)` breaks in `trials` trials happen
to a correct synopsis with chance ALPHA at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from streamgauge.synopses.synopsis import Expiring, Floats, Synopsis, Trial

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


def broken(synopsis: Synopsis, trial: Trial) -> bool:
    """Whether a synopsis, fed a trial's rows, breaks its promise on the trial's question."""
    synopsis.update(trial.items, trial.weights, trial.times)
    weights: Floats = np.ones(len(trial.items)) if trial.weights is None else trial.weights
    if isinstance(synopsis, Expiring):
        assert trial.times is not None
        assert trial.now is not None
        synopsis.advance(trial.now)
        weights = weights * synopsis.weights_at(trial.times, trial.now)
    alive = weights != 0.0
    result = synopsis.query(trial.question)
    return trial.question.broken_by(result, trial.items[alive], weights[alive])
