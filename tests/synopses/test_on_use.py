"""Kinds that are imported when they are asked for, and widths that are looked up."""

from __future__ import annotations

import pytest

from streamgauge.synopses import families, kind_named, registry
from streamgauge.synopses.distinct.register_law import register_law
from streamgauge.synopses.distinct.register_widths import WIDTHS, known_width
from streamgauge.synopses.on_use import PLACES, answers
from streamgauge.synopses.questions import Distinct, Quantile
from streamgauge.work.summaries.offers import STANDING


def test_the_places_of_kinds_are_what_the_kinds_say() -> None:
    assert set(PLACES) == set(STANDING)
    for name, place in PLACES.items():
        kind = registry()[name]
        assert kind_named(name) is kind
        assert place.answers == {question.__name__ for question in kind.answers}, name
    assert kind_named("haar") is registry()["haar"]
    assert answers("haar", Distinct()), "nothing is known of it before it is imported"
    assert not answers("hll", Quantile(0.5))


def test_a_family_has_its_kinds_and_nothing_else() -> None:
    for family in families():
        assert all(kind.__module__.startswith(family.__name__) for kind in family.KINDS[:1])
    with pytest.raises(AttributeError, match="samples"):
        _ = families()[1].NoSuchKind


@pytest.mark.parametrize(("kind", "lg_k", "delta"), [("hll", 12, 0.05), ("fm", 9, 0.01)])
def test_a_width_that_is_looked_up_is_the_one_that_is_worked_out(
    kind: str, lg_k: int, delta: float
) -> None:
    known = known_width(kind, 1 << lg_k, delta)
    assert known == pytest.approx(register_law(kind, 1 << lg_k, delta).widest(), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "delta"), WIDTHS)
def test_all_widths_are_those_worked_out(kind: str, delta: float) -> None:
    first, widths = WIDTHS[kind, delta]
    for lg_k, width in enumerate(widths, first):
        worked_out = register_law(kind, 1 << lg_k, delta).widest()
        assert width == pytest.approx(worked_out, rel=1e-12), lg_k


@pytest.mark.parametrize(("k", "delta"), [(1000, 0.05), (8, 0.05), (1 << 22, 0.05), (1024, 0.07)])
def test_other_widths_are_not_listed(k: int, delta: float) -> None:
    assert known_width("hll", k, delta) is None
