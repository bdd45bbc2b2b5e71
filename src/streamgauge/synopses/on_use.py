"""Families of synopses whose modules are imported when one of their kinds is asked for.

Each module has kernels, and a process that answers from one kind has no use for the others.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from streamgauge.synopses.synopsis import Synopsis


class Place(NamedTuple):
    """Where a kind is, and the names of the questions it answers."""

    family: str
    kind: str
    answers: frozenset[str]


def _place(family: str, kind: str, answers: str) -> Place:
    return Place(family, kind, frozenset(answers.split()))


_RANKED = "Quantile Rank RangeCount Count Min Max"
_SAMPLED = "Count Sum Mean Quantile Rank RangeCount Frequency Distinct"
_LISTED = "Frequency HeavyHitters TopK Count"
_POWERS = "Moment Frequency Count JoinSize Distance"
# The kinds that standing queries are answered from, each in a module of its name. A choice asks
# the classes of those alone that answer its question; a test compares this with what they say.
PLACES = {
    "kll": _place("quantiles", "Kll", _RANKED),
    "log_histogram": _place("quantiles", "LogHistogram", _RANKED),
    "gk": _place("quantiles", "Gk", _RANKED),
    "mrl": _place("quantiles", "Mrl", _RANKED),
    "reservoir": _place("samples", "Reservoir", _SAMPLED),
    "hll": _place("distinct", "Hll", "Distinct"),
    "theta": _place("distinct", "Theta", "Distinct"),
    "count_min": _place("frequencies", "CountMin", "Frequency Count"),
    "space_saving": _place("frequencies", "SpaceSaving", _LISTED),
    "fast_ams": _place("moments", "FastAms", _POWERS),
    "ams": _place("moments", "Ams", _POWERS),
    "bjkst": _place("distinct", "Bjkst", "Distinct"),
    "fm": _place("distinct", "Fm", "Distinct"),
    "misra_gries": _place("frequencies", "MisraGries", _LISTED),
    "lossy_counting": _place("frequencies", "LossyCounting", _LISTED),
    "frequent_items": _place("frequencies", "FrequentItems", _LISTED),
}


def answers(name: str, question: object) -> bool:
    """Whether a kind may answer a question, as far as that is known without importing it."""
    place = PLACES.get(name)
    asked = {kind.__name__ for kind in type(question).__mro__}
    return place is None or bool(asked & place.answers)


def kind_at(name: str) -> type[Synopsis] | None:
    """A kind whose place is known; None for others."""
    place = PLACES.get(name)
    if place is None:
        return None
    module = importlib.import_module(f"streamgauge.synopses.{place.family}.{name}")
    found: type[Synopsis] = getattr(module, place.kind)
    return found


def family(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a family: `places` has the module of each of its kinds."""

    def on_use(name: str) -> Any:
        if name == "KINDS":
            return tuple(on_use(kind) for kind in places)
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{places[name]}"), name)

    return on_use
