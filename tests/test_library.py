"""Tests of the library run when a text they depend on has changed, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.kernel import jit
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.plan.summary import SEED
from streamgauge.synopses import registry
from streamgauge.synopses.choose import choose
from streamgauge.synopses.questions import (
    Distinct,
    Frequency,
    Moment,
    Quantile,
    Question,
    Rank,
    TopK,
)
from streamgauge.synopses.synopsis import Need
from streamgauge.work.across.offers import _SKETCHES
from tests import library
from tests.library import (
    CHEAP,
    ENGINE,
    FOLDERS,
    REACHED,
    ROOT,
    SRC,
    Named,
    digest,
    fingerprints,
    is_library,
    locked,
    unchanged,
    write,
)
from tests.profile import NIGHTLY

pytestmark = pytest.mark.slow

EH_COUNT = "src/streamgauge/synopses/windowed/eh_count.py"
WINDOWED = ROOT / "tests" / "synopses" / "test_windowed.py"
HERE = __name__


def changed(path: Path) -> dict[str, str]:
    """Fingerprints where one file has another text."""
    return fingerprints(lambda file: b"other" if file == path else digest(file))


def differing(path: Path) -> set[str]:
    before, after = fingerprints(), changed(path)
    return {name for name in before if before[name] != after[name]}


def test_a_change_is_seen_by_all_that_import_it() -> None:
    assert differing(ROOT / EH_COUNT) == {EH_COUNT}
    shared = differing(SRC / "synopses" / "windowed" / "counter.py")
    assert EH_COUNT in shared
    assert not any("distinct" in name for name in shared)
    kinds = {f"src/{kind.__module__.replace('.', '/')}.py" for kind in registry().values()}
    assert kinds <= differing(SRC / "kernel" / "hashing.py")


def test_words_and_pictures_change_nothing() -> None:
    assert not differing(SRC / "kernel" / "errors.py")
    assert not differing(SRC / "contracts" / "picture.py")


def test_a_change_of_a_test_or_a_check_is_seen() -> None:
    assert differing(WINDOWED) == {"tests/synopses/test_windowed.py"}
    laws = differing(SRC / "checks" / "conformance.py")
    assert "tests/synopses/test_laws.py" in laws
    assert "tests/synopses/test_windowed.py" not in laws
    assert "tests/guarantees/test_promises.py" in differing(SRC / "checks" / "trials.py")
    table = differing(ROOT / "tests" / "golden" / "quality.csv")
    assert table == {"tests/guarantees/test_quality.py"}


def test_what_is_not_locked_runs(tmp_path: Path) -> None:
    modules, now = frozenset({"windowed.eh_count", "windowed.eh"}), fingerprints()
    write(tmp_path / "lock")
    lock = locked(tmp_path / "lock")
    assert unchanged(WINDOWED, modules, now, lock)
    assert unchanged(WINDOWED, modules, changed(SRC / "synopses" / "windowed" / "decay.py"), lock)
    for path in (
        ROOT / EH_COUNT,
        SRC / "synopses" / "synopsis.py",
        WINDOWED,
        ROOT / "requirements-dev.lock",
    ):
        assert not unchanged(WINDOWED, modules, changed(path), lock), path
    assert not unchanged(WINDOWED, modules, now, {})
    assert not unchanged(WINDOWED, modules, now, locked(tmp_path / "none"))


def named(*things: object) -> set[str]:
    found = Named(HERE)
    for thing in things:
        found.add(thing)
    return found.modules


def helper() -> object:
    return LISTED[0]


LISTED = [lambda: registry()["decay"]]


def test_what_a_test_names() -> None:
    def direct() -> None:
        np.sum([helper()])

    assert named(direct) == {"windowed.decay"}
    assert named("kll", ["hll"], {"theta": 1}) == {
        "quantiles.kll",
        "distinct.hll",
        "distinct.theta",
    }
    assert named(registry()["eh_sum"]) == {"windowed.eh_sum"}
    assert named(registry()["eh_sum"].specimen(0)) >= {"windowed.eh_sum"}
    assert named(registry(), "no kind", 7) == set()


def test_what_counts_as_library() -> None:
    assert is_library(frozenset({"windowed.eh_count"}))
    assert is_library(frozenset({"windowed.eh_count", "samples.estimators"}))
    assert is_library(frozenset({"windowed.eh"}))
    assert not is_library(frozenset())
    assert not is_library(frozenset({"distinct.hll", "windowed.eh_count"}))
    assert not is_library(frozenset({"quantiles.gk_list"}))
    assert not is_library(frozenset({"correlated.compared"}))


ASKED: list[tuple[Question, str]] = [
    *((Quantile(phi), unit) for phi in (0.5, 0.99) for unit in ("rank", "relative")),
    (Rank(0.0), "rank"),
    *((TopK(k), "rank") for k in (1, 20)),
    (Frequency(7), "rank"),
    (Distinct(), "relative"),
    (Moment(2.0), "relative"),
]


def chosen(question: Question, contract: Contract) -> set[str]:
    """What the planner chooses, with and without a bound on memory.

    Under a bound the smallest wins, be it a bank or not.
    """
    groups = 1 if isinstance(question, Rank) else 2
    try:
        choice = choose(Need(question, contract, groups=groups), seed=SEED)
    except ContractUnsatisfiable:
        return set()
    sized = [
        (int(refusal.reason.split()[1].replace(",", "")), refusal.name)
        for refusal in choice.refused
        if refusal.reason.startswith("takes ")
    ]
    return {choice.model.name, min([(choice.nbytes, choice.model.name), *sized])[1]}


@pytest.mark.parametrize(("question", "unit"), ASKED, ids=str)
def test_what_the_planner_chooses_is_always_tried(question: Question, unit: str) -> None:
    # Seconds go into sizing all candidates; the night has the finer grid.
    widths = (0.05, 0.2, 0.5, 1.0) if NIGHTLY else (0.2,)
    found: set[str] = set()
    for within in widths:
        for confidence in (1.0, 0.99, 0.9, 0.5) if NIGHTLY else (1.0, 0.9):
            found |= chosen(question, Contract(unit, within, confidence))
    assert found
    assert found <= REACHED


def test_what_the_engine_imports_is_always_tried() -> None:
    shared = {"synopsis", "questions", "bank", "choose"}
    found = set()
    for file in SRC.rglob("*.py"):
        if not file.is_relative_to(SRC / "synopses") and not file.is_relative_to(SRC / "checks"):
            found |= {
                ".".join(part.relative_to(SRC / "synopses").with_suffix("").parts)
                for part in jit._imported(file)
                if part.is_relative_to(SRC / "synopses")
            }
    kinds = {registry()[name].__module__.removeprefix(library.SYNOPSES) for name in REACHED}
    assert found <= shared | ENGINE | kinds
    assert {kind for kind, _, _ in _SKETCHES.values()} <= REACHED


def collected(tmp_path: Path, lock: dict[str, str], **more: str) -> str:
    """What a run of one file of tests would do under a lock."""
    lines = "".join(f"{name} {mark}\n" for name, mark in lock.items())
    (tmp_path / "lock").write_text(lines, encoding="utf-8")
    (tmp_path / "under_lock.py").write_text(
        "from pathlib import Path\n\n\n"
        "def pytest_configure():\n"
        "    import tests.library\n\n"
        f"    tests.library.LOCK = Path({str(tmp_path / 'lock')!r})\n",
        encoding="utf-8",
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "under_lock", "tests/synopses/test_windowed.py"]
    clean = {name: value for name, value in os.environ.items() if name != "STREAMGAUGE_LIBRARY"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**clean, "PYTHONPATH": path, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_run_leaves_out_what_is_unchanged_and_says_so(tmp_path: Path) -> None:
    now = fingerprints()
    told = collected(tmp_path, {**now, EH_COUNT: "0"})
    assert "tests of the library left out" in told
    assert "[eh_count]" in told
    assert "test_similarity_of_nothing" not in told
    told = collected(tmp_path, now, STREAMGAUGE_LIBRARY="all")
    assert "left out" not in told
    assert "test_similarity_of_nothing" in told


def test_folders_are_there() -> None:
    assert all(folder.is_dir() for folder in FOLDERS)
    assert CHEAP.exists()
