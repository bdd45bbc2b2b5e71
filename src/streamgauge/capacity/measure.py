"""Measure: runs the designed trials, each in a process of its own."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamgauge.capacity.assemble import assembled
from streamgauge.capacity.costs import Costs
from streamgauge.capacity.design import designed, on_spark
from streamgauge.capacity.probe import Seen, Trial
from streamgauge.capacity.spark_probe import Turned
from streamgauge.kernel.errors import EngineFailure
from streamgauge.kernel.files import read_json, write_json

SECONDS = 900.0
TOLD = 300


def probed(trial: Trial) -> Seen:
    """Probe a trial in a process of its own, so that its memory is its own too."""
    data = _apart("streamgauge.capacity.probe", trial.as_dict(), trial.name)
    return Seen.from_dict(data)


def all_probed(trials: Sequence[Trial], tell: Callable[[str], None]) -> list[Seen]:
    """Probe one trial after the other; `tell` hears of each."""
    found = []
    for number, trial in enumerate(trials, 1):
        seen = probed(trial)
        busy = sum(step.cpu for epoch in seen.epochs for step in epoch.shards)
        tell(f"[{number}/{len(trials)}] {trial.name}: {busy:.2f} s of processor time")
        found.append(seen)
    return found


def all_turned(trials: Sequence[Trial], cores: int, tell: Callable[[str], None]) -> list[Turned]:
    """Run trials on Spark with so many cores, in one session."""
    given = {"cores": cores, "trials": [trial.as_dict() for trial in trials]}
    data = _apart("streamgauge.capacity.spark_probe", given, f"Spark on {cores} cores")
    found = [Turned.from_dict(one) for one in data["turned"]]
    for one in found:
        middle = statistics.median(turn.seconds for turn in one.turns)
        tell(f"Spark on {cores} cores, {one.trial.name}: {middle:.2f} s for an epoch")
    return found


def measured(
    tell: Callable[[str], None], about: dict[str, Any], *, quick: bool = False, cores: int = 2
) -> Costs:
    """Measure this machine: the designed trials, then Spark on one core and on `cores`.

    With no cores Spark is left out, and what it adds is taken from the costs of the package.
    """
    probes = all_probed(designed(quick=quick), tell)
    if not cores:
        known = Costs.packaged()
        kept = {"spark_measured": known.about.get("measured")}
        found = assembled(probes, [], {**about, **kept})
        single = {**found.single, "crowding": known.one("crowding")}
        return replace(found, spark=known.spark, driver=known.driver, single=single)
    turned: list[Turned] = []
    for each in sorted({1, cores}):
        turned += all_turned(on_spark(quick=quick), each, tell)
    return assembled(probes, turned, about)


def _apart(module: str, given: dict[str, Any], name: str) -> dict[str, Any]:
    """Run a module on a JSON document in a process of its own; return the one it writes."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-measure-") as scratch:
        asked, result = Path(scratch) / "given.json", Path(scratch) / "result.json"
        write_json(asked, given)
        done = subprocess.run(
            [sys.executable, "-m", module, str(asked), str(result)],
            cwd=scratch,
            env={**os.environ, "SPARK_LOCAL_DIRS": scratch},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode or not result.exists():
            raise EngineFailure(
                f"the measurement {name!r} failed",
                done.stderr.strip()[-TOLD:] or f"it ended with {done.returncode}",
                "run it again; streamgauge doctor says whether something is missing",
            )
        found: dict[str, Any] = read_json(result)
        return found
