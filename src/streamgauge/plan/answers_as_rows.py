"""Answers of a standing query of numbers as a relation: its groups with value, low and high."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.kernel.errors import BindError
from streamgauge.operators.evaluate import type_of
from streamgauge.plan.former_offers import offer_now
from streamgauge.plan.nodes import Numbers
from streamgauge.plan.registry import Registry, Standing, Taken
from streamgauge.plan.standing_queries import StandingQueries
from streamgauge.plan.technique import technique_of
from streamgauge.streams.schema import Schema


def answers_as_rows(standing: Standing, registry: Registry) -> Numbers:
    """The newest answer of each group, as a row each."""
    query = standing.query
    if query.parts or query.select.name == "top_k":
        raise BindError(
            f"answers of {standing.name!r} cannot be read as rows",
            f"it asks {query.select}",
            "write its SELECT without WITHIN as a subquery in FROM instead",
        )
    schema = registry.stream(query.stream).schema
    if query.members is not None:
        schema = registry.tables[query.members.table].schema
    derived = dict(query.derived)
    groups = tuple(
        (
            name,
            type_of(derived[name], schema, registry.functions)
            if name in derived
            else schema.type(name),
        )
        for name in query.cells
    )
    if query.window is not None:
        query = replace(query, window=query.resolve(registry.windows))
    sure = technique_of(standing).confidence(registry, standing)
    ends = (("value", "float"), ("low", "float"), ("high", "float"))
    schema = Schema(groups + ends)
    return Numbers(query, standing.model, sure, schema, standing.technique)


def alone(registry: Registry, node: Numbers, born: int = 0) -> Registry:
    """What is declared, with one query whose answers are read as rows, and no other."""
    asked, told = node.asked, Taken(node.technique, node.model)
    technique, model = offer_now(registry, asked, told)
    standing = Standing(0, asked, epoch=born, born=born, model=model, technique=technique)
    return replace(registry, queries=StandingQueries({standing.name: standing}))
