"""What a promising query has done so far, for EXPLAIN ANALYZE."""

from __future__ import annotations

from streamgauge.plan.allowances import allowances, kind_of, promise_of
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.costs import Allowance
from streamgauge.promise.figures import MODES, Figures

Line = tuple[str, str]


def promising(registry: Registry, standing: Standing, seen: Figures) -> list[Line]:
    """One line for each figure of a promising query."""
    return [
        ("budget", _budget_text(registry, standing)),
        ("overload", _overload_text(seen)),
        ("probes", _probes_text(seen)),
        ("regions", _regions_text(seen)),
        ("not found", f"about {_plain(seen.unseen)} rows at last"),
        ("summaries", _summaries_text(seen)),
    ]


def _budget_text(registry: Registry, standing: Standing) -> str:
    promise, allowed = promise_of(standing), allowances(registry)[standing.name]
    if allowed.probes is None:
        return "no limit"
    probes = _mean_probes(allowed)
    text = f"{probes} {'probe' if probes == '1' else 'probes'} a tick"
    if not promise.bounded:
        return f"{text}, its share of the capacity"
    if promise.cpu is None:
        return text
    prices = registry.costs.of(kind_of(standing.asked))
    parts = (f"{name} {_plain(getattr(prices, name))} ns" for name in ("insert", "hit", "raw"))
    return f"{text} for {promise.cpu:g} cores, at {', '.join(parts)}"


def _mean_probes(allowed: Allowance) -> str:
    assert allowed.probes is not None, "a limit is a number"
    return f"{allowed.probes + allowed.spare / allowed.turns:,.6g}"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _overload_text(seen: Figures) -> str:
    text = f"{seen.overloaded:,} of {seen.ticks:,} ticks"
    if seen.raw:
        text = f"{text}, at {seen.raw:,} of them rows were taken as they came"
    return f"{text}; now {MODES[seen.mode]}"


def _probes_text(seen: Figures) -> str:
    if not seen.allowed:
        return "as many as there were"
    return f"{seen.probes:,} of {seen.allowed:,} allowed ({100 * seen.probes / seen.allowed:.3g}%)"


def _regions_text(seen: Figures) -> str:
    text = f"{100 * seen.mean_share:.3g}% processed on average, {100 * seen.share:.3g}% at last"
    return f"{text}; {seen.given_up:,} given up" if seen.given_up else text


def _summaries_text(seen: Figures) -> str:
    if not seen.zones:
        return "none in use"
    return f"{seen.zones:,} zones, {seen.nbytes:,} bytes"
