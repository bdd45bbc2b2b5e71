"""Promises against the truth: every synopsis, its tight stream, the named streams.

The false-alarm rate of each test is 1e-6 (`checks.trials.ALPHA`); seeds are fixed here and drawn
from the date by `make nightly`, which goes on to the last trial. Never change a seed or a tolerance
to make a test pass.
"""

from __future__ import annotations

import os

import pytest

from streamgauge.checks.streams import STREAMS
from streamgauge.checks.trials import NAMED, TIGHT, on_stream, on_tight
from streamgauge.synopses import REGISTRY
from tests.profile import NIGHTLY

pytestmark = pytest.mark.slow

FIRST_SEED = int(os.environ.get("STREAMGAUGE_SEED", "1000"))
KINDS = sorted(REGISTRY)


@pytest.mark.parametrize("name", KINDS)
def test_tight_stream(name: str) -> None:
    trials = 3000 if NIGHTLY else TIGHT
    verdict = on_tight(REGISTRY[name], trials=trials, first_seed=FIRST_SEED, whole=NIGHTLY)
    assert not verdict.alarm, str(verdict)


@pytest.mark.parametrize("name", KINDS)
def test_named_streams(name: str) -> None:
    kind = REGISTRY[name]
    trials = 333 if NIGHTLY else NAMED
    verdicts = [
        verdict
        for stream in STREAMS
        if stream not in kind.exempt
        for verdict in on_stream(kind, stream, trials=trials, first_seed=FIRST_SEED, whole=NIGHTLY)
    ]
    alarms = [str(verdict) for verdict in verdicts if verdict.alarm]
    assert not alarms, "\n".join(alarms)


def test_a_broken_promise_is_noticed() -> None:
    """The harness itself: three rows that share one hash are caught on the tight stream."""
    kind = REGISTRY["count_min"]

    class Liar(kind):  # type: ignore[misc, valid-type]
        def __init__(self, width: int, depth: int, *, seed: int = 0) -> None:
            super().__init__(width, depth, seed=seed)
            self._hashes[:] = self._hashes[0]

    assert on_tight(Liar, trials=TIGHT, first_seed=FIRST_SEED).alarm
