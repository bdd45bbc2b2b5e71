"""Cases on file: a title, a statement, and what it came to, many to a file of one feature.

A file holds cases with empty lines between them. A case is a title as a comment, the statement
up to its semicolon, and comments that say what came of it; `REGOLD=1` writes those anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import streamgauge as sg
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.script import Script
from streamgauge.execute.show import explained
from streamgauge.execute.trial import Trial
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.language.parse import parse
from streamgauge.language.render import render
from streamgauge.language.statements import Ask, CreateQuery
from streamgauge.plan.registry import Registry
from streamgauge.plan.tree import drawn
from streamgauge.plan.view import View
from tests.goldens import GOLDEN, regolding

FOLDER = GOLDEN / "cql" / "cases"
MISTAKES = GOLDEN / "cql" / "mistakes"
CATALOG = GOLDEN / "cql" / "catalog.sql"
SYMBOLS = "sym,sector,since\nA,metal,2026-01-01T00:00:00Z\nB,grain,2026-01-02T00:00:00Z\n"
SHARDS, EPOCH = 4, 9


@dataclass(frozen=True, slots=True)
class Case:
    """One case as it is on file."""

    path: Path
    text: str
    title: str
    statement: str

    @property
    def id(self) -> str:
        """Feature and title."""
        return f"{self.path.stem}: {self.title}"


def cases() -> Iterator[Case]:
    """All cases on file, by feature."""
    for path in sorted(FOLDER.glob("*.sql")):
        for block in path.read_text().strip().split("\n\n"):
            title, *rest = block.split("\n")
            said = [line for line in rest if not line.startswith("--")]
            yield Case(path, block, title.removeprefix("-- "), "\n".join(said).removesuffix(";"))


def mistakes() -> Iterator[Case]:
    """All mistakes on file: each is its own title."""
    for path in sorted(MISTAKES.glob("*.sql")):
        for block in path.read_text().strip().split("\n\n"):
            said = [line for line in block.split("\n") if not line.startswith("--")]
            text = "\n".join(said).removesuffix(";")
            yield Case(path, block, text, text)


def refused(case: Case, error: StreamgaugeError, root: Path) -> str:
    """The mistake with what is said about it."""
    told = f"{type(error).__name__}: {error}".replace(str(root), "")
    return "\n".join([f"{case.statement};", *(f"-- {line}" for line in told.split("\n"))])


def catalogued(root: Path) -> sg.Gauge:
    """A gauge with everything that the cases ask about."""
    (root / "symbols.csv").write_text(SYMBOLS)
    gauge = sg.connect(root / "home", engine="local", shards=SHARDS, allow_functions=["numpy"])
    trial = gauge.trial()
    Script(gauge, trial, root=root).run(CATALOG.read_text())
    gauge.take(trial)
    return gauge


def answered(case: Case, gauge: sg.Gauge, root: Path) -> str:
    """The case with what it comes to now."""
    trial = Trial(gauge.trial().registry)
    said = parse(case.statement)
    asks = isinstance(said, (Ask, CreateQuery))
    (outcome,) = Script(gauge, trial, root=root).run(
        case.statement, "q" if isinstance(said, Ask) else None
    )
    blocks = _asked(outcome, trial.registry) if asks else {"says": render(said)}
    if not isinstance(said, Ask):
        blocks |= _done(outcome, trial)
    lines = [f"-- {case.title}", f"{case.statement};"]
    for name, text in blocks.items():
        # Directories of one run are not those of the next.
        plain = text.replace(str(root), "").rstrip()
        lines += [f"-- {name}:", *(f"--   {line}".rstrip() for line in plain.split("\n"))]
    return "\n".join(lines)


def _asked(outcome: Outcome, registry: Registry) -> dict[str, str]:
    asked = [registry.query(name).asked for name in outcome.names]
    plans = [drawn(one.plan) if isinstance(one, View) else f"{one.name}: {one}" for one in asked]
    told = [explained(registry, one.name, shards=SHARDS, epoch=EPOCH) for one in asked]
    return {"plan": "\n".join(plans), "explain": "\n\n".join(told)}


def _done(outcome: Outcome, trial: Trial) -> dict[str, str]:
    found = {"did": str(outcome)} if outcome.did else {}
    if trial.records:
        found["records"] = "\n".join(_short(record) for record in trial.records)
    if outcome.shown is not None:
        found["shows"] = _shown(outcome.shown)
    return found


def _short(record: dict[str, Any]) -> str:
    # The plan of a view is drawn already.
    queries = [{k: v for k, v in q.items() if k != "plan"} for q in record.get("queries", ())]
    return json.dumps({**record, **({"queries": queries} if queries else {})})


def _shown(shown: pa.Table | str) -> str:
    if isinstance(shown, str):
        return shown
    rows = [shown.column_names, *(map(str, row.values()) for row in shown.to_pylist())]
    return "\n".join(" | ".join(row) for row in rows)


def settle(case: Case, found: str) -> None:
    """Compare with what is on file, or write it there when REGOLD is set."""
    if regolding() and found != case.text:
        case.path.write_text(case.path.read_text().replace(case.text, found))
        return
    assert found == case.text, f"{case.path.name}, {case.title}; REGOLD=1 writes it anew"
