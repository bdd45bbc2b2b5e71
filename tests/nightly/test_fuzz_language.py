"""A million texts through the parser: damaged statements and noise, from a printed seed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from streamgauge.language.parse import parse_all
from streamgauge.language.words import pieces, words
from tests.kit.damaged import SCRAPS
from tests.language.test_fuzz import survives

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
SEED = int(os.environ.get("STREAMGAUGE_SEED", "1"))
EACH = 500_000


def corpus() -> list[list[str]]:
    """The pieces of every statement in the reference and among the seeds."""
    page = (ROOT / "docs/reference/language.md").read_text(encoding="utf-8")
    scripts = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    seeds = sorted((ROOT / "tests/language/seeds").glob("*.sql"))
    scripts += [path.read_text(encoding="utf-8") for path in seeds]
    texts = [text for script in scripts for _, text, _ in parse_all(script)]
    return [[piece.text for piece in pieces(text)] for text in texts]


def damaged(rng: np.random.Generator, statements: list[list[str]], scraps: list[str]) -> str:
    """One statement, cut into another one, with pieces left out, doubled or replaced."""
    parts = list(statements[rng.integers(len(statements))])
    for _ in range(rng.integers(1, 5)):
        at, move = int(rng.integers(len(parts) + 1)), rng.integers(5)
        if move == 0:
            parts.insert(at, scraps[rng.integers(len(scraps))])
        elif move == 1:
            del parts[at : at + int(rng.integers(1, 4))]
        elif move == 2:
            parts[at : at + 1] = [scraps[rng.integers(len(scraps))]]
        elif move == 3:
            parts[at:at] = parts[max(0, at - 3) : at]
        else:
            other = statements[rng.integers(len(statements))]
            start = int(rng.integers(len(other)))
            parts[at:at] = other[start : start + 6]
    return " ".join(parts)


@pytest.mark.timeout(6 * 3600)
def test_half_a_million_damaged_statements() -> None:
    rng = np.random.default_rng(SEED)
    statements, scraps = corpus(), [*SCRAPS, *words()]
    for _ in range(EACH):
        survives(damaged(rng, statements, scraps))


@pytest.mark.timeout(6 * 3600)
def test_half_a_million_texts_of_noise() -> None:
    rng = np.random.default_rng(SEED + 1)
    for i in range(EACH):
        if i % 2:
            survives(rng.bytes(int(rng.integers(60))).decode("utf-8", "surrogateescape"))
        else:
            survives(" ".join(rng.choice(SCRAPS, int(rng.integers(30)))))
