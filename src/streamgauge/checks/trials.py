"""Trials: a promise against the truth, many times, with a stated rate of false alarms.

One trial is a fresh seed, fresh rows and one question fixed beforehand. If the promise is "broken
with chance delta at most", then more than `cutoff(trials, delta)` breaks in `trials` trials happen
to a correct synopsis with chance ALPHA at most.

A run ends before its last trial where the verdict cannot or will hardly change (`Sequential`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from streamgauge.checks.probes import probes
from streamgauge.checks.streams import STREAMS
from streamgauge.synopses.questions import Question
from streamgauge.synopses.synopsis import Array, Expiring, Floats, Synopsis, Trial

ALPHA = 1e-6
# A run is sized to notice a rate with this chance, and gives up on it with that chance at most.
POWER = 0.95
MISS = 0.01
# Most trials of a run that shall notice three times a delta of 0.05, or, in haste, ten times.
TIGHT, NAMED = 345, 42
# A promise that cannot fail needs no statistics: a tenth of the trials is enough.
SURE = 10


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


def noticed(trials: int, delta: float, alpha: float = ALPHA) -> float:
    """The rate of breaks that `trials` trials notice with chance `POWER`.

    >>> round(noticed(345, 0.05), 3), round(noticed(42, 0.05), 2)
    (0.145, 0.4)
    """
    limit = cutoff(trials, delta, alpha)
    return float(stats.beta.ppf(POWER, limit + 1, trials - limit)) if limit < trials else 1.0


class Sequential:
    """Trials of one promise, taken one at a time until the verdict is known.

    It is refuted as soon as there are more breaks than all trials may show. As a run never has
    more trials than that, stopping adds no false alarm. It is accepted when the odds for the rate
    that all trials would notice, against `delta`, fall to `MISS`: where breaks are at least as
    frequent as that rate, the inverse of the odds is a supermartingale that begins at 1, so by
    Ville's inequality it ever comes to 1 / MISS with chance MISS at most. That is all the power
    that stopping can cost.

    Parameters
    ----------
    trials
        Most trials that are taken; a promise that cannot fail takes a tenth of them.
    delta
        Chance of a break that the promise admits.
    whole
        Whether to go on to the last trial unless the promise is refuted.
    alpha
        Chance to refute a promise that is kept.

    Examples
    --------
    >>> run = Sequential(345, 0.05)
    >>> while not run.decided:
    ...     run.take(broken=False)
    >>> run.taken, run.broken, run.cutoff, run.alarm
    (44, 0, 39, False)
    """

    def __init__(
        self, trials: int, delta: float, *, whole: bool = False, alpha: float = ALPHA
    ) -> None:
        self.trials = trials if delta > 0.0 else trials // SURE + 1
        self.cutoff = cutoff(self.trials, delta, alpha)
        self.taken = 0
        self.broken = 0
        rate = min(noticed(trials, delta, alpha), 1.0 - 1e-12)
        stops = not whole and 0.0 < delta < rate
        self._break = math.log(rate / delta) if stops else 0.0
        self._none = math.log((1.0 - rate) / (1.0 - delta)) if stops else 0.0

    def take(self, *, broken: bool) -> None:
        """Add one trial, unless the verdict is known."""
        if not self.decided:
            self.taken += 1
            self.broken += broken

    @property
    def log_odds(self) -> float:
        """Evidence for the rate that would be noticed, against delta."""
        return self.broken * self._break + (self.taken - self.broken) * self._none

    @property
    def alarm(self) -> bool:
        """Whether the promise is refuted."""
        return self.broken > self.cutoff

    @property
    def decided(self) -> bool:
        """Whether more trials are pointless."""
        return self.alarm or self.taken >= self.trials or self.log_odds <= math.log(MISS)


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


def on_tight(kind: type[Synopsis], *, trials: int, first_seed: int, whole: bool = False) -> Verdict:
    """Try a synopsis on the stream that makes its proof nearly an equality."""
    # What a synopsis swears may depend on its rows: the first trial says how much.
    synopsis, trial = kind.specimen(first_seed), kind.tight(first_seed)
    first = broken(synopsis, trial)
    run = Sequential(trials, synopsis.guarantee.delta, whole=whole)
    run.take(broken=first)
    while not run.decided:
        seed = first_seed + run.taken
        run.take(broken=broken(kind.specimen(seed), kind.tight(seed)))
    question = type(trial.question).__name__
    return Verdict(kind.name, "tight", question, run.taken, run.broken, run.cutoff, first_seed)


def on_stream(
    kind: type[Synopsis], stream: str, *, trials: int, first_seed: int, whole: bool = False
) -> list[Verdict]:
    """Try a synopsis on a named stream, one verdict for each kind of question it answers."""
    runs: dict[str, Sequential] = {}
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
            name = type(question).__name__
            if name not in runs:
                runs[name] = Sequential(trials, synopsis.guarantee.delta, whole=whole)
            if not (run := runs[name]).decided:
                result = synopsis.query(question)
                run.take(broken=question.broken_by(result, alive, weights))
        if all(run.decided for run in runs.values()):
            break
    return [
        Verdict(kind.name, stream, question, run.taken, run.broken, run.cutoff, first_seed)
        for question, run in runs.items()
    ]
