"""Queries from the literature, written in this language."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.language.parse import parse, parse_all
from streamgauge.language.render import render
from streamgauge.language.statements import Ask, CreateQuery, FromSelect, Select, SetSelect, With

SEEDS = sorted((Path(__file__).parent / "seeds").glob("*.sql"))


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_seed_queries_parse(path: Path) -> None:
    found = parse_all(path.read_text(encoding="utf-8"))
    assert found
    for statement, text, _ in found:
        assert parse(text) == statement
        assert parse(render(statement)) == statement


def statements(name: str) -> list[object]:
    text = (Path(__file__).parent / "seeds" / f"{name}.sql").read_text(encoding="utf-8")
    return [statement for statement, _, _ in parse_all(text)]


def test_the_set_expression_is_read_from_the_inside() -> None:
    ask = statements("router-streams")[1]
    assert isinstance(ask, Ask)
    assert isinstance(ask.query, Select)
    assert isinstance(ask.query.source, FromSelect)
    inner = ask.query.source.select
    assert isinstance(inner, SetSelect)
    assert (inner.kind, inner.left.kind) == ("except", "intersect")  # type: ignore[union-attr]


def test_the_heavy_pairs_name_a_query() -> None:
    made = statements("isp-traffic")[2]
    assert isinstance(made, CreateQuery)
    assert isinstance(made.ask.query, With)
    assert (made.ask.terms.every, made.ask.terms.mode) == (1_000_000, "store")
