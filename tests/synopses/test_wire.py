"""Stored synopses stay readable: golden bytes of every kind, and the answers they gave.

`<name>.v<wire>.bin` is the specimen of a kind after `ROWS`; `<name>.v<wire>.json` holds what it
answered. Bytes of older versions stay here and must be read for ever. A change of the bytes needs
a new `wire`; `REGOLD=1` then writes the new pair beside the old one.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from streamgauge.checks.conformance import built, same
from streamgauge.checks.probes import probes
from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.wire import kind_of
from streamgauge.synopses import REGISTRY, from_bytes
from streamgauge.synopses.questions import Heavy
from streamgauge.synopses.synopsis import Synopsis
from tests.goldens import GOLDEN, assert_golden, regolding

pytestmark = pytest.mark.slow

FOLDER = "wire/synopses"
ROWS = np.arange(200, dtype=np.int64) % 37
KINDS = sorted(name for name, kind in REGISTRY.items() if kind.repeatable)
# Collected before this run writes any, so REGOLD=1 is followed by a run without it.
STORED = sorted(path.stem for path in (GOLDEN / FOLDER).glob("*.bin"))


def told(synopsis: Synopsis) -> dict[str, Any]:
    """Counts of a synopsis and its answers to one question of each kind, as JSON says them."""
    questions = probes(type(synopsis), ROWS, np.random.default_rng(5))
    return {
        "rows": synopsis.rows,
        "mass": synopsis.mass,
        "skipped": synopsis.skipped,
        "answers": {str(question): _plain(synopsis.query(question)) for question in questions},
    }


def _text(found: dict[str, Any]) -> str:
    """JSON with a line for each answer, so that a change is seen as a line."""
    lines = [f"  {json.dumps(name)}: {json.dumps(bar)}" for name, bar in found["answers"].items()]
    head = json.dumps({**found, "answers": None}).removesuffix("null}")
    return head + "{\n" + ",\n".join(lines) + "\n}}\n"


def _plain(result: Any) -> list[Any]:
    if isinstance(result, Estimate):
        return [result.value, result.low, result.high]
    return [[found.item, *_plain(found.weight)] for found in result]


def _result(plain: list[Any]) -> Any:
    if plain and not isinstance(plain[0], list):
        return Estimate(*plain)
    return tuple(Heavy(item, Estimate(*bar)) for item, *bar in plain)


@pytest.mark.parametrize("name", KINDS)
def test_todays_bytes_are_the_golden_ones(name: str) -> None:
    synopsis = built(REGISTRY[name], ROWS)
    stem = f"{FOLDER}/{name}.v{synopsis.wire}"
    assert_golden(f"{stem}.bin", synopsis.to_bytes())
    if regolding():
        assert_golden(f"{stem}.json", _text(told(synopsis)))


@pytest.mark.parametrize("stem", STORED)
def test_golden_bytes_answer_as_they_did(stem: str) -> None:
    data = (GOLDEN / FOLDER / f"{stem}.bin").read_bytes()
    expected = json.loads((GOLDEN / FOLDER / f"{stem}.json").read_text(encoding="utf-8"))
    assert kind_of(data) == stem.partition(".")[0]
    found = told(from_bytes(data))
    assert {**found, "answers": {}} == {**expected, "answers": {}}
    assert list(found["answers"]) == list(expected["answers"])
    for question, plain in expected["answers"].items():
        result = _result(found["answers"][question])
        assert same(result, _result(plain)), f"{question}: was {plain}, is {result}"


def test_every_kind_has_golden_bytes() -> None:
    stored = {path.stem for path in (GOLDEN / FOLDER).glob("*.bin")}
    assert {f"{name}.v{REGISTRY[name].wire}" for name in KINDS} <= stored
    assert {stem.partition(".")[0] for stem in stored} <= REGISTRY.keys(), "a kind is gone"
